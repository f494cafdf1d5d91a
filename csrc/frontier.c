/* How far may I go? The picture of all lines, a snapshot by double collect, and the two questions asked of it. The bound
 * that comes of the first is what dataflow engines call a watermark.
 *
 * May I begin tag g: every other worker's earliest possible act, plus the delays from it to me, is not before g.
 * Is a channel complete at g: its producer has passed the last reaction that could have written something for g, or
 * whatever could still make the producer act, myself included, lies so late that the delays from there pass g.
 *
 * A worker's earliest possible act is its head or an unread message to it. A head falls only when a message is taken,
 * and then the lower head is published before the message is gone, under a new version; so a collect of versions,
 * heads, first unread messages, and the same versions again is a consistent picture. Send tags within a ring never
 * decrease, so its first message bounds all of them. Both answers never turn from yes to no: they are kept. */
#include <sched.h>

#include "peers.h"

/* A worker that hears from outside may act at any time not before a clock reading that was taken while its inbox
 * was quiet, whatever its head says. */
static rx_tag head_with_outside(rx_worker *w, uint32_t i, rx_tag head, int64_t clock)
{
    rx__inbox *inbox = rx__inbox_of(w->base, i);
    rx_tag passed = rx__peers(w)->passed[i], soonest = rx__next_microstep(passed);
    if (rx__is_forever(passed)) return head;
    if (inbox && !rx__inbox_quiet(inbox)) return rx__least(head, soonest);
    return rx__least(head, rx__greatest(rx__tag(clock, 0), soonest));
}

static int collect(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    uint64_t versions[RX_MOST_WORKERS];
    uint32_t n = w->workers;
    rx_tables *tables = RX_AT(rx_tables, w->base, w->image->tables);
    int64_t clock = 0;
    for (uint32_t i = 0; i < n; i++) {
        versions[i] = rx__get_fenced(&rx__line(w->base, i)->version);
        if (versions[i] & 1) return 0;
        if (tables[i].physical && !clock) clock = rx__now(w);
    }
    int starved = rx__get32(&w->image->starved) == 2;
    p->idle_everywhere = 1;
    p->stop_is_certain = 0;
    for (uint32_t i = 0; i < n; i++) {
        const rx_line *line = rx__line(w->base, i);
        rx_tag head = rx__get_tag(&line->head);
        p->passed[i] = rx__get_tag(&line->passed);
        p->rank[i] = rx__get(&line->rank);
        p->events[i] = head;
        p->own[i] = tables[i].physical ? head_with_outside(w, i, head, clock) : head;
        if (starved && rx__less(p->passed[i], w->image->starved_at)) p->own[i] = rx__least(p->own[i], w->image->starved_at);
        int idle = (int)rx__get(&line->idle);
        if (!idle || (tables[i].inbox && !rx__inbox_quiet(rx__inbox_of(w->base, i)))) p->idle_everywhere = 0;
        /* a worker has an event at the stop tag, or is there already: it will be the last tag indeed */
        if ((!idle && rx__equal(head, w->stop)) || !rx__less(p->passed[i], w->stop)) p->stop_is_certain = 1;
    }
    const uint64_t *rings = RX_AT(uint64_t, w->base, w->image->rings);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            rx_tag sent;
            if (!rings[a * n + b] || !rx__ring_first(RX_AT(rx__ring, w->base, rings[a * n + b]), &sent)) continue;
            p->idle_everywhere = 0;
            p->own[b] = rx__least(p->own[b], rx__plus(sent, p->direct[a * n + b]));
            p->events[b] = rx__least(p->events[b], rx__plus(sent, p->direct[a * n + b]));
        }
    for (uint32_t i = 0; i < n; i++)
        if (rx__get(&rx__line(w->base, i)->version) != versions[i]) return 0;
    return 1;
}

void rx__snapshot(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    uint32_t n = w->workers, j = w->index;
    for (int tries = 1; !collect(w); tries++)
        if (tries % 64) rx__pause();
        else sched_yield();   /* a worker was put off its core in the middle of publishing */
    p->looked = 1;
    rx_tag bound = rx__forever();
    for (uint32_t m = 0; m < n; m++) {
        if (m == j) continue;
        bound = rx__least(bound, rx__plus(p->own[m], p->delays[m * n + j]));
        /* the bound outlives this picture, so it counts the answers to what this worker is yet to send */
        bound = rx__least(bound, rx__plus(p->own[j], rx__plus(p->delays[j * n + m], p->delays[m * n + j])));
    }
    p->bound = rx__greatest(p->bound, bound);
    for (uint32_t i = 0; i < n; i++) {
        rx_tag may = p->own[i];
        for (uint32_t m = 0; m < n; m++)
            if (m != i) may = rx__least(may, rx__plus(p->own[m], p->delays[m * n + i]));
        p->may[i] = rx__greatest(p->may[i], may);
    }
}

int rx__covered(rx_worker *w, const rx_wait *wait, rx_tag g)
{
    /* Earlier arrivals are here, or g would not have begun: only what would arrive at g itself counts. */
    if (wait->offset.time > 0 ? wait->offset.microstep != g.microstep : wait->offset.microstep > g.microstep) return 1;
    const rx_peers *p = rx__peers_of(w);
    uint32_t from = wait->producer;
    rx_tag last = rx__minus(g, wait->offset);
    if (rx__less(last, p->passed[from])) return 1;
    if (rx__equal(last, p->passed[from]) && p->rank[from] > wait->writer) return 1;
    return rx__less(g, rx__plus(p->may[from], wait->offset));
}
