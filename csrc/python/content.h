/* The hash of what an object holds: the same for equal content, whatever objects it is made of.
 *
 * A pickle is not that: it says which parts are one object, goes through a set in its order, and in a worker process has
 * the code of a class where it has a name elsewhere. So the object is gone through here, as pickle would go through it. */
#ifndef RX_CONTENT_H
#define RX_CONTENT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

/* 0, or -1 with an exception: only what the object's own code raises that is no Exception, and MemoryError. */
int rx__content(PyObject *value, uint64_t *hash);

/* content_hash(value) */
PyObject *rx__content_hash(PyObject *module, PyObject *value);

#endif
