/* The module reactors.rl._rows: a row of environments stepped one after the other, with no Python in between.
 *
 * Between two environments Python takes half a microsecond, to unpack an answer, look at it, and copy it: as much as a
 * small environment itself. Here the common answer is stored at once: an array of the form that is expected, a number,
 * an episode that goes on, nothing else to report. Any other answer goes back to Python, which goes on behind it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

static PyObject *array_type, *dtype_name, *shape_name;

typedef struct {
    PyObject *dtype, *shape;  /* of an observation; dtype None: all go back */
    PyObject *block;          /* rows of observations */
    double *rewards, *totals;
} Place;

static int is_false(PyObject *flag)
{
    if (flag == Py_False) return 1;
    int yes = PyObject_IsTrue(flag);
    if (yes < 0) PyErr_Clear();           /* Python, which sees it next, will complain */
    return yes == 0;
}

static int has_form(const Place *to, PyObject *array)
{
    PyObject *dtype = PyObject_GetAttr(array, dtype_name), *shape = PyObject_GetAttr(array, shape_name);
    int same = dtype == to->dtype && shape && PyObject_RichCompareBool(shape, to->shape, Py_EQ) > 0;
    Py_XDECREF(dtype);
    Py_XDECREF(shape);
    return same;
}

/* 1: the answer is stored, 0: it is another kind. */
static int store(const Place *to, Py_ssize_t i, PyObject *answer)
{
    if (!PyTuple_CheckExact(answer) || PyTuple_Size(answer) != 5) return 0;
    PyObject *observation = PyTuple_GetItem(answer, 0), *reward = PyTuple_GetItem(answer, 1), *info = PyTuple_GetItem(answer, 4);
    if ((PyObject *)Py_TYPE(observation) != array_type || (PyObject *)Py_TYPE(reward) == array_type) return 0;
    if (!PyDict_CheckExact(info) || PyDict_Size(info)) return 0;
    if (!is_false(PyTuple_GetItem(answer, 2)) || !is_false(PyTuple_GetItem(answer, 3))) return 0;
    double number = PyFloat_AsDouble(reward);
    if (number != number || (number == -1.0 && PyErr_Occurred()) || !has_form(to, observation)) {
        PyErr_Clear();
        return 0;
    }
    PyObject *row = PyLong_FromSsize_t(i);
    int failed = !row || PyObject_SetItem(to->block, row, observation);
    Py_XDECREF(row);
    if (failed) {
        PyErr_Clear();
        return 0;
    }
    to->rewards[i] = number;
    to->totals[i] += number;
    return 1;
}

/* The answer of environment [i]; a new reference. */
static PyObject *stepped(PyObject *calls, PyObject *actions, Py_ssize_t i)
{
    PyObject *call = PyList_GetItem(calls, i), *action = call ? PySequence_GetItem(actions, i) : NULL;
    if (!action) return NULL;
    Py_INCREF(call);                      /* an environment may have its successor put into the list */
    PyObject *answer = PyObject_CallFunctionObjArgs(call, action, NULL);
    Py_DECREF(call);
    Py_DECREF(action);
    return answer;
}

/* At least [n] numbers in memory, of the type that struct has a letter for. */
static int numbers(PyObject *given, Py_buffer *view, char type, Py_ssize_t n)
{
    if (PyObject_GetBuffer(given, view, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_ND)) return -1;
    if (view->format && view->format[0] == type && !view->format[1] && view->len >= n * view->itemsize) return 0;
    PyErr_Format(PyExc_ValueError, "%R has no room for %zd numbers of type %c", given, n, type);
    PyBuffer_Release(view);
    return -1;
}

/* walk(calls, actions, first, dtype, shape, block, rewards, totals, at) */
static PyObject *walk(PyObject *module, PyObject *const *given, Py_ssize_t n_given)
{
    (void)module;
    if (n_given != 9 || !PyList_Check(given[0]))
        return PyErr_Format(PyExc_TypeError, "walk takes nine arguments, of which the first is a list");
    PyObject *calls = given[0], *result = NULL;
    Py_ssize_t n = PyList_Size(calls), i = PyLong_AsSsize_t(given[2]);
    if (i < 0) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "there is no environment %zd", i);
    Py_buffer rewards, totals, at;
    if (numbers(given[6], &rewards, 'd', n)) return NULL;
    if (numbers(given[7], &totals, 'd', n)) goto release_rewards;
    if (numbers(given[8], &at, 'I', 1)) goto release_totals;
    Place to = {given[3], given[4], given[5], rewards.buf, totals.buf};
    int all = given[3] == Py_None;        /* none can be stored here */
    for (; i < n; i++) {
        *(volatile uint32_t *)at.buf = (uint32_t)(i + 1);
        PyObject *answer = stepped(calls, given[1], i);
        if (!answer) goto release;
        if (all || !store(&to, i, answer)) {
            result = Py_BuildValue("(nN)", i, answer);
            goto release;
        }
        Py_DECREF(answer);
    }
    *(volatile uint32_t *)at.buf = 0;
    result = Py_NewRef(Py_None);
release:
    PyBuffer_Release(&at);
release_totals:
    PyBuffer_Release(&totals);
release_rewards:
    PyBuffer_Release(&rewards);
    return result;
}

static PyMethodDef functions[] = {
    {"walk", (PyCFunction)(void (*)(void))walk, METH_FASTCALL,
     "walk(calls, actions, first, dtype, shape, block, rewards, totals, at)\n--\n\n"
     "Call from the first on, each with its action, and store what it answers; index and answer of one that is uncommon."},
    {0},
};

static int fill(PyObject *module)
{
    (void)module;
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return -1;
    array_type = PyObject_GetAttrString(numpy, "ndarray");
    Py_DECREF(numpy);
    dtype_name = PyUnicode_InternFromString("dtype");
    shape_name = PyUnicode_InternFromString("shape");
    return array_type && dtype_name && shape_name ? 0 : -1;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "reactors.rl._rows", "Environments, stepped one after the other.", 0, functions, module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__rows(void) { return PyModuleDef_Init(&module); }
