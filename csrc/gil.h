/* The wrappers that cffi writes give the GIL back around every call: some thirty nanoseconds each, more than most of our
 * calls take. Here a call keeps it, and the core lets go of it where it waits. For the generated source, and python/loop.c. */
#ifndef RX_GIL_H
#define RX_GIL_H

#include "lock.h"

#undef Py_BEGIN_ALLOW_THREADS
#undef Py_END_ALLOW_THREADS
#define Py_BEGIN_ALLOW_THREADS {
#define Py_END_ALLOW_THREADS }

static void *let_go(void) { return PyEval_SaveThread(); }
static void take_back(void *thread) { PyEval_RestoreThread(thread); }

__attribute__((constructor)) static void wait_without_the_gil(void)
{
    rx__let_go = let_go;
    rx__take_back = take_back;
}

#endif
