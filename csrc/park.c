/* Waiting: look, spin a little, then sleep on the bell.
 *
 * Waking a sleeping core costs microseconds on both sides, taking over from a spinning one some forty nanoseconds,
 * so a waiter spins first - but not at all when there are more workers than cores, nor where another one is to run.
 * Every sleep is bounded: for callers who want to look around, for a signal that comes just before it, and for mistakes.
 *
 * Where links lead to other machines, a waiter tells what it did before it waits for long, and hears while it spins. */
#include <errno.h>

#include "lock.h"
#include "peers.h"

#define SHORT_NS 3000         /* after which a wait is worth telling other machines what was published, if it is no message */

/* Whether the caller is to have a look at signals and the like, now that a sleep of [ns] has ended so. */
static int look_around(const rx_worker *w, int error, int64_t ns)
{
    return (w->watched || w->solo) && (error == EINTR || (error == ETIMEDOUT && ns == w->image->longest_sleep_ns));
}

/* What would wake it is published before the last look; what that look wants may differ, and then it looks again. */
static int last_look(rx_worker *w, int (*done)(rx_worker *))
{
    rx_peers *p = rx__peers(w);
    for (;;) {
        uint32_t wants = p->wants, producer = p->producer;
        rx_tag want = p->want;
        uint64_t rank = p->want_rank;
        rx__put32(&w->bell->wants, wants);
        rx__put32(&w->bell->producer, producer);
        rx__put_tag(&w->bell->want, want);
        rx__put(&w->bell->want_rank, rank);
        rx__set_bits(&w->image->sleepers, 1ull << w->index);
        rx__fence();                                 /* [done] looks by loads that could pass that store */
        w->until = INT64_MAX;
        int result = done(w);
        int same = wants == p->wants && producer == p->producer && rx__equal(want, p->want) && rank == p->want_rank;
        if (result || same) return result;
    }
}

static int sleep_until_rung(rx_worker *w, int (*done)(rx_worker *))
{
    uint32_t bell = rx__get32(&w->bell->bell);
    int error = 0, result = last_look(w, done);
    int64_t ns = w->image->longest_sleep_ns;
    if (!result && !rx__aborted(w)) {
        if (w->until != INT64_MAX && w->until - rx__now(w) < ns) ns = w->until - rx__now(w);
        rx__leave_across(w);
        w->bell->sleeps++;
        if (ns > 0) error = rx__sleep(&w->bell->bell, bell, ns);
    }
    rx__clear_bits(&w->image->sleepers, 1ull << w->index);
    return result ? result : look_around(w, error, ns) ? RX_INTERRUPTED : 0;
}

/* ---- virtual time ----------------------------------------------------------------------------------------
 *
 * The clock stands still while any worker works, and when all wait it jumps to the first time that one of them waits for. A
 * worker that looked in vain says at which count of changes it began to look: if all of them say the present one,
 * there is nothing that any of them has not seen. With several machines that is not all: quiet.c. */

static int wait_virtually(rx_worker *w, int (*done)(rx_worker *))
{
    rx_image *image = w->image;
    for (;;) {
        uint64_t changes = rx__get_fenced(&image->changes);
        uint32_t bell = rx__get32(&w->bell->bell);
        if (rx__aborted(w)) return RX_ABORTED;
        w->until = INT64_MAX;
        int result = done(w);
        rx__put((uint64_t *)&w->bell->until, (uint64_t)w->until);
        rx__put_fenced(&w->bell->looked, result ? 0 : changes);
        if (result) return result;
        int64_t until;
        int all = rx__all_wait(w->base, changes, &until), several = image->machines > 1;
        if (all && several) rx__ring_bell(w->base, rx__timekeeper(image));
        if (all && !several && until < INT64_MAX) {
            if (rx__swap_if(&image->changes, &(uint64_t){changes}, changes + 1)) {
                rx__put_fenced((uint64_t *)&image->now, (uint64_t)until);
                rx__changed(w);
            }
        } else if (rx__get_fenced(&image->changes) == changes) {
            w->bell->sleeps++;
            int error = rx__sleep(&w->bell->bell, bell, image->longest_sleep_ns);
            if (look_around(w, error, image->longest_sleep_ns)) return RX_INTERRUPTED;
        }
    }
}

static void account(rx_worker *w, rx__why why, int64_t since, int64_t now)
{
    w->bell->waited_ns[why.kind - RX_WAITED_CLOCK] += (uint64_t)(now - since);
    if (w->t->trace) rx__span_of_wait(w, why, since, now);
}

/* A wait whose reason has changed is another one; when that began. */
static int64_t note_turn(rx_worker *w, rx__why *why, int64_t since, int64_t now)
{
    rx__why next = rx__why_waiting(w);
    if (next.kind == why->kind) return since;
    account(w, *why, since, now);
    *why = next;
    return now;
}

int rx__wait(rx_worker *w, int (*done)(rx_worker *))
{
    rx_peers *p = rx__peers(w);
    rx__show_core(w);
    w->until = INT64_MAX;
    int result = done(w), in_the_way = 0;
    if (result) return result;
    *w->current = -1;
    void *held = rx__let_go ? rx__let_go() : NULL;
    int64_t began = rx__moment(w), now = began, since = began;
    rx__why why = rx__why_waiting(w);
    w->bell->waits++;
    for (;;) {
        if (w->image->virtual_time) {
            result = wait_virtually(w, done);
            break;
        }
        if (rx__aborted(w)) { result = RX_ABORTED; break; }
        w->until = INT64_MAX;
        int spins = !w->solo && now - began < w->spin;
        if (spins && rx__in_the_way(w)) {
            in_the_way = 1;
            spins = rx__make_way(w);
        }
        if (p->to_tell && (p->to_tell & RX_MESSAGE || now - began > SHORT_NS)) rx__tell_across(w);
        if (spins) {
            for (int i = 0; i < 8; i++) rx__pause();
            if (p->n_links) rx__hear_across(w);
            result = done(w);
        } else {
            result = sleep_until_rung(w, done);
            rx__show_core(w);
        }
        now = rx__moment(w);
        if (result) break;
        if (!spins || w->t->trace) since = note_turn(w, &why, since, now);
    }
    rx__stop_hearing(w);
    rx__note_wait(w, in_the_way);
    /* A wait that spinning could have covered is worth more of it, however it ended: workers that wake one another slowly
     * would go on doing so. After a longer one it is worth less, for others may need the core. */
    if (result > 0 && now - began < w->image->spin_ns) w->spin = w->spin * 2 < w->image->spin_ns ? w->spin * 2 : w->image->spin_ns;
    else w->spin = w->spin / 2 > w->image->spin_ns / 16 ? w->spin / 2 : w->image->spin_ns / 16;
    account(w, why, since, rx__moment(w));
    if (rx__take_back) rx__take_back(held);
    return result;
}
