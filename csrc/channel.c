/* Values on their way: from what a reaction has written to the cells of this worker, and through a ring to other workers;
 * and how a worker takes what has come to it. */
#include "peers.h"

/* When a value arrives whose sender's tag does not count: now. In virtual time that is now where it was sent, for a
 * receiver may look at its ring sooner or later. Nothing overtakes what was sent before it, nor arrives at the same tag:
 * so the tag that is recorded is the one at which it will be present. */
static rx_tag physical_arrival(rx_worker *w, rx_tap *tap, rx_tag sent, int64_t clock)
{
    rx_tag arrival;
    if (w->image->replaying)
        return tap->arrived < tap->n_arrivals ? RX_AT(rx_tag, w->base, tap->arrivals)[tap->arrived++] : rx__forever();
    if (w->image->virtual_time) arrival = rx__plus(rx__greatest(rx__tag(clock, 0), sent), tap->offset);
    else arrival = rx__greatest(rx__tag(rx__add_ns(rx__now(w), tap->offset.time), 0), rx__next_microstep(w->tag));
    if (!w->image->fast)                      /* another machine's clock may be ahead, and replays count on this */
        arrival = rx__greatest(arrival, rx__plus(sent, tap->offset));
    arrival = tap->last = rx__greatest(arrival, rx__next_microstep(tap->last));
    if (w->record >= 0) rx__log_arrival(w, tap, arrival);
    return arrival;
}

/* A value that left at [sent] reaches this worker: to every place it goes to here. */
static void arrive(rx_worker *w, uint32_t number, rx_tag sent, int64_t clock, uint64_t payload)
{
    rx_sub *sub = &w->subs[number];
    rx__share(w, sub, payload);
    for (uint32_t i = sub->taps; i < sub->taps + sub->n_taps; i++) {
        rx_tap *tap = &w->taps[i];
        if (tap->cell != RX_STOP && w->cells[tap->cell].mode != RX_NONE && !w->modes[w->cells[tap->cell].mode].active) {
            rx__release(w, i, payload);              /* a connection of a mode that is not active carries nothing */
            continue;
        }
        rx_tag arrival = rx__plus(sent, tap->offset);
        uint64_t value = payload;
        if (tap->physical) arrival = physical_arrival(w, tap, sent, clock);
        if (tap->cell == RX_STOP) {
            w->stop = rx__least(w->stop, arrival);
            continue;
        }
        int soon = !tap->physical && tap->offset.time == 0 && tap->offset.microstep <= 1;
        if (sub->mode == RX_SLOTS && !soon && payload >= sub->slots / 2) value = rx__move_out(w, sub, payload);
        if (w->clocks) rx__note_clock(w, i, clock);
        rx__deliver(w, tap->cell, arrival, value);
    }
}

/* Asked before a reaction that sends to [consumers]; the answer yes holds for all that this tag may bring, so a message
 * never waits for room: in the middle of finishing a reaction there is no way back to the caller. */
int rx__rings_have_room(rx_worker *w, uint64_t consumers)
{
    rx_peers *p = rx__peers(w);
    for (uint64_t unknown = consumers & ~p->roomy; unknown; unknown &= unknown - 1) {
        uint32_t consumer = (uint32_t)__builtin_ctzll(unknown);
        if (!rx__ring_fits(p->out[consumer], p->most[consumer])) return 0;
        p->roomy |= 1ull << consumer;
    }
    return 1;
}

static void send(rx_worker *w, uint32_t number, int64_t clock, uint64_t payload)
{
    rx_peers *p = rx__peers(w);
    const rx_sub *sub = &w->subs[number];
    rx__ring_push(p->out[sub->consumer], w->tag, clock, payload, number);
    p->sent_to |= 1ull << sub->consumer;
    if (w->image->virtual_time) rx__changed(w);
}

void rx__commit(rx_worker *w, uint32_t number, int64_t clock)
{
    rx_source *s = &w->sources[number];
    uint64_t payload = rx__carried(w, s);
    for (uint32_t i = s->subs; i < s->subs + s->n_subs; i++) {
        uint32_t sub = w->lists[i];
        if (w->subs[sub].consumer == w->index) arrive(w, sub, w->tag, clock, payload);
        else send(w, sub, clock, payload);
    }
}

void rx__commit_before(rx_worker *w, uint64_t position)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->n_unsent; i++)
        if (w->sources[w->unsent[i]].writer < position) rx__commit(w, w->unsent[i], w->sources[w->unsent[i]].clock);
        else w->unsent[kept++] = w->unsent[i];
    w->n_unsent = kept;
}

int rx__drain(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    int taken = w->t->inbox ? rx__inbox_drain(w) : 0;
    if (w->coming && !w->in_tag) taken += rx__inject(w);         /* not before the modes of the next tag are known */
    p->looked = 0;
    for (uint32_t i = 0; i < w->workers; i++) {
        rx__ring *ring = p->in[i];
        if (!ring) continue;
        uint64_t head = ring->head, tail = rx__get(&ring->tail);
        if (head == tail) continue;
        for (uint64_t m = head; m != tail; m++) {
            const rx__message *one = rx__message_at(ring, m);
            arrive(w, one->sub, one->sent, one->clock, one->payload);
        }
        /* first the lower head, then the message is gone; the version moves either way */
        rx__publish(w, w->in_tag ? p->head : rx__least(p->head, rx__own_next(w)), p->line->passed, p->line->rank);
        rx__put(&ring->head, tail);
        rx__publish(w, p->head, p->line->passed, p->line->rank);
        taken += (int)(tail - head);
    }
    return taken;
}

void rx__leave_tag(rx_worker *w)
{
    if (w->n_unsent) rx__commit_before(w, UINT64_MAX);
    rx__end_tag(w);
    if (w->finished || !w->switching) return;
    rx__inbox_drain(w);                              /* what was scheduled in the old modes belongs to them */
    rx__switch_modes(w);
}
