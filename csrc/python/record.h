/* Objects in slots between processes: what is common lies there as it is, in C; all else is pickled by Python.
 *
 * Of a type exactly: a bool is no int here, nor is an IntEnum, for the reader gets what the writer set. */
#ifndef RX_RECORD_H
#define RX_RECORD_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "reactors.h"

int rx__know_numpy(PyObject *numpy);                               /* 0, or -1 with an exception */

/* 1: [value] lies in the record, which has [room] bytes behind it; 0: it is none of those, and has to be pickled. */
int rx__pack(rx_record *record, uint64_t room, PyObject *value);

/* What rx__pack put there, by its kind and size: a new reference; NULL with an exception. Not for RX_PICKLED. */
PyObject *rx__unpack(uint64_t kind, uint64_t size, const void *data);

/* 1: a number as an array of NumPy's would have it, of 8 bytes or 1, into [to], and NumPy's number of its type; 0: it is none of those. */
int rx__number(PyObject *value, int *type, void *to);
int rx__number_at(uint64_t kind, const void *data, int *type, void *to);           /* likewise, of what rx__pack put there */

#endif
