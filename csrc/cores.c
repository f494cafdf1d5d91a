/* Where workers are. The kernel may put two on one core and leave them there, though others are idle: the one that spins
 * runs all the time, and the one that it waits for never waits long enough to be moved. So workers show where they are; a
 * waiter that sees another one there sleeps at once instead of spinning, and moves off where that goes on. */
#include <sched.h>

#include "peers.h"

enum { MOST_PATIENCE = 1 << 14 };

void rx__show_core(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    uint32_t here = (uint32_t)sched_getcpu() + 1;
    if (here == p->core) return;
    p->core = here;
    rx__put32(&w->image->cores[w->index], here);
}

int rx__in_the_way(const rx_worker *w)
{
    uint64_t asleep = rx__get_fenced(&w->image->sleepers);
    if (!rx__peers_of(w)->core) return 0;            /* the system does not say */
    for (uint32_t i = 0; i < w->workers; i++)
        if (i != w->index && !(asleep >> i & 1) && rx__get32(&w->image->cores[i]) == rx__peers_of(w)->core) return 1;
    return 0;
}

/* To a core where no other worker is, if there is one. From there on this worker may be wherever it might before. */
static int move_off(rx_worker *w)
{
    cpu_set_t all, free;
    if (sched_getaffinity(0, sizeof all, &all)) return 0;
    free = all;
    for (uint32_t i = 0; i < w->workers; i++) {
        uint32_t taken = rx__get32(&w->image->cores[i]);
        if (taken) CPU_CLR(taken - 1, &free);
    }
    if (!CPU_COUNT(&free) || sched_setaffinity(0, sizeof free, &free)) return 0;
    sched_setaffinity(0, sizeof all, &all);
    w->bell->moves++;
    rx__show_core(w);
    return 1;
}

/* Once or twice may be by chance: what another shows may be old, or it has just been woken and goes elsewhere. And where
 * moving does not help for long, because others want those cores, too, it is worse than taking turns on one: patience
 * doubles with each move, and only good waits bring it down again. */
int rx__make_way(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    if (!w->image->moves_off || p->in_the_way < p->patience) return 0;
    p->in_the_way = 0;
    if (p->patience < MOST_PATIENCE) p->patience *= 2;
    return move_off(w);
}

void rx__note_wait(rx_worker *w, int in_the_way)
{
    rx_peers *p = rx__peers(w);
    p->in_the_way = in_the_way ? p->in_the_way + 1 : 0;
    if (!in_the_way && p->patience > RX_PATIENCE) p->patience--;
}
