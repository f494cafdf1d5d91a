/* Virtual time on several machines: the clock jumps when nothing goes on on any of them, and nothing is on its way.
 *
 * On one machine, nothing goes on when all workers have looked in vain since the last change (park.c). The threads that
 * tell others are counted in: they have the bells of workers there, and look in vain when there is nothing to tell.
 * A machine that has become quiet so says to machine 0 how many frames it has sent to each of the others, and how many
 * it has heard from there. If all have said so, and all that was sent was heard, then all are quiet still: the first
 * to leave that state would have heard something that was sent before its sender was quiet, and so was heard before.
 * So machine 0 moves its clock on, and tells the others; no machine says anything of what it does by a clock before having
 * said what that shows. */
#include <string.h>

#include "link.h"
#include "peers.h"

rx_traffic *rx__traffic(const rx_link *l, uint32_t machine, uint32_t other)
{
    return RX_AT(rx_traffic, l->base, l->image->traffic) + machine * l->image->machines + other;
}

void rx__begin_to_hear(rx_link *l)
{
    rx_traffic *t = rx__traffic(l, l->image->machine, l->machine);
    rx__put_fenced(&t->begun, t->begun + 1);
}

/* Workers look again, and then, at the latest, whether this machine is quiet. */
void rx__have_heard(rx_link *l)
{
    rx_traffic *t = rx__traffic(l, l->image->machine, l->machine);
    rx__add(&l->image->changes, 1);
    rx__put_fenced(&t->heard, t->heard + 1);
    rx__ring_all(l->base);
}

int rx__is_quiet(rx_link *l, uint64_t changes)
{
    rx__f_quiet *quiet = (rx__f_quiet *)l->quiet;
    rx__f_traffic *rows = (rx__f_traffic *)(quiet + 1);
    uint32_t me = l->image->machine;
    for (uint32_t m = 0; m < l->image->machines; m++) rows[m].heard = rx__get_fenced(&rx__traffic(l, me, m)->heard);
    if (!rx__all_wait(l->base, changes, &quiet->until)) return 0;
    for (uint32_t m = 0; m < l->image->machines; m++) rows[m].sent = rx__get_fenced(&rx__traffic(l, me, m)->sent);
    if (rx__get_fenced(&l->image->changes) != changes) return 0;
    for (uint32_t m = 0; m < l->image->machines; m++)
        if (rx__get_fenced(&rx__traffic(l, me, m)->begun) != rows[m].heard) return 0;
    return 1;
}

int rx__note_quiet(rx_link *l, const rx__f_quiet *said)
{
    const rx__f_traffic *rows = (const rx__f_traffic *)(said + 1);
    rx_quiet *quiet = RX_AT(rx_quiet, l->base, l->image->quiets) + l->machine;
    if (said->until < 0) return 0;
    rx__put(&quiet->version, quiet->version + 1);
    rx__put((uint64_t *)&quiet->until, (uint64_t)said->until);
    for (uint32_t m = 0; m < l->image->machines; m++) {
        rx_traffic *t = rx__traffic(l, l->machine, m);
        rx__put(&t->sent, rows[m].sent);
        rx__put(&t->heard, rows[m].heard);
    }
    rx__put_fenced(&quiet->version, quiet->version + 1);
    rx__ring_bell(l->base, rx__timekeeper(l->image));
    return 1;
}

/* Whether others say that they are quiet, and all that was sent was heard; until when, then. */
static int all_quiet(const rx_link *l, int64_t *until)
{
    const rx_quiet *quiets = RX_AT(rx_quiet, l->base, l->image->quiets);
    uint64_t versions[RX_MOST_WORKERS];
    uint32_t n = l->image->machines;
    for (uint32_t m = 1; m < n; m++) {
        versions[m] = rx__get(&quiets[m].version);
        if (!versions[m] || versions[m] & 1) return 0;
    }
    for (uint32_t m = 1; m < n; m++) {
        int64_t its = (int64_t)rx__get((const uint64_t *)&quiets[m].until);
        if (its < *until) *until = its;
    }
    const rx__f_traffic *mine = (const rx__f_traffic *)((const rx__f_quiet *)l->quiet + 1);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            if (a == b) continue;
            uint64_t sent = a ? rx__get(&rx__traffic(l, a, b)->sent) : mine[b].sent;
            uint64_t heard = b ? rx__get(&rx__traffic(l, b, a)->heard) : mine[a].heard;
            if (sent != heard) return 0;
        }
    for (uint32_t m = 1; m < n; m++)
        if (rx__get_fenced(&quiets[m].version) != versions[m]) return 0;
    return 1;
}

void rx__jump(rx_link *l, uint64_t changes)
{
    rx_image *image = l->image;
    if (!rx__is_quiet(l, changes)) return;
    int64_t until = ((const rx__f_quiet *)l->quiet)->until;
    if (!all_quiet(l, &until) || until == INT64_MAX || until <= (int64_t)rx__get((uint64_t *)&image->now)) return;
    if (!rx__swap_if(&image->changes, &changes, changes + 1)) return;
    rx__put_fenced((uint64_t *)&image->now, (uint64_t)until);
    rx__add(&image->changes, 1);
    rx__ring_all(l->base);
}
