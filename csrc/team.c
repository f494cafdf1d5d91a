/* A worker with others: reactions that read channels are looked at in every tag, triggered or not, because what triggers
 * them may still be on its way; what is done is published as it is done. */
#include <string.h>

#include "peers.h"

/* Everything before reaction [position] of the present tag is done: say so, having sent what was written. */
void rx__progress(rx_worker *w, uint64_t position)
{
    rx_peers *p = rx__peers(w);
    rx__commit_before(w, position);
    if (!p->untold && p->line->rank >= position) return;
    rx__publish(w, p->head, w->tag, position);
    p->untold = 0;
    rx__leave_across_if_due(w);
}

/* Between two tags: publish where this worker stands, if it is not what others see. */
static void tell(rx_worker *w, rx_tag own)
{
    rx_peers *p = rx__peers(w);
    if (p->untold) rx__publish(w, own, w->tag, UINT64_MAX);
    else if (!rx__equal(own, p->head) || p->line->idle != rx__idleness(w)) rx__publish(w, own, p->line->passed, p->line->rank);
    p->untold = 0;
    rx__leave_across_if_due(w);
}

/* Whether others can wait to hear of the tag that is over, in fast mode, where tags follow one another sooner than the
 * line of a worker gets from one core to another. What they see meanwhile is older, so they conclude less from it, and
 * nothing wrong. Before this worker waits, or runs what may take long, it publishes. */
static int may_tell_later(const rx_worker *w)
{
    const rx_peers *p = rx__peers_of(w);
    return p->untold < RX_UNTOLD && !p->n_mates && !w->finished && !w->pausing && !w->image->virtual_time && rx__need_not_wait(w);
}

/* No worker has anything to do and nothing is on its way: the program stops a microstep after the last tag executed
 * anywhere. This gives every worker an event that came from no message, so what was thought of as certain before, that
 * no other acts any more, is put right when a worker learns of it; and none begins a stop tag known from elsewhere
 * unless it is certain that the program does not starve before. */
static void starve(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    rx_image *image = w->image;
    if (rx__swap_if32(&image->starved, 0, 1)) {
        rx_tag last = rx__tag(0, 0);
        for (uint32_t i = 0; i < w->workers; i++) last = rx__greatest(last, p->passed[i]);
        image->starved_at = rx__least(w->stop, rx__next_microstep(last));
        rx__put32_fenced(&image->starved, 2);
        rx__wake(w);
    }
}

static void learn_of_starvation(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    rx_tag stop = w->image->starved_at;
    p->knows_starved = 1;
    w->stop = rx__least(w->stop, stop);
    for (uint32_t i = 0; i < w->workers; i++) p->may[i] = rx__least(p->may[i], stop);
}

static void wants_passed(rx_worker *w, const rx_wait *wait, rx_tag g)
{
    rx_peers *p = rx__peers(w);
    p->wants = RX_PASSED;
    p->producer = wait->producer;
    p->want = rx__minus(g, wait->offset);
    p->want_rank = wait->writer;
}

/* A worker that hears from outside lets others go on as the clock does, and publishes nothing: look again when the
 * clock has come far enough. Not where something else holds it back, which it will publish. */
static void wait_for_clock(rx_worker *w, rx_tag g)
{
    rx_peers *p = rx__peers(w);
    const rx_tables *tables = RX_AT(rx_tables, w->base, w->image->tables);
    for (uint32_t m = 0; m < w->workers; m++) {
        rx_tag delay = p->delays[m * w->workers + w->index];
        if (m == w->index || !tables[m].physical || !rx__less(rx__plus(p->own[m], delay), g)) continue;
        if (!rx__less(p->own[m], p->events[m])) continue;
        int64_t due = rx__minus(g, delay).time + 1;
        if (due < w->until) w->until = due;
    }
}

/* Whether a tag may begin, which then is `tag_to_begin`; 0: not yet. */
static int may_begin(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    for (;;) {
        rx__drain(w);
        int many = rx__many_unneeded(w);
        if (many) return many;
        if (!p->knows_starved && rx__get32(&w->image->starved) == 2) learn_of_starvation(w);
        rx_tag own = rx__own_next(w), g = own;
        int idle = rx__idle(w) && !p->knows_starved && !w->image->keepalive, looked = 0;
        if (!p->untold) tell(w, own);                /* else it may go on at once */
        p->wants = RX_TO_BEGIN;
        p->want = own;
        if (p->n_mates || rx__less(p->bound, own) || rx__is_forever(own) || idle) {
            tell(w, own);
            if (!rx__snapshot(w)) return 0;
            looked = 1;
            if (!p->knows_starved && rx__get32(&w->image->starved) == 2) continue;   /* heads may be of the stop tag */
            for (uint32_t i = 0; i < w->workers; i++)
                if (p->mate[i]) g = rx__least(g, p->events[i]);
            if (idle && p->idle_everywhere) {
                starve(w);
                continue;                            /* and learn of it */
            }
            if (rx__is_forever(g)) return 0;
            g = rx__least(g, w->stop);
            p->want = g;
            if (idle && rx__equal(g, w->stop) && !p->stop_is_certain) return 0;
            if (!rx__less(w->tag, g)) return 0;      /* a mate's head, which it has yet to move */
            if (rx__less(p->bound, g)) {
                wait_for_clock(w, g);
                return 0;
            }
        }
        for (uint32_t i = 0; i < w->t->n_stop_waits; i++) {
            const rx_wait *wait = &p->stop_waits[i];
            if (rx__covered(w, wait, g)) continue;
            rx__look_at(w, wait->producer);
            if (rx__covered(w, wait, g)) continue;
            tell(w, own);
            if (!looked) rx__snapshot(w);
            looked = 1;
            if (rx__covered(w, wait, g)) continue;
            wants_passed(w, wait, g);
            return 0;
        }
        if (rx__drain(w)) continue;                  /* what came may be earlier, or a stop */
        if (!rx__need_not_wait(w)) {
            if (w->clock < g.time) {
                w->clock = rx__now(w);
                if (w->clock >= g.time && w->coming) continue;   /* what comes from outside by then is there first */
            }
            if (w->clock < g.time) {
                tell(w, own);
                if (g.time < w->until) w->until = g.time;
                return 0;
            }
        }
        p->tag_to_begin = g;
        return 1;
    }
}

static int complete(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    const rx_wait *wait = p->waiting_for;
    if (!rx__covered(w, wait, w->tag)) {
        rx__look_at(w, wait->producer);
        if (!rx__covered(w, wait, w->tag)) {
            rx__snapshot(w);
            if (!rx__covered(w, wait, w->tag)) {
                rx__drain(w);
                return 0;
            }
        }
    }
    return 1;
}

/* 1: everything that [r] reads is here; 0: not yet, and not [waiting]; or RX_ABORTED. */
static int inputs_complete(rx_worker *w, const rx_reaction *r, int waiting)
{
    rx_peers *p = rx__peers(w);
    for (uint32_t i = r->waits; i < r->waits + r->n_waits; i++) {
        const rx_wait *wait = &p->waits[i];
        if (rx__covered(w, wait, w->tag)) continue;
        rx__look_at(w, wait->producer);
        if (rx__covered(w, wait, w->tag)) continue;
        if (!waiting) return 0;
        p->waiting_for = wait;
        p->waiting = (uint32_t)(r - w->reactions);
        wants_passed(w, wait, w->tag);
        int c = rx__wait(w, complete);
        if (c < 0) return c;
    }
    if (rx__aborted(w)) return RX_ABORTED;    /* a worker that has failed sends nothing more, either */
    if (p->looked) rx__drain(w);                     /* complete means: in the ring */
    return 1;
}

static void begin_shared(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    rx_tag g = p->tag_to_begin;
    rx__start_tag(w, g);
    p->head = g;
    p->roomy = 0;
    int all_late = 1;                                /* no other can send anything for this tag any more */
    for (uint32_t i = 0; all_late && i < w->workers; i++)
        if (i != w->index && !rx__less(g, p->may[i])) all_late = 0;
    if (!p->untold) rx__publish(w, g, g, 0);
    rx__drain(w);
    p->visiting = !all_late;
    if (!all_late)
        for (uint32_t i = 0; i < w->t->n_words; i++)
            if (p->visit_words[i]) rx__ready_add(&w->ready, i, p->visit_words[i]);
}

static int room_now(rx_worker *w)
{
    if (rx__find_room(w, rx__peers(w)->waiting)) return 1;
    rx__drain(w);                                    /* a cycle of full rings empties itself */
    return 0;
}

int64_t rx__next_together(rx_worker *w)
{
    rx_peers *p = rx__peers(w);
    for (;;) {
        if (!w->in_tag) {
            if (w->finished) return RX_DONE;
            if (w->error) return w->error;
            if (rx__aborted(w)) return RX_ABORTED;
            int c = rx__wait(w, may_begin);
            if (c < 0) return c;
            if (rx__aborted(w)) return RX_ABORTED;    /* likewise */
            begin_shared(w);
            if (w->tag.microstep && rx__runaway(w)) return RX_RUNAWAY;
        }
        int64_t word = rx__ready_first(&w->ready);
        if (word < 0) {
            if (w->image->virtual_time && w->t->inbox) rx__inbox_drain(w);       /* what it sent itself: the head counts it */
            rx__leave_tag(w);
            memset(w->triggered, 0, w->t->n_words * sizeof *w->triggered);
            p->untold++;
            if (!may_tell_later(w)) tell(w, w->finished ? rx__forever() : rx__own_next(w));
            int c = rx__aside(w);
            if (c) return c;
            continue;
        }
        uint32_t first = w->first_of_word[word];
        while (w->ready.words[word]) {
            uint64_t bit = w->ready.words[word] & -w->ready.words[word];
            uint32_t index = first + (uint32_t)__builtin_ctzll(bit);
            const rx_reaction *r = &w->reactions[index];
            if (p->visiting && r->n_waits) {
                int c = inputs_complete(w, r, 0);
                if (!c && w->n_batch) break;
                if (!c) {
                    rx__progress(w, index);
                    c = inputs_complete(w, r, 1);
                }
                if (c < 0) return c;
            }
            if (!(w->triggered[word] & bit)) {
                rx__ready_remove(&w->ready, (uint32_t)word, bit);
                continue;
            }
            if (w->n_batch && (rx__must_be_alone(w, index) || (r->flags & RX_NATIVE))) break;
            if (w->needs_room[index] && !rx__find_room(w, index)) {
                if (w->n_batch) break;
                rx__progress(w, index);
                p->wants = RX_ANYTHING;
                p->waiting = index;
                int c = rx__wait(w, room_now);
                if (c < 0) return c;
            }
            rx__ready_remove(&w->ready, (uint32_t)word, bit);
            p->position = index + 1;
            if (r->flags & RX_NATIVE) {
                rx__run_native(w, r, index);
                if (w->sends[index]) rx__progress(w, p->position);
                continue;
            }
            if (rx__must_be_alone(w, index) || (!w->n_batch && rx__sample_now(w))) {
                /* It may take long, and others may wait to hear that those before it send nothing. */
                if (w->heavy[index] && (p->untold || p->line->rank < p->senders[index])) rx__progress(w, index);
                if (w->heavy[index] == RX_LONG) rx__leave_across(w);
                int64_t body = rx__dispatch(w, index, 1);
                if (body != RX_RAN) return body;
                if (w->sends[index]) rx__progress(w, p->position);
                continue;
            }
            w->batch[w->n_batch++] = index;
        }
        if (w->n_batch) return rx__dispatch_batch(w);
    }
}
