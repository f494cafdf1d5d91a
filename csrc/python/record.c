#include "record.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>

#include <string.h>

static PyObject *int64_type, *float64_type, *float32_type;         /* of NumPy: what comes out of arrays */

int rx__know_numpy(PyObject *numpy)
{
    int64_type = PyObject_GetAttrString(numpy, "int64");
    float64_type = PyObject_GetAttrString(numpy, "float64");
    float32_type = PyObject_GetAttrString(numpy, "float32");
    return int64_type && float64_type && float32_type ? 0 : -1;
}

static int put(rx_record *record, uint64_t kind, const void *bytes, uint64_t size)
{
    record->kind = kind;
    record->size = size;
    memcpy(record + 1, bytes, size);
    return 1;
}

static int put_int(rx_record *record, uint64_t kind, PyObject *number)
{
    int overflow;
    int64_t n = PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow ? 0 : put(record, kind, &n, sizeof n);
}

static int put_double(rx_record *record, uint64_t kind, PyObject *number)
{
    double x = PyFloat_AsDouble(number);
    return put(record, kind, &x, sizeof x);
}

static int put_numpy(rx_record *record, PyObject *type, PyObject *value)
{
    if (type == float64_type) return put_double(record, RX_NUMPY_FLOAT64, value);
    if (type == float32_type) return put_double(record, RX_NUMPY_FLOAT32, value);
    if (type != int64_type) return 0;
    PyObject *number = PyNumber_Index(value);
    if (!number) {
        PyErr_Clear();
        return 0;
    }
    int done = put_int(record, RX_NUMPY_INT64, number);
    Py_DECREF(number);
    return done;
}

int rx__pack(rx_record *record, uint64_t room, PyObject *value)
{
    if (PyLong_CheckExact(value)) return put_int(record, RX_INT, value);
    if (PyFloat_CheckExact(value)) return put_double(record, RX_FLOAT, value);
    if (value == Py_None) return put(record, RX_NOTHING, "", 0);
    if (PyBool_Check(value)) return put(record, RX_BOOL, value == Py_True ? "\1" : "\0", 1);
    Py_ssize_t size;
    if (PyUnicode_CheckExact(value)) {
        const char *text = PyUnicode_AsUTF8AndSize(value, &size);
        if (!text) PyErr_Clear();                                  /* half of a surrogate pair */
        return text && (uint64_t)size <= room ? put(record, RX_STR, text, (uint64_t)size) : 0;
    }
    if (PyBytes_CheckExact(value)) {
        size = PyBytes_Size(value);
        return (uint64_t)size <= room ? put(record, RX_BYTES, PyBytes_AsString(value), (uint64_t)size) : 0;
    }
    return put_numpy(record, (PyObject *)Py_TYPE(value), value);
}

static PyObject *numpy_of(PyObject *type, PyObject *number)
{
    PyObject *value = number ? PyObject_CallFunctionObjArgs(type, number, NULL) : NULL;
    Py_XDECREF(number);
    return value;
}

static PyObject *int_at(const void *data)
{
    int64_t n;
    memcpy(&n, data, sizeof n);
    return PyLong_FromLongLong(n);
}

static PyObject *double_at(const void *data)
{
    double x;
    memcpy(&x, data, sizeof x);
    return PyFloat_FromDouble(x);
}

PyObject *rx__unpack(uint64_t kind, uint64_t size, const void *data)
{
    switch (kind) {
    case RX_NOTHING: return Py_NewRef(Py_None);
    case RX_BOOL: return PyBool_FromLong(*(const char *)data);
    case RX_INT: return int_at(data);
    case RX_FLOAT: return double_at(data);
    case RX_STR: return PyUnicode_FromStringAndSize(data, (Py_ssize_t)size);
    case RX_BYTES: return PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
    case RX_NUMPY_INT64: return numpy_of(int64_type, int_at(data));
    case RX_NUMPY_FLOAT64: return numpy_of(float64_type, double_at(data));
    case RX_NUMPY_FLOAT32: return numpy_of(float32_type, double_at(data));
    default: return PyErr_Format(PyExc_SystemError, "a value of kind %llu", (unsigned long long)kind);
    }
}

/* ---- numbers as NumPy has them ---- */

static int as_number(int type, int *found, const void *from, size_t size, void *to)
{
    *found = type;
    memcpy(to, from, size);
    return 1;
}

int rx__number(PyObject *value, int *type, void *to)
{
    if (PyFloat_CheckExact(value) || (PyObject *)Py_TYPE(value) == float64_type) {
        double x = PyFloat_AsDouble(value);
        return as_number(NPY_DOUBLE, type, &x, sizeof x, to);
    }
    if (PyBool_Check(value)) return as_number(NPY_BOOL, type, value == Py_True ? "\1" : "\0", 1, to);
    if (!PyLong_CheckExact(value)) return 0;
    int overflow;
    int64_t n = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow && as_number(NPY_INT64, type, &n, sizeof n, to);
}

int rx__number_at(uint64_t kind, const void *data, int *type, void *to)
{
    switch (kind) {
    case RX_FLOAT: case RX_NUMPY_FLOAT64: return as_number(NPY_DOUBLE, type, data, sizeof(double), to);
    case RX_INT: case RX_NUMPY_INT64: return as_number(NPY_INT64, type, data, sizeof(int64_t), to);
    case RX_BOOL: return as_number(NPY_BOOL, type, data, 1, to);
    default: return 0;
    }
}
