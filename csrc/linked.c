/* What the two threads of a link have in common. */
#include "clock.h"
#include "link.h"
#include "peers.h"

int rx__is_mine(const rx_link *l, uint32_t worker) { return l->image->machine_of[worker] == l->image->machine; }

rx__ring *rx__ring_between(const rx_link *l, uint32_t producer, uint32_t consumer)
{
    return RX_AT(rx__ring, l->base, RX_AT(uint64_t, l->base, l->image->rings)[producer * l->image->workers + consumer]);
}

void rx__link_over(rx_link *l, uint32_t why)
{
    if (!rx__swap_if32(&l->over, RX_LINKED, why)) return;
    rx_abort(l->base, RX_E_ABORTED);
    rx__ring_bell(l->base, l->bell);
}

/* ---- the start: logical time 0 is when machine 0 hears that all are there, on all of them ------------------------ */

static void start(rx_link *l, int64_t start_ns)
{
    rx_image *image = l->image;
    if (!rx__swap_if32(&image->started, 0, 2)) return;
    image->start_ns = start_ns;
    rx__put32_fenced(&image->started, 1);
    rx__ring_all(l->base);
}

void rx__start_together(rx_link *l)
{
    const rx_image *image = l->image;
    if (image->machine || rx__get32(&image->ready) != image->here) return;
    if (rx__get32(&image->machines_ready) == image->machines - 1) start(l, rx__clock());
}

void rx__start_with_first(rx_link *l, int64_t start_ns)
{
    int64_t now = rx__clock(), here = start_ns + l->image->ahead_ns;
    start(l, here < now ? here : now);               /* it has begun, however wrong the measured offset is */
}
