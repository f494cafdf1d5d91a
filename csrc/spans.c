/* The timeline: a ring of the reactions that ran last, which the caller reads while the program runs. */
#include "engine.h"
#include "shared.h"

void rx__span(rx_worker *w, const rx_reaction *r, int64_t start, int64_t end, int late)
{
    uint64_t *count = RX_AT(uint64_t, w->base, w->t->trace);
    rx_span *spans = (rx_span *)((uint8_t *)count + RX_LINE);
    spans[*count & (w->t->n_trace - 1)] = (rx_span){w->tag, start - w->image->start_ns, end - w->image->start_ns, r->global, (uint32_t)late};
    rx__put(count, *count + 1);
}
