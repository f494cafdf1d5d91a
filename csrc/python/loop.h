#ifndef RX_LOOP_H
#define RX_LOOP_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* run(core, calls, unfinished): a code of rx_next that is no reaction. [calls]: bodies by number, then what is for their missed
 * deadlines; unfinished(number, returned) if one returns something. */
PyObject *rx__run(PyObject *module, PyObject *arguments);

#endif
