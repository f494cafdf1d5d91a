#include "content.h"

#include "../hash.h"

/* What something is; part of its hash, so that 1, True and 1.0 differ. */
enum { NOTHING = 1, BOOL, INT, FLOAT, TEXT, BYTES, TUPLE, LIST, DICT, SET, ARRAY, OTHER, AROUND, DEEP };

enum { DEEPEST = 500 };       /* levels: what lies deeper counts as there, and no more */

typedef struct around {       /* what an object lies in: a list up to the whole */
    const struct around *outer;
    PyObject *object;
    int depth;
} around;

static int content(PyObject *value, const around *outer, uint64_t *hash);

static int of_bytes(uint64_t kind, const char *data, Py_ssize_t size, uint64_t *hash)
{
    *hash = rx__fold(kind, rx__hash(data, (size_t)size));
    return 0;
}

static int of_int(PyObject *value, uint64_t *hash)
{
    int overflow;
    long long n = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) {
        *hash = rx__fold(INT, (uint64_t)n);
        return 0;
    }
    PyObject *text = PyNumber_ToBase(value, 16);         /* which no limit of digits concerns */
    if (!text) return -1;
    Py_ssize_t size;
    const char *digits = PyUnicode_AsUTF8AndSize(text, &size);
    int done = digits ? of_bytes(INT, digits, size, hash) : -1;
    Py_DECREF(text);
    return done;
}

static int of_text(PyObject *value, uint64_t *hash)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text) return of_bytes(TEXT, text, size, hash);
    PyErr_Clear();                                       /* half of a surrogate pair */
    PyObject *encoded = PyUnicode_AsEncodedString(value, "utf-8", "surrogatepass");
    if (!encoded) return -1;
    int done = of_bytes(TEXT, PyBytes_AsString(encoded), PyBytes_Size(encoded), hash);
    Py_DECREF(encoded);
    return done;
}

static int of_row(uint64_t kind, PyObject *value, const around *outer, uint64_t *hash)
{
    Py_ssize_t n = PySequence_Size(value);
    *hash = rx__fold(kind, (uint64_t)n);
    for (Py_ssize_t i = 0; i < n; i++) {
        uint64_t part;
        PyObject *item = PySequence_GetItem(value, i);   /* held: what it does may change the list */
        if (!item) return -1;
        int failed = content(item, outer, &part);
        Py_DECREF(item);
        if (failed) return -1;
        *hash = rx__fold(*hash, part);
    }
    return 0;
}

static int of_dict(PyObject *value, const around *outer, uint64_t *hash)
{
    PyObject *items = PyDict_Items(value);
    if (!items) return -1;
    Py_ssize_t n = PyList_Size(items);
    *hash = rx__fold(DICT, (uint64_t)n);
    int failed = 0;
    for (Py_ssize_t i = 0; i < n && !failed; i++) {
        PyObject *pair = PyList_GetItem(items, i);
        uint64_t key, held;
        failed = content(PyTuple_GetItem(pair, 0), outer, &key) || content(PyTuple_GetItem(pair, 1), outer, &held);
        if (!failed) *hash = rx__fold(rx__fold(*hash, key), held);
    }
    Py_DECREF(items);
    return failed ? -1 : 0;
}

/* A sum, for the order says nothing. */
static int of_set(PyObject *value, const around *outer, uint64_t *hash)
{
    PyObject *items = PySequence_List(value);
    if (!items) return -1;
    uint64_t sum = 0;
    Py_ssize_t n = PyList_Size(items);
    int failed = 0;
    for (Py_ssize_t i = 0; i < n && !failed; i++) {
        uint64_t part;
        failed = content(PyList_GetItem(items, i), outer, &part);
        if (!failed) sum += rx__fold(SET, part);
    }
    Py_DECREF(items);
    *hash = rx__fold(rx__fold(SET, (uint64_t)n), sum);
    return failed ? -1 : 0;
}

/* An array of numbers that lies in one piece: 1; 0: it is something else. */
static int of_buffer(PyObject *value, uint64_t *hash)
{
    Py_buffer view;
    if (PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) {
        PyErr_Clear();
        return 0;
    }
    const char *format = view.format ? view.format : "B";
    char type = format[0] == 'l' ? 'q' : format[0] == 'L' ? 'Q' : format[0];         /* two names of one type */
    int simple = type && !format[1] && strchr("?bBhHiIqQefdg", type) && type != 'g'; /* a long double has holes */
    if (simple) {
        *hash = rx__fold(rx__fold(ARRAY, (uint64_t)type), (uint64_t)view.ndim);
        for (int i = 0; i < view.ndim; i++) *hash = rx__fold(*hash, (uint64_t)view.shape[i]);
        *hash = rx__fold(*hash, rx__hash(view.buf, (size_t)view.len));
    }
    PyBuffer_Release(&view);
    return simple;
}

static PyObject *array_type(void)
{
    static PyObject *type;
    if (!type) {
        PyObject *numpy = PyImport_ImportModule("numpy");
        type = numpy ? PyObject_GetAttrString(numpy, "ndarray") : NULL;
        Py_XDECREF(numpy);
    }
    return type;
}

/* What Python makes of all else: reactors_runtime/content.py. */
static int of_other(PyObject *value, const around *outer, uint64_t *hash)
{
    static PyObject *parts;
    if (!parts) {
        PyObject *module = PyImport_ImportModule("reactors_runtime.content");
        parts = module ? PyObject_GetAttrString(module, "parts") : NULL;
        Py_XDECREF(module);
        if (!parts) return -1;
    }
    PyObject *made = PyObject_CallFunctionObjArgs(parts, value, NULL);
    if (!made) return -1;
    uint64_t part;
    int failed = content(made, outer, &part), same = (PyObject *)Py_TYPE(made) == array_type();
    Py_DECREF(made);
    if (failed) return -1;
    *hash = same ? part : rx__fold(OTHER, part);         /* an array in pieces counts as the one in one piece */
    return 0;
}

static int content(PyObject *value, const around *outer, uint64_t *hash)
{
    if (value == Py_None) {
        *hash = rx__fold(NOTHING, 0);
        return 0;
    }
    if (PyBool_Check(value)) {
        *hash = rx__fold(BOOL, value == Py_True);
        return 0;
    }
    if (PyLong_CheckExact(value)) return of_int(value, hash);
    if (PyFloat_CheckExact(value)) {
        double x = PyFloat_AsDouble(value);
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        *hash = rx__fold(FLOAT, bits);
        return 0;
    }
    if (PyUnicode_CheckExact(value)) return of_text(value, hash);
    if (PyBytes_CheckExact(value)) return of_bytes(BYTES, PyBytes_AsString(value), PyBytes_Size(value), hash);
    PyObject *arrays = array_type();
    if (!arrays) return -1;
    if ((PyObject *)Py_TYPE(value) == arrays && of_buffer(value, hash)) return 0;
    around here = {outer, value, outer ? outer->depth + 1 : 0};
    if (here.depth > DEEPEST) {
        *hash = rx__fold(DEEP, 0);
        return 0;
    }
    for (const around *o = outer; o; o = o->outer)       /* it lies in itself: how far up counts */
        if (o->object == value) {
            *hash = rx__fold(AROUND, (uint64_t)(here.depth - o->depth));
            return 0;
        }
    if (PyTuple_CheckExact(value)) return of_row(TUPLE, value, &here, hash);
    if (PyList_CheckExact(value)) return of_row(LIST, value, &here, hash);
    if (PyDict_CheckExact(value)) return of_dict(value, &here, hash);
    if (Py_IS_TYPE(value, &PySet_Type) || Py_IS_TYPE(value, &PyFrozenSet_Type)) return of_set(value, &here, hash);
    return of_other(value, &here, hash);
}

int rx__content(PyObject *value, uint64_t *hash) { return content(value, NULL, hash); }

PyObject *rx__content_hash(PyObject *module, PyObject *value)
{
    (void)module;
    uint64_t hash;
    return rx__content(value, &hash) ? NULL : PyLong_FromUnsignedLongLong(hash);
}
