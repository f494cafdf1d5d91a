/* What a worker does itself for the links of its machine: it tells what it did before it waits, hears while it looks on, and
 * leaves both to the threads of the links before it sleeps or is busy for long. */
#include "clock.h"
#include "link.h"

int rx_use_link(rx_worker *w, int fd, uint32_t machine, int socket)
{
    rx_peers *p = rx__peers(w);
    rx_link *l = rx__link_made(w->base, fd, machine, socket);
    if (!l) return RX_NO_MEMORY;
    p->links[p->n_links++] = l;
    for (uint32_t i = 0; i < l->n_theirs; i++) p->across |= 1ull << l->theirs[i];
    return 0;
}

void rx__end_links(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    rx__leave_across(w);
    while (p->n_links) rx__link_freed(p->links[--p->n_links]);
}

void rx__tell_across(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    p->to_tell = 0;
    for (uint32_t i = 0; i < p->n_links; i++)
        if (!rx__tell_now(p->links[i])) p->to_tell = RX_MESSAGE;
}

void rx__hear_across(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    for (uint32_t i = 0; i < p->n_links; i++) {
        if (!p->listens) rx__listen(p->links[i]);
        rx__hear_now(p->links[i]);
    }
    p->listens = 1;
}

void rx__stop_hearing(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    for (uint32_t i = 0; p->listens && i < p->n_links; i++) rx__add32(&p->links[i]->shared->listeners, UINT32_MAX);
    p->listens = 0;
    if (p->n_links) p->busy = rx__clock();
}

void rx__leave_across(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    if (p->to_tell) rx__tell_across(w);
    rx__stop_hearing(w);
    for (uint32_t i = 0; i < p->n_links; i++) {
        if (p->to_tell) rx__ring_bell(w->base, p->links[i]->bell);
        rx__call_thread(p->links[i]);
    }
    p->to_tell = 0;
}

void rx__leave_across_if_due(rx_worker *w)
{
    const rx_peers *p = rx__peers(w);
    if (p->to_tell && !p->listens && rx__clock() - p->busy > RX_LONG_NS) rx__leave_across(w);
}
