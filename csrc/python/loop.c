/* The loop of a worker: what the core says is next is called, until something is the matter.
 *
 * In Python the loop itself took a third of what an empty reaction costs. A body is Python code, which looks at signals
 * and gives other threads their turn by itself. */
#include "loop.h"

#include "gil.h"
#include "reactors.h"

/* 0, or -1 with an exception. */
static int call(PyObject *calls, int64_t n, PyObject *unfinished)
{
    PyObject *returned = PyObject_CallNoArgs(PyList_GetItem(calls, (Py_ssize_t)n));
    if (!returned) return -1;
    PyObject *done = returned == Py_None ? Py_NewRef(Py_None) : PyObject_CallFunction(unfinished, "LO", (long long)n, returned);
    Py_DECREF(returned);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

PyObject *rx__run(PyObject *module, PyObject *arguments)
{
    (void)module;
    unsigned long long core;
    PyObject *calls, *unfinished;
    if (!PyArg_ParseTuple(arguments, "KOO", &core, &calls, &unfinished)) return NULL;
    rx_worker *w = (rx_worker *)(uintptr_t)core;
    int64_t n;
    while ((n = rx_next(w)) >= 0)
        if (call(calls, n, unfinished)) return NULL;
    return PyLong_FromLongLong(n);
}
