/* One mapping that holds everything a run shares; addressed by offset, so that every process maps it where it likes. */
#ifndef RX_ARENA_H
#define RX_ARENA_H

#include "reactors.h"

#define RX_AT(type, base, offset) ((type *)((uint8_t *)(base) + (offset)))

static inline rx_image *rx__image(void *base) { return (rx_image *)base; }
static inline rx_line *rx__line(void *base, uint32_t worker) { return RX_AT(rx_line, base, rx__image(base)->lines) + worker; }

#endif
