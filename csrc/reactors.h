/* The whole public surface of the core. The declarations are written once, in api.inc, which cffi reads too. */
#ifndef REACTORS_H
#define REACTORS_H

#include <stddef.h>
#include <stdint.h>

#include "api.inc"

#endif
