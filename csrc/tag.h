/* Tag arithmetic: saturating, FOREVER, delays. Knows nothing of anything else.
 *
 * A delay is an offset (time, microsteps). A positive time drops the microstep of the tag it is added to, as
 * Lingua Franca has it; the microsteps of the offset come on top: what is left of a chain of delays. */
#ifndef RX_TAG_H
#define RX_TAG_H

#include "reactors.h"

static inline rx_tag rx__tag(int64_t time, uint64_t microstep) { return (rx_tag){time, microstep}; }
static inline rx_tag rx__forever(void) { return rx__tag(RX_FOREVER_NS, 0); }
static inline int rx__is_forever(rx_tag g) { return g.time == RX_FOREVER_NS; }

static inline int rx__less(rx_tag a, rx_tag b)
{
    return a.time < b.time || (a.time == b.time && a.microstep < b.microstep);
}

static inline int rx__equal(rx_tag a, rx_tag b) { return a.time == b.time && a.microstep == b.microstep; }
static inline rx_tag rx__least(rx_tag a, rx_tag b) { return rx__less(b, a) ? b : a; }
static inline rx_tag rx__greatest(rx_tag a, rx_tag b) { return rx__less(a, b) ? b : a; }

static inline int64_t rx__add_ns(int64_t a, int64_t b)      /* b >= 0 */
{
    return a > RX_FOREVER_NS - b ? RX_FOREVER_NS : a + b;
}

static inline rx_tag rx__plus(rx_tag g, rx_tag offset)
{
    if (rx__is_forever(g) || rx__is_forever(offset)) return rx__forever();
    if (offset.time > 0) {
        int64_t time = rx__add_ns(g.time, offset.time);
        return rx__tag(time, time == RX_FOREVER_NS ? 0 : offset.microstep);
    }
    return rx__tag(g.time, g.microstep + offset.microstep);
}

static inline rx_tag rx__next_microstep(rx_tag g) { return rx__plus(g, rx__tag(0, 1)); }

/* The greatest tag at which something sent with [offset] still arrives at or before [g]. */
static inline rx_tag rx__minus(rx_tag g, rx_tag offset)
{
    if (rx__is_forever(offset)) return rx__tag(INT64_MIN, 0);
    if (rx__is_forever(g)) return g;
    if (offset.time > 0) {
        int64_t time = g.time - offset.time;
        return rx__tag(offset.microstep <= g.microstep ? time : time - 1, UINT64_MAX);
    }
    if (offset.microstep <= g.microstep) return rx__tag(g.time, g.microstep - offset.microstep);
    return rx__tag(g.time - 1, UINT64_MAX);
}

#endif
