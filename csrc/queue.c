#include "queue.h"

#include <stdlib.h>

int rx__event_before(const rx_event *a, const rx_event *b)
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

static void rise(rx_heap *h, uint32_t i, rx_event e)
{
    while (i) {
        uint32_t up = (i - 1) / 4;
        if (!rx__event_before(&e, &h->items[up])) break;
        h->items[i] = h->items[up];
        i = up;
    }
    h->items[i] = e;
}

static void sink(rx_heap *h, uint32_t i, rx_event e)
{
    for (;;) {
        uint32_t child = 4 * i + 1, best = child, end = child + 4 < h->n ? child + 4 : h->n;
        if (child >= h->n) break;
        for (uint32_t c = child + 1; c < end; c++)
            if (rx__event_before(&h->items[c], &h->items[best])) best = c;
        if (!rx__event_before(&h->items[best], &e)) break;
        h->items[i] = h->items[best];
        i = best;
    }
    h->items[i] = e;
}

int rx__heap_push(rx_heap *h, rx_event e)
{
    if (h->n == h->capacity && grow((void **)&h->items, &h->capacity, sizeof e)) return RX_NO_MEMORY;
    rise(h, h->n++, e);
    return 0;
}

void rx__heap_pop(rx_heap *h)
{
    rx_event last = h->items[--h->n];
    sink(h, 0, last);
}

void rx__heap_remove(rx_heap *h, uint32_t at)
{
    rx_event last = h->items[--h->n];
    if (at == h->n) return;
    if (at && rx__event_before(&last, &h->items[(at - 1) / 4])) rise(h, at, last);
    else sink(h, at, last);
}

int rx__soon_push(rx_soons *s, uint32_t cell, uint64_t payload)
{
    if (s->n == s->capacity && grow((void **)&s->items, &s->capacity, sizeof *s->items)) return RX_NO_MEMORY;
    s->items[s->n++] = (rx_soon){payload, cell, 0};
    return 0;
}
