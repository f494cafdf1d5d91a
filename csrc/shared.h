/* What workers share, as they look at it while the program runs: atomic loads and stores, those of whole tags too. */
#ifndef RX_SHARED_H
#define RX_SHARED_H

#include "atomic.h"
#include "reactors.h"

static inline rx_tag rx__get_tag(const rx_tag *p)      /* torn unless a version around it says otherwise */
{
    return (rx_tag){(int64_t)rx__get((const uint64_t *)&p->time), rx__get(&p->microstep)};
}

static inline void rx__put_tag(rx_tag *p, rx_tag g)
{
    rx__put((uint64_t *)&p->time, (uint64_t)g.time);
    rx__put(&p->microstep, g.microstep);
}

#endif
