/* The module reactors_runtime._doors: what a reaction does most, as Python objects in C.
 *
 * A Door is the part of a live port, timer or action through which a reaction reads and writes. The core opens it,
 * one byte, before a reaction that declared it runs, and closes it afterwards; `where` says which value is meant. In
 * Python each look through a door took some three hundred nanoseconds, most of what a small reaction did. Whatever is
 * not the common case is left to methods of the Python class on top: _get, _put, _delay_ns, and _refuse, _assigned, _miscalled.
 *
 * The values of a port lie in a list whose length is a power of two; value number n is at n modulo that length. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "reactors.h"

enum { CALLS = 0, KEEPS = 1, COPIES = 2 };       /* how a value is set: by _put; in the list; into shared memory */

typedef struct {
    PyObject_HEAD
    uint8_t *door;            /* NULL: at rest */
    const uint64_t *where;    /* the number of the value that is read or written */
    const uint64_t *low;      /* of a value that travels: those before this number are not needed any more */
    PyObject *values;         /* list: what is read; NULL: _get knows */
    PyObject *slots;          /* COPIES: list of arrays to write into */
    uint8_t *scalars;         /* COPIES: the number in slot 0, if that is all there is; else NULL */
    uint64_t stride;          /* bytes from one to the next */
    rx_worker *core;
    uint32_t action;
    char sets;
    char scalar;              /* 'q' int64_t, 'd' double */
} Door;

static PyObject *array_type;  /* numpy.ndarray: what is never kept as it is, for its owner may change it */

static PyObject *refuse(Door *d, const char *use, const char *kind)
{
    return PyObject_CallMethod((PyObject *)d, "_refuse", "ss", use, kind);
}

static inline uint8_t state_of(const Door *d) { return d->door ? *d->door : 0; }

static inline PyObject *numbered(PyObject *list, uint64_t number)      /* borrowed */
{
    return PyList_GetItem(list, (Py_ssize_t)(number & (uint64_t)(PyList_Size(list) - 1)));
}

static PyObject *door_is_present(Door *d, void *unused)
{
    (void)unused;
    uint8_t state = state_of(d);
    if (!state) return refuse(d, "is_present", "triggers or uses");
    return PyBool_FromLong(state & RX_PRESENT);
}

static PyObject *door_value(Door *d, void *unused)
{
    (void)unused;
    uint8_t state = state_of(d);
    if (!(state & RX_PRESENT)) {
        if (!state) return refuse(d, "value", "triggers or uses");
        Py_RETURN_NONE;
    }
    if (!d->values || *d->where & RX_OUTSIDE) return PyObject_CallMethod((PyObject *)d, "_get", NULL);
    PyObject *value = numbered(d->values, *d->where);
    Py_XINCREF(value);
    return value;
}

static int assigned(Door *d, const char *use)
{
    PyObject *never = PyObject_CallMethod((PyObject *)d, "_assigned", "s", use);
    Py_XDECREF(never);
    return -1;
}

static int door_set_value(Door *d, PyObject *value, void *unused)
{
    (void)value, (void)unused;
    return assigned(d, "value");
}

static int door_set_is_present(Door *d, PyObject *value, void *unused)
{
    (void)value, (void)unused;
    return assigned(d, "is_present");
}

/* Twice the length until it holds [count] values, those from [first] on where they belong then. */
static int grow(PyObject *list, uint64_t first, uint64_t count)
{
    uint64_t length = (uint64_t)PyList_Size(list), old = length;
    if (count <= length) return 0;
    while (length < count) {
        for (uint64_t i = 0; i < length; i++)
            if (PyList_Append(list, Py_None)) return -1;
        length *= 2;
    }
    for (uint64_t n = first; n < first + old; n++) {             /* it held these */
        uint64_t from = n & (old - 1), to = n & (length - 1);
        if (from == to) continue;
        PyObject *value = PyList_GetItem(list, (Py_ssize_t)from);
        Py_INCREF(value);
        Py_INCREF(Py_None);
        if (PyList_SetItem(list, (Py_ssize_t)to, value) || PyList_SetItem(list, (Py_ssize_t)from, Py_None)) return -1;
    }
    return 0;
}

static int keep(Door *d, PyObject *value)
{
    uint64_t number = *d->where;
    if (d->low && grow(d->values, *d->low, number - *d->low + 1)) return -1;
    Py_INCREF(value);
    return PyList_SetItem(d->values, (Py_ssize_t)(number & (uint64_t)(PyList_Size(d->values) - 1)), value);
}

/* 1: it went into the slot, 0: the caller has to see to it. */
static int copy(Door *d, PyObject *value)
{
    if (value == numbered(d->slots, *d->where)) return 1;        /* the loan: it is there already */
    if (!d->scalars) return 0;
    uint8_t *to = d->scalars + *d->where * d->stride;
    if (d->scalar == 'd' && PyFloat_CheckExact(value)) {
        *(double *)to = PyFloat_AsDouble(value);
        return 1;
    }
    if (d->scalar == 'q' && PyLong_CheckExact(value)) {
        int overflow;
        *(int64_t *)to = PyLong_AsLongLongAndOverflow(value, &overflow);
        return !overflow;
    }
    return 0;
}

static PyObject *miscalled(Door *d, const char *form, Py_ssize_t given, PyObject *name)
{
    return PyObject_CallMethod((PyObject *)d, "_miscalled", "snO", form, given, name ? name : Py_None);
}

static int named(PyObject *names, Py_ssize_t i, const char *name)
{
    return !PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), name);
}

/* set(value) */
static PyObject *door_set(Door *d, PyObject *const *arguments, Py_ssize_t n, PyObject *names)
{
    Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
    if (n_names && !named(names, 0, "value")) return miscalled(d, "set(value)", n + n_names, PyTuple_GetItem(names, 0));
    if (n + n_names != 1) return miscalled(d, "set(value)", n + n_names, NULL);
    PyObject *value = arguments[0];
    if (!(state_of(d) & RX_WRITABLE)) return refuse(d, "set", "effects");
    if (d->sets == KEEPS && (PyObject *)Py_TYPE(value) != array_type) {
        if (keep(d, value)) return NULL;
    } else if (d->sets != COPIES || !copy(d, value)) {
        PyObject *done = PyObject_CallMethod((PyObject *)d, "_put", "(O)", value);
        if (!done) return NULL;
        Py_DECREF(done);
    }
    *d->door |= RX_PRESENT;
    Py_RETURN_NONE;
}

static PyObject *door_keep(Door *d, PyObject *value)
{
    if (keep(d, value)) return NULL;
    Py_RETURN_NONE;
}

/* loan() */
static PyObject *door_loan(Door *d, PyObject *const *arguments, Py_ssize_t n, PyObject *names)
{
    (void)arguments;
    Py_ssize_t given = n + (names ? PyTuple_Size(names) : 0);
    if (given) return miscalled(d, "loan()", given, NULL);
    if (!(state_of(d) & RX_WRITABLE)) return refuse(d, "loan", "effects");
    PyObject *slot = numbered(d->slots, *d->where);
    Py_XINCREF(slot);
    return slot;
}

/* Nanoseconds, -1: an exception is set. */
static int64_t nanoseconds(Door *d, PyObject *delay)
{
    if (!delay) return 0;
    if (PyLong_CheckExact(delay)) {
        int overflow;
        int64_t ns = PyLong_AsLongLongAndOverflow(delay, &overflow);
        if (!overflow && ns >= 0) return ns;
    }
    PyObject *ns = PyObject_CallMethod((PyObject *)d, "_delay_ns", "(O)", delay);
    if (!ns) return -1;
    int64_t result = PyLong_AsLongLong(ns);
    Py_DECREF(ns);
    return result;
}

static const char SCHEDULE[] = "schedule(value, delay=...)";

static PyObject *door_schedule(Door *d, PyObject *const *arguments, Py_ssize_t n, PyObject *names)
{
    PyObject *given[2] = {Py_None, NULL};
    Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < n && i < 2; i++) given[i] = arguments[i];
    for (Py_ssize_t i = 0; i < n_names; i++) {
        int at = named(names, i, "value") ? 0 : named(names, i, "delay") ? 1 : 2;
        if (at == 2) return miscalled(d, SCHEDULE, n + n_names, PyTuple_GetItem(names, i));
        if (at < n) return miscalled(d, SCHEDULE, n + n_names, NULL);
        given[at] = arguments[n + i];
    }
    if (n > 2) return miscalled(d, SCHEDULE, n + n_names, NULL);
    int64_t ns = nanoseconds(d, given[1]);
    if (ns < 0 && PyErr_Occurred()) return NULL;
    if (!(state_of(d) & RX_WRITABLE)) return refuse(d, "schedule", "effects");
    PyObject *value = given[0];
    int is_array = (PyObject *)Py_TYPE(value) == array_type;
    value = is_array ? PyObject_CallMethod((PyObject *)d, "_frozen", "(O)", value) : (Py_INCREF(value), value);
    if (!value) return NULL;
    int64_t number = rx_schedule(d->core, d->action, ns, value != Py_None);
    if (number <= 0) {
        Py_DECREF(value);
        Py_RETURN_NONE;       /* no value, or the program stops before */
    }
    if (grow(d->values, 0, (uint64_t)number + 1)) {
        Py_DECREF(value);
        return NULL;
    }
    if (PyList_SetItem(d->values, (Py_ssize_t)number, value)) return NULL;
    Py_RETURN_NONE;
}

static int replace(PyObject **member, PyObject *value)
{
    PyObject *old = *member;
    if (value == Py_None) value = NULL;
    if (value && !PyList_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "values and slots are lists");
        return -1;
    }
    Py_XINCREF(value);
    *member = value;
    Py_XDECREF(old);
    return 0;
}

/* _attach(door, where, low, values, slots, scalars, stride, scalar, sets, core, action): addresses are integers */
static PyObject *door_attach(Door *d, PyObject *arguments)
{
    unsigned long long door, where, low, scalars, stride, core;
    PyObject *values, *slots;
    int scalar, sets;
    unsigned action;
    if (!PyArg_ParseTuple(arguments, "KKKOOKKCiKI", &door, &where, &low, &values, &slots, &scalars, &stride, &scalar, &sets, &core, &action))
        return NULL;
    if (replace(&d->values, values) || replace(&d->slots, slots)) return NULL;
    d->door = (uint8_t *)(uintptr_t)door;
    d->where = (uint64_t *)(uintptr_t)where;
    d->low = (uint64_t *)(uintptr_t)low;
    d->scalars = (uint8_t *)(uintptr_t)scalars;
    d->stride = stride;
    d->scalar = (char)scalar;
    d->sets = (char)sets;
    d->core = (rx_worker *)(uintptr_t)core;
    d->action = action;
    Py_RETURN_NONE;
}

static PyObject *door_detach(Door *d, PyObject *unused)
{
    (void)unused;
    d->door = NULL;
    d->core = NULL;
    replace(&d->values, Py_None);
    replace(&d->slots, Py_None);
    Py_RETURN_NONE;
}

static int door_traverse(Door *d, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(d));
    Py_VISIT(d->values);
    Py_VISIT(d->slots);
    return 0;
}

static int door_clear(Door *d)
{
    Py_CLEAR(d->values);
    Py_CLEAR(d->slots);
    return 0;
}

static void door_dealloc(Door *d)
{
    PyTypeObject *type = Py_TYPE(d);
    PyObject_GC_UnTrack(d);
    door_clear(d);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(d);
    Py_DECREF(type);
}

static PyGetSetDef getset[] = {
    {"_is_present", (getter)door_is_present, (setter)door_set_is_present, "Whether it is there at this tag.", NULL},
    {"_value", (getter)door_value, (setter)door_set_value, "What is there; None if nothing is.", NULL},
    {0},
};

static PyMethodDef methods[] = {
    {"_set", (PyCFunction)(void (*)(void))door_set, METH_FASTCALL | METH_KEYWORDS, "Put a value there."},
    {"_keep", (PyCFunction)door_keep, METH_O, "What _set does with most values: keep it as it is."},
    {"_loan", (PyCFunction)(void (*)(void))door_loan, METH_FASTCALL | METH_KEYWORDS, "The memory that the next value goes into."},
    {"_schedule", (PyCFunction)(void (*)(void))door_schedule, METH_FASTCALL | METH_KEYWORDS, "Make an action happen later."},
    {"_attach", (PyCFunction)door_attach, METH_VARARGS, "Lead to what the core has opened."},
    {"_detach", (PyCFunction)door_detach, METH_NOARGS, "Lead nowhere."},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The part of a live port, timer or action through which reactions read and write."},
    {Py_tp_traverse, door_traverse},
    {Py_tp_clear, door_clear},
    {Py_tp_dealloc, door_dealloc},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    "reactors_runtime._doors.Door", sizeof(Door), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots,
};

static int fill(PyObject *module)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return -1;
    array_type = PyObject_GetAttrString(numpy, "ndarray");
    Py_DECREF(numpy);
    PyObject *type = array_type ? PyType_FromSpec(&spec) : NULL;
    if (!type) return -1;
    int failed = PyModule_AddObjectRef(module, "Door", type) || PyModule_AddIntMacro(module, CALLS) ||
                 PyModule_AddIntMacro(module, KEEPS) || PyModule_AddIntMacro(module, COPIES);
    Py_DECREF(type);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "reactors_runtime._doors", "Reading and writing through the doors that the core opens.", 0, NULL, module_slots, NULL,
    NULL, NULL,
};

PyMODINIT_FUNC PyInit__doors(void) { return PyModuleDef_Init(&module); }
