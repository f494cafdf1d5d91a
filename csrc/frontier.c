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

/* Whether all that other machines say of one another was true at one moment: none has acknowledged what the other has not
 * received as far as is known here. What is on its way between them counts as unread. */
static int collect_passages(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    const rx_image *image = w->image;
    const rx_passage *passages = RX_AT(rx_passage, w->base, image->passages);
    const uint64_t *rings = RX_AT(uint64_t, w->base, image->rings);
    uint32_t n = w->workers;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            uint8_t from = image->machine_of[a], to = image->machine_of[b];
            if (!rings[a * n + b] || from == to || from == image->machine || to == image->machine) continue;
            const rx_passage *passage = &passages[a * n + b];
            uint64_t received = rx__get(&passage->received);
            if (received < rx__get(&passage->acknowledged)) return 0;
            if (received >= rx__get(&passage->sent)) continue;
            rx_tag arrival = rx__plus(rx__get_tag(&passage->first), p->direct[a * n + b]);
            p->idle_everywhere = 0;
            p->own[b] = rx__least(p->own[b], arrival);
            p->events[b] = rx__least(p->events[b], arrival);
        }
    return 1;
}

/* A worker that hears from outside may act at any time not before a clock reading that was taken while its inbox
 * was quiet, whatever its head says. */
rx_tag rx__head_with_outside(void *base, uint32_t i, rx_tag head, rx_tag passed, int64_t clock)
{
    rx__inbox *inbox = rx__inbox_of(base, i);
    rx_tag soonest = rx__next_microstep(passed);
    if (rx__is_forever(passed)) return head;
    if (inbox && !rx__inbox_quiet(inbox)) return rx__least(head, soonest);
    return rx__least(head, rx__greatest(rx__tag(clock, 0), soonest));
}

/* 1: a picture; 0: not now, try again; -1: not before something is heard from another machine. */
static int collect(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    uint64_t versions[RX_MOST_WORKERS];
    uint32_t n = w->workers;
    rx_tables *tables = RX_AT(rx_tables, w->base, w->image->tables);
    int64_t clock = 0;
    int several = w->image->machines > 1;
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
        uint64_t idle = rx__get(&line->idle);
        p->events[i] = idle == RX_EXPECTS ? rx__forever() : head;      /* none yet */
        int far = several && w->image->machine_of[i] != w->image->machine;
        if (far) p->own[i] = rx__get_tag(&RX_AT(rx_far, w->base, w->image->far)[i].own);
        else p->own[i] = tables[i].physical ? rx__head_with_outside(w->base, i, head, p->passed[i], clock) : head;
        if (starved && rx__less(p->passed[i], w->image->starved_at)) p->own[i] = rx__least(p->own[i], w->image->starved_at);
        if (idle != RX_IDLE || (!far && tables[i].inbox && !rx__inbox_quiet(rx__inbox_of(w->base, i)))) p->idle_everywhere = 0;
        /* a worker has an event at the stop tag, or is there already: it will be the last tag indeed */
        if ((idle == RX_BUSY && rx__equal(head, w->stop)) || !rx__less(p->passed[i], w->stop)) p->stop_is_certain = 1;
    }
    const uint64_t *rings = RX_AT(uint64_t, w->base, w->image->rings);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            rx_tag sent;
            int elsewhere = several && w->image->machine_of[a] != w->image->machine && w->image->machine_of[b] != w->image->machine;
            if (!rings[a * n + b] || elsewhere || !rx__ring_first(RX_AT(rx__ring, w->base, rings[a * n + b]), &sent)) continue;
            p->idle_everywhere = 0;
            p->own[b] = rx__least(p->own[b], rx__plus(sent, p->direct[a * n + b]));
            p->events[b] = rx__least(p->events[b], rx__plus(sent, p->direct[a * n + b]));
        }
    int certain = !several || collect_passages(w);
    for (uint32_t i = 0; i < n; i++)
        if (rx__get(&rx__line(w->base, i)->version) != versions[i]) return 0;
    return certain ? 1 : -1;
}

int rx__snapshot(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    uint32_t n = w->workers, j = w->index;
    int seen;
    for (int tries = 1; !(seen = collect(w)); tries++)
        if (tries % 64) rx__pause();
        else if (rx__aborted(w)) return 0;
        else sched_yield();   /* a worker was put off its core in the middle of publishing */
    p->looked = 1;
    if (seen < 0) return 0;
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
    return 1;
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
