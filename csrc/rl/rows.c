/* The module reactors.rl._rows: a row of environments stepped one after the other, with no Python in between.
 *
 * Between two environments Python takes half a microsecond, to unpack an answer, look at it, and copy it: as much as a
 * small environment itself. Here the common answer is stored at once: an array of the form that is expected, a number,
 * whether the episode goes on, nothing else to report. Any other answer goes back to Python, which goes on behind it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <stdint.h>
#include <string.h>

static PyObject *numpy_false, *numpy_true;

typedef struct {
    PyArrayObject *block;     /* rows of observations; NULL: all answers go back */
    size_t bytes;             /* of a row */
    PyArrayObject *rewards, *totals, *terminated, *truncated;
    PyObject *ended;          /* list: the places of those whose episodes are over */
} Place;

static int is_array(PyObject *given) { return PyArray_CheckExact(given); }

/* Types by number, for a dtype that came by a pickle is another object than that of NumPy's own arrays. */
static int is_numbers(const PyArrayObject *array)
{
    return PyTypeNum_ISNUMBER(PyArray_TYPE(array)) || PyTypeNum_ISBOOL(PyArray_TYPE(array));
}

/* Bytes of a row of the block if rows can be copied into it as they are, else 0. */
static size_t bytes_of_row(const PyArrayObject *block)
{
    npy_intp bytes = PyArray_ITEMSIZE(block);
    if (PyArray_NDIM(block) < 2 || !is_numbers(block) || !PyArray_ISNOTSWAPPED(block)) return 0;
    for (int d = PyArray_NDIM(block) - 1; d > 0; d--) {
        if (PyArray_STRIDE(block, d) != bytes && PyArray_DIM(block, d) != 1) return 0;
        bytes *= PyArray_DIM(block, d);
    }
    return (size_t)bytes;
}

static int is_row(const PyArrayObject *block, const PyArrayObject *array)
{
    int n = PyArray_NDIM(array);
    if (PyArray_TYPE(array) != PyArray_TYPE(block) || n + 1 != PyArray_NDIM(block)) return 0;
    if (!PyArray_ISNOTSWAPPED(array) || !PyArray_IS_C_CONTIGUOUS(array)) return 0;
    return !memcmp(PyArray_DIMS(array), PyArray_DIMS(block) + 1, (size_t)n * sizeof(npy_intp));
}

/* 0 or 1; -1: what is no flag, which Python will see next. */
static int truth(PyObject *flag)
{
    if (flag == Py_False || flag == numpy_false) return 0;
    if (flag == Py_True || flag == numpy_true) return 1;
    int yes = PyObject_IsTrue(flag);
    if (yes < 0) PyErr_Clear();
    return yes ? -1 : 0;
}

static inline void *entry(PyArrayObject *array, Py_ssize_t i) { return PyArray_BYTES(array) + i * PyArray_STRIDE(array, 0); }

static int note_end(const Place *to, Py_ssize_t i)
{
    PyObject *place = PyLong_FromSsize_t(i);
    int failed = !place || PyList_Append(to->ended, place);
    Py_XDECREF(place);
    return failed ? -1 : 1;
}

/* 1: the answer is stored, 0: it is another kind; -1: an exception is set. */
static int store(const Place *to, Py_ssize_t i, PyObject *answer)
{
    if (!PyTuple_CheckExact(answer) || PyTuple_Size(answer) != 5) return 0;
    PyObject *observation = PyTuple_GetItem(answer, 0), *reward = PyTuple_GetItem(answer, 1), *info = PyTuple_GetItem(answer, 4);
    if (!is_array(observation) || !is_row(to->block, (PyArrayObject *)observation) || is_array(reward)) return 0;
    if (!PyDict_CheckExact(info) || PyDict_Size(info)) return 0;
    int terminated = truth(PyTuple_GetItem(answer, 2)), truncated = truth(PyTuple_GetItem(answer, 3));
    if (terminated < 0 || truncated < 0) return 0;
    double number = PyFloat_AsDouble(reward);
    if (number != number || (number == -1.0 && PyErr_Occurred())) {
        PyErr_Clear();
        return 0;
    }
    memmove(entry(to->block, i), PyArray_DATA((PyArrayObject *)observation), to->bytes);     /* it may be that row */
    *(double *)entry(to->rewards, i) = number;
    *(double *)entry(to->totals, i) += number;
    *(npy_bool *)entry(to->terminated, i) = (npy_bool)terminated;
    *(npy_bool *)entry(to->truncated, i) = (npy_bool)truncated;
    return terminated || truncated ? note_end(to, i) : 1;
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

/* An array of at least [n] entries of a type; NULL with an exception. */
static PyArrayObject *entries(PyObject *given, int type, Py_ssize_t n)
{
    PyArrayObject *array = (PyArrayObject *)given;
    if (is_array(given) && PyArray_TYPE(array) == type && PyArray_NDIM(array) == 1 && PyArray_DIM(array, 0) >= n && PyArray_ISBEHAVED(array))
        return array;
    return (PyArrayObject *)PyErr_Format(PyExc_ValueError, "%R has no room for %zd %s", given, n, type == NPY_BOOL ? "flags" : "numbers");
}

/* Where answers go; 0, or -1 with an exception. */
static int find_place(Place *to, PyObject *const *given, Py_ssize_t n)
{
    if (given[0] != Py_None && (!is_array(given[0]) || !PyArray_NDIM((PyArrayObject *)given[0]) || PyArray_DIM((PyArrayObject *)given[0], 0) < n)) {
        PyErr_Format(PyExc_ValueError, "%R has no room for %zd observations", given[0], n);
        return -1;
    }
    to->block = given[0] == Py_None ? NULL : (PyArrayObject *)given[0];
    to->bytes = to->block ? bytes_of_row(to->block) : 0;
    if (!to->bytes) to->block = NULL;
    to->rewards = entries(given[1], NPY_DOUBLE, n);
    to->totals = to->rewards ? entries(given[2], NPY_DOUBLE, n) : NULL;
    to->terminated = to->totals ? entries(given[3], NPY_BOOL, n) : NULL;
    to->truncated = to->terminated ? entries(given[4], NPY_BOOL, n) : NULL;
    return to->truncated ? 0 : -1;
}

/* walk(calls, actions, first, block, rewards, totals, terminated, truncated, ended, at) */
static PyObject *walk(PyObject *module, PyObject *const *given, Py_ssize_t n_given)
{
    (void)module;
    if (n_given != 10 || !PyList_Check(given[0]) || !PyList_Check(given[8]))
        return PyErr_Format(PyExc_TypeError, "walk takes ten arguments, of which the first and the ninth are lists");
    PyObject *calls = given[0], *result = NULL;
    Py_ssize_t n = PyList_Size(calls), i = PyLong_AsSsize_t(given[2]);
    if (i < 0) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "there is no environment %zd", i);
    Place to = {.ended = given[8]};
    if (find_place(&to, given + 3, n)) return NULL;
    Py_buffer at;
    if (PyObject_GetBuffer(given[9], &at, PyBUF_WRITABLE)) return NULL;
    if (at.len < 4) {
        PyErr_SetString(PyExc_ValueError, "there is no room for a place");
        goto release;
    }
    for (; i < n; i++) {
        *(volatile uint32_t *)at.buf = (uint32_t)(i + 1);
        *(npy_bool *)entry(to.terminated, i) = *(npy_bool *)entry(to.truncated, i) = NPY_FALSE;
        PyObject *answer = stepped(calls, given[1], i);
        if (!answer) goto release;
        int stored = to.block ? store(&to, i, answer) : 0;
        if (!stored) {
            result = Py_BuildValue("(nN)", i, answer);
            goto release;
        }
        Py_DECREF(answer);
        if (stored < 0) goto release;
    }
    *(volatile uint32_t *)at.buf = 0;
    result = Py_NewRef(Py_None);
release:
    PyBuffer_Release(&at);
    return result;
}

/* joined(blocks, n): the first [n] rows of blocks that lie one behind the other, (blocks, rows, ...), as a new array. */
static PyObject *join(PyObject *module, PyObject *const *given, Py_ssize_t n_given)
{
    (void)module;
    Py_ssize_t n = n_given == 2 ? PyLong_AsSsize_t(given[1]) : -1;
    if (n < 0) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "joined takes blocks and how many rows");
    PyArrayObject *from = (PyArrayObject *)given[0];
    if (!is_array(given[0]) || PyArray_NDIM(from) < 2 || !PyArray_IS_C_CONTIGUOUS(from) || PyDataType_REFCHK(PyArray_DESCR(from)) ||
        PyArray_DIM(from, 0) * PyArray_DIM(from, 1) < n)
        return PyErr_Format(PyExc_ValueError, "there are no %zd rows in %R", n, given[0]);
    npy_intp dims[NPY_MAXDIMS];
    memcpy(dims, PyArray_DIMS(from) + 1, (size_t)(PyArray_NDIM(from) - 1) * sizeof *dims);
    dims[0] = n;
    PyArray_Descr *dtype = PyArray_DESCR(from);
    Py_INCREF((PyObject *)dtype);         /* which is taken over */
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, dtype, PyArray_NDIM(from) - 1, dims, NULL, NULL, 0, NULL);
    if (made) memcpy(PyArray_DATA((PyArrayObject *)made), PyArray_DATA(from), (size_t)PyArray_NBYTES((PyArrayObject *)made));
    return made;
}

static PyMethodDef functions[] = {
    {"walk", (PyCFunction)(void (*)(void))walk, METH_FASTCALL,
     "walk(calls, actions, first, block, rewards, totals, terminated, truncated, ended, at)\n--\n\n"
     "Call from the first on, each with its action, and store what it answers; index and answer of one that is uncommon."},
    {"joined", (PyCFunction)(void (*)(void))join, METH_FASTCALL,
     "joined(blocks, n)\n--\n\nThe first n rows of blocks that lie one behind the other, as a new array."},
    {0},
};

static int fill(PyObject *module)
{
    (void)module;
    if (PyArray_ImportNumPyAPI()) return -1;
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return -1;
    numpy_false = PyObject_GetAttrString(numpy, "False_");
    numpy_true = PyObject_GetAttrString(numpy, "True_");
    Py_DECREF(numpy);
    return numpy_false && numpy_true ? 0 : -1;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "reactors.rl._rows", "Environments, stepped one after the other.", 0, functions, module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__rows(void) { return PyModuleDef_Init(&module); }
