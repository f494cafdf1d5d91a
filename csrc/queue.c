#include "queue.h"

#include <stdlib.h>

static int before(const rx_due *a, const rx_due *b)
{
    if (a->tag.time != b->tag.time) return a->tag.time < b->tag.time;
    if (a->tag.microstep != b->tag.microstep) return a->tag.microstep < b->tag.microstep;
    return a->order < b->order;
}

/* Doubles, when more is pending than ever before. */
static int grow(void **items, uint32_t *capacity, size_t size)
{
    uint32_t more = *capacity ? *capacity * 2 : 64;
    void *moved = realloc(*items, (size_t)more * size);
    if (!moved) return RX_NO_MEMORY;
    *items = moved;
    *capacity = more;
    return 0;
}

/* ---- the heap -------------------------------------------------------------------------------------------- */

static void rise(rx_queue *q, uint32_t i, rx_due d)
{
    while (i) {
        uint32_t up = (i - 1) / 4;
        if (!before(&d, &q->heap[up])) break;
        q->heap[i] = q->heap[up];
        i = up;
    }
    q->heap[i] = d;
}

static void sink(rx_queue *q, uint32_t i, rx_due d)
{
    for (;;) {
        uint32_t child = 4 * i + 1, best = child, end = child + 4 < q->n ? child + 4 : q->n;
        if (child >= q->n) break;
        for (uint32_t c = child + 1; c < end; c++)
            if (before(&q->heap[c], &q->heap[best])) best = c;
        if (!before(&q->heap[best], &d)) break;
        q->heap[i] = q->heap[best];
        i = best;
    }
    q->heap[i] = d;
}

static void heap_remove(rx_queue *q, uint32_t at)
{
    rx_due last = q->heap[--q->n];
    if (at == q->n) return;
    if (at && before(&last, &q->heap[(at - 1) / 4])) rise(q, at, last);
    else sink(q, at, last);
}

/* ---- events ---------------------------------------------------------------------------------------------- */

/* A place for an event; 0: no memory. */
static inline uint32_t place(rx_queue *q)
{
    uint32_t at = q->free;
    if (at) {
        q->free = q->pool[at].next;
        return at;
    }
    if (q->used == q->room) {
        if (grow((void **)&q->pool, &q->room, sizeof *q->pool)) return 0;
        if (!q->used) q->used = 1;
    }
    return q->used++;
}

int rx__queue_push(rx_queue *q, rx_tag tag, uint32_t cell, uint64_t payload)
{
    int more = q->last && rx__equal(tag, q->recent);
    if (!more && q->n == q->capacity && grow((void **)&q->heap, &q->capacity, sizeof *q->heap)) return RX_NO_MEMORY;
    uint32_t at = place(q);
    if (!at) return RX_NO_MEMORY;
    q->pool[at] = (rx_event){payload, cell, 0};
    if (more) {
        q->pool[q->last].next = at;
    } else {
        rise(q, q->n++, (rx_due){tag, q->lists++, at, 0});
        q->recent = tag;
    }
    q->last = at;
    return 0;
}

uint32_t rx__queue_pop(rx_queue *q)
{
    uint32_t first = q->heap[0].first;
    if (rx__equal(q->heap[0].tag, q->recent)) q->last = 0;       /* perhaps a newer list of that tag: then it ends early */
    if (--q->n) sink(q, 0, q->heap[q->n]);
    return first;
}

static int in_order(const void *a, const void *b) { return before(a, b) ? -1 : 1; }

void rx__queue_filter(rx_queue *q, rx__stays *stays, void *who)
{
    uint32_t kept = 0;
    if (q->n) qsort(q->heap, q->n, sizeof *q->heap, in_order);   /* what is sorted is a heap */
    for (uint32_t i = 0; i < q->n; i++) {
        rx_due d = q->heap[i];
        for (uint32_t *link = &d.first; *link;) {
            rx_event *e = &q->pool[*link];
            if (stays(who, d.tag, e)) link = &e->next;
            else *link = rx__queue_take(q, *link).next;
        }
        if (d.first) q->heap[kept++] = d;
    }
    q->n = kept;
    q->last = 0;
}

/* The place of that event, and of its list in the heap; 0: there is none. */
static uint32_t find_last(const rx_queue *q, rx_tag tag, uint32_t cell, uint32_t *list)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        if (!rx__equal(q->heap[i].tag, tag) || (found && q->heap[i].order < q->heap[*list].order)) continue;
        for (uint32_t at = q->heap[i].first; at; at = q->pool[at].next)
            if (q->pool[at].cell == cell) found = at, *list = i;
    }
    return found;
}

uint64_t *rx__queue_last(rx_queue *q, rx_tag tag, uint32_t cell)
{
    uint32_t list, at = find_last(q, tag, cell, &list);
    return at ? &q->pool[at].payload : NULL;
}

void rx__queue_remove_last(rx_queue *q, rx_tag tag, uint32_t cell)
{
    uint32_t list = 0, at = find_last(q, tag, cell, &list), *link = &q->heap[list].first;
    while (*link != at) link = &q->pool[*link].next;
    *link = rx__queue_take(q, at).next;
    q->last = 0;
    if (!q->heap[list].first) heap_remove(q, list);
}

void rx__queue_free(rx_queue *q)
{
    free(q->heap);
    free(q->pool);
}

/* ---- the next microstep ---------------------------------------------------------------------------------- */

int rx__soon_push(rx_soons *s, uint32_t cell, uint64_t payload)
{
    if (s->n == s->capacity && grow((void **)&s->items, &s->capacity, sizeof *s->items)) return RX_NO_MEMORY;
    s->items[s->n++] = (rx_soon){payload, cell, 0};
    return 0;
}
