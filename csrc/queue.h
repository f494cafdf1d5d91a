/* The event queue of one worker: a 4-ary heap by tag, then by the order of scheduling, so that events of one action
 * at one tag come out in call order. Such events stay side by side in the queue; when they are taken, tags.c lets the
 * first happen at that tag and moves each of the others on by a microstep. The queue is searched only for actions whose
 * events may replace one another.
 *
 * The next microstep of the present time has a list of its own, which is all that most RL programs ever use. */
#ifndef RX_QUEUE_H
#define RX_QUEUE_H

#include "tag.h"

typedef struct {
    rx_tag tag;
    uint64_t order;       /* count << RX_CELL_BITS | cell */
    uint64_t payload;
} rx_event;

typedef struct { rx_event *items; uint32_t n, capacity; } rx_heap;
typedef struct { uint64_t payload; uint32_t cell, pad; } rx_soon;
typedef struct { rx_soon *items; uint32_t n, capacity; } rx_soons;

static inline uint32_t rx__event_cell(const rx_event *e) { return (uint32_t)(e->order & ((1u << RX_CELL_BITS) - 1)); }

int rx__event_before(const rx_event *a, const rx_event *b);
int rx__heap_push(rx_heap *h, rx_event e);        /* 0, or RX_NO_MEMORY */
void rx__heap_pop(rx_heap *h);
void rx__heap_remove(rx_heap *h, uint32_t at);
int rx__soon_push(rx_soons *s, uint32_t cell, uint64_t payload);

static inline rx_tag rx__heap_least(const rx_heap *h) { return h->n ? h->items[0].tag : rx__forever(); }

#endif
