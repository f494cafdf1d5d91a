/* The loop of a worker that is alone: it looks at its own queue and inbox only, and takes a whole word of ready
 * reactions at once. */
#include "engine.h"

static int due(rx_worker *w)
{
    rx__drain(w);
    int many = rx__many_unneeded(w);
    if (many) return many;
    rx_tag g = rx__own_next(w);
    if (rx__idle(w) && !w->image->keepalive)
        g = w->stop = rx__least(w->stop, rx__next_microstep(w->tag));        /* starvation */
    if (rx__is_forever(g)) return 0;
    if (rx__need_not_wait(w)) return 1;
    if (w->clock < g.time) w->clock = rx__now(w);
    if (w->clock >= g.time) return 1;
    w->until = g.time;
    return 0;
}

/* Begins the next tag: 0, or why there is none. */
static inline int begin(rx_worker *w)
{
    if (w->finished) return RX_DONE;
    if (w->error) return w->error;
    rx_tag g = rx__own_next(w);
    if (!w->image->fast || w->t->physical || rx__idle(w)) {
        int c = rx__wait(w, due);
        if (c < 0) return c;
        g = rx__own_next(w);
    } else if (rx__aborted(w)) {
        return RX_ABORTED;
    }
    rx__start_tag(w, g);
    return g.microstep && rx__runaway(w) ? RX_RUNAWAY : 0;
}

/* Runs the native reactions that come first in a word of ready ones; what is left of it. */
static inline uint64_t run_natives(rx_worker *w, uint32_t first, uint64_t bits)
{
    for (; bits; bits &= bits - 1) {
        uint32_t index = first + (uint32_t)__builtin_ctzll(bits);
        const rx_reaction *r = &w->reactions[index];
        if (!(r->flags & RX_NATIVE)) break;
        if (w->needs_room[index]) rx__find_room(w, index);
        rx__run_native(w, r, index);
    }
    return bits;
}

int64_t rx__next_alone(rx_worker *w)
{
    for (;;) {
        if (!w->in_tag) {
            int c = begin(w);
            if (c) return c;
        }
        int64_t word = rx__ready_first(&w->ready);
        if (word < 0) {
            rx__leave_tag(w);
            int c = rx__aside(w);
            if (c) return c;
            continue;
        }
        uint32_t first = w->first_of_word[word];
        uint64_t bits = run_natives(w, first, rx__ready_take(&w->ready, (uint32_t)word));
        if (!bits) continue;
        uint32_t index = first + (uint32_t)__builtin_ctzll(bits);
        uint64_t others = bits & (bits - 1);
        int timed = rx__must_be_alone(w, index) || rx__sample_now(w);
        if (timed || !others) {
            if (others) rx__ready_add(&w->ready, (uint32_t)word, others);
            if (w->needs_room[index]) rx__find_room(w, index);
            int64_t body = rx__dispatch(w, index, timed);
            if (body == RX_RAN) continue;
            return body;
        }
        for (; bits; bits &= bits - 1) {
            index = first + (uint32_t)__builtin_ctzll(bits);
            if (rx__must_be_alone(w, index) || (w->reactions[index].flags & RX_NATIVE)) break;
            if (w->needs_room[index]) rx__find_room(w, index);
            w->batch[w->n_batch++] = index;
        }
        if (bits) rx__ready_add(&w->ready, (uint32_t)word, bits);
        return rx__dispatch_batch(w);
    }
}
