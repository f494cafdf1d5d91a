/* The event queue of one worker: a 4-ary heap of tags, each with a list of its events in the order in which they came, so
 * that events of one action at one tag come out in call order. Such events stay side by side in the queue; when they are
 * taken, tags.c lets the first happen at that tag and moves each of the others on by a microstep. The queue is searched
 * only for actions whose events may replace one another.
 *
 * Timers of one period, and whatever else many do at the same time, come one after another: the list that was pushed to
 * last is remembered, and what is for the same tag goes to its end. After an event for another tag a new list begins, so
 * a tag may have several in the heap, of which the older come first.
 *
 * The next microstep of the present time has a list of its own, which is all that most RL programs ever use. */
#ifndef RX_QUEUE_H
#define RX_QUEUE_H

#include "tag.h"

typedef struct { uint64_t payload; uint32_t cell, next; } rx_event;    /* `next` of its list, by place in the pool; 0: none */
typedef struct { rx_tag tag; uint64_t order; uint32_t first, pad; } rx_due;      /* a list of events; the order of lists of one tag */

typedef struct {
    rx_due *heap;
    uint32_t n, capacity;     /* of the heap */
    rx_event *pool;           /* all events; place 0 is none */
    uint32_t used, room;      /* of the pool */
    uint32_t free;            /* the first of the places that are free again, which `next` links; 0: none */
    uint32_t last;            /* the event pushed last, if its list may still grow; else 0 */
    rx_tag recent;            /* the tag of that list */
    uint64_t lists;           /* so far */
} rx_queue;

typedef struct { uint64_t payload; uint32_t cell, pad; } rx_soon;
typedef struct { rx_soon *items; uint32_t n, capacity; } rx_soons;

typedef int rx__stays(void *who, rx_tag tag, const rx_event *e);

int rx__queue_push(rx_queue *q, rx_tag tag, uint32_t cell, uint64_t payload);   /* 0, or RX_NO_MEMORY */
uint32_t rx__queue_pop(rx_queue *q);              /* the first event of the least tag's oldest list, which is the caller's now */
void rx__queue_filter(rx_queue *q, rx__stays *stays, void *who);                /* asks in the order of tags and coming */
uint64_t *rx__queue_last(rx_queue *q, rx_tag tag, uint32_t cell);     /* the payload of what was pushed last there; NULL: none */
void rx__queue_remove_last(rx_queue *q, rx_tag tag, uint32_t cell);   /* that event, which there is */
void rx__queue_free(rx_queue *q);
int rx__soon_push(rx_soons *s, uint32_t cell, uint64_t payload);

static inline rx_tag rx__queue_least(const rx_queue *q) { return q->n ? q->heap[0].tag : rx__forever(); }

/* What was at a place of a list that was popped; the place is free then. */
static inline rx_event rx__queue_take(rx_queue *q, uint32_t place)
{
    rx_event e = q->pool[place];
    q->pool[place].next = q->free;
    q->free = place;
    return e;
}

#endif
