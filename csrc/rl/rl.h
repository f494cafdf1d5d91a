/* The whole public surface of the parts for reinforcement learning; api.inc has the declarations, which cffi reads too.
 *
 * They are a library of their own; of the core they use the atomic loads and stores (atomic.h), the
 * clock (clock.h), and how to let go of the caller's lock (lock.h). */
#ifndef RX_RL_H
#define RX_RL_H

#include <stddef.h>
#include <stdint.h>

#include "api.inc"

#endif
