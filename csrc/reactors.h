/* The whole public surface of the core. The declarations are written once, in api.inc, which cffi reads too. */
#ifndef REACTORS_H
#define REACTORS_H

#include <stddef.h>
#include <stdint.h>

#include "api.inc"

#define RX_NONE UINT32_MAX           /* no cell, no tap, no source */
#define RX_STOP (UINT32_MAX - 1)     /* as the cell of a tap: the message asks to stop */
#define RX_OUTSIDE (1ull << 63)      /* in a payload: the value is a copy outside the ring, at this address */

/* Called around every wait, if set: what embeds the core may hold a lock that others need meanwhile. */
extern void *(*rx__let_go)(void);
extern void (*rx__take_back)(void *);

#endif
