/* Waiting: look, spin a little, then sleep on a futex; and waking.
 *
 * Waking a sleeping core costs microseconds on both sides, taking over from a spinning one some forty nanoseconds,
 * so a waiter spins first - but not at all when there are more workers than cores, nor where another one is to run. A
 * publisher makes no system call when no worker sleeps: it stores, then loads `sleepers`; a waiter sets its bit there,
 * then looks again. Both are sequentially consistent, so one of them sees the other. Who rings takes the bit away first:
 * from then on that worker counts as awake. Every sleep is bounded all the same: for callers who want to look around,
 * for a signal that comes just before it, and for mistakes. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lock.h"
#include "peers.h"

static int futex_wait(uint32_t *word, uint32_t value, int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    return (int)syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0) == -1 ? errno : 0;
}

int rx__sleep(rx_bell *bell, uint32_t rung, int64_t ns) { return futex_wait(&bell->bell, rung, ns); }

void rx__ring_bell(void *base, uint32_t worker)
{
    rx_bell *bell = RX_AT(rx_bell, base, rx__image(base)->bells) + worker;
    rx__clear_bits(&rx__image(base)->sleepers, 1ull << worker);
    rx__add32(&bell->bell, 1);
    syscall(SYS_futex, &bell->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void rx__ring_all(void *base)
{
    for (uint32_t i = 0; i < rx__image(base)->workers; i++) rx__ring_bell(base, i);
}

/* Whether what this worker has published since may be what a sleeper waits for. If in doubt, yes: a wrong no is found
 * out only at the end of the longest sleep. */
static int concerns(const rx_worker *w, uint32_t sleeper)
{
    const rx_peers *p = rx__peers_of(w);
    const rx_tag *delays = p->delays + w->index * w->workers;
    rx_bell *bell = RX_AT(rx_bell, w->base, w->image->bells) + sleeper;
    uint32_t wants = rx__get32(&bell->wants);
    if (wants == RX_ANYTHING || p->sent_to >> sleeper & 1) return 1;
    rx_tag want = rx__get_tag(&bell->want);
    if (wants == RX_TO_BEGIN && p->mate[sleeper] && rx__less(rx__get_tag(&rx__line(w->base, sleeper)->passed), p->head)) return 1;
    if (wants == RX_TO_BEGIN) return !rx__less(rx__plus(p->head, delays[sleeper]), want);
    uint32_t producer = rx__get32(&bell->producer);
    if (producer != w->index) return rx__less(want, rx__plus(p->head, delays[producer]));
    return rx__less(want, p->line->passed) || rx__less(want, p->head) ||
           (rx__equal(want, p->line->passed) && p->line->rank > rx__get(&bell->want_rank));
}

void rx__changed(rx_worker *w)
{
    rx__add(&w->image->changes, 1);
    for (uint32_t i = 0; i < w->workers; i++)
        if (i != w->index) rx__ring_bell(w->base, i);
}

void rx__wake(rx_worker *w)
{
    if (w->image->virtual_time) {
        rx__changed(w);
        return;
    }
    uint64_t sleepers = rx__get_fenced(&w->image->sleepers) & ~(1ull << w->index);
    for (; sleepers; sleepers &= sleepers - 1) {
        uint32_t sleeper = (uint32_t)__builtin_ctzll(sleepers);
        if (concerns(w, sleeper)) rx__ring_bell(w->base, sleeper);
    }
    rx__peers(w)->sent_to = 0;
}

void rx_abort(void *base, uint32_t code)
{
    rx__swap_if32(&rx__image(base)->abort, 0, code);
    rx__ring_all(base);
}

int rx__aborted(const rx_worker *w) { return rx__get32(&w->image->abort) != 0; }

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
        w->bell->sleeps++;
        if (ns > 0) error = futex_wait(&w->bell->bell, bell, ns);
    }
    rx__clear_bits(&w->image->sleepers, 1ull << w->index);
    return result ? result : look_around(w, error, ns) ? RX_INTERRUPTED : 0;
}

/* ---- virtual time ----------------------------------------------------------------------------------------
 *
 * The clock stands still while any worker works, and when all wait it jumps to the first time that one of them waits for. A
 * worker that looked in vain says at which count of changes it began to look: if all of them say the present one,
 * there is nothing that any of them has not seen. */

static int all_wait(rx_worker *w, uint64_t changes, int64_t *until)
{
    *until = INT64_MAX;
    for (uint32_t i = 0; i < w->workers; i++) {
        rx_bell *bell = RX_AT(rx_bell, w->base, w->image->bells) + i;
        if (rx__get_fenced(&bell->looked) < changes) return 0;
        int64_t its = (int64_t)rx__get((uint64_t *)&bell->until);
        if (its < *until) *until = its;
    }
    return 1;
}

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
        if (all_wait(w, changes, &until) && until < INT64_MAX) {
            if (rx__swap_if(&image->changes, &(uint64_t){changes}, changes + 1)) {
                rx__put_fenced((uint64_t *)&image->now, (uint64_t)until);
                rx__changed(w);
            }
        } else if (rx__get_fenced(&image->changes) == changes) {
            w->bell->sleeps++;
            int error = futex_wait(&w->bell->bell, bell, image->longest_sleep_ns);
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
        if (spins) {
            for (int i = 0; i < 8; i++) rx__pause();
            result = done(w);
        } else {
            result = sleep_until_rung(w, done);
            rx__show_core(w);
        }
        now = rx__moment(w);
        if (result) break;
        if (!spins || w->t->trace) since = note_turn(w, &why, since, now);
    }
    rx__note_wait(w, in_the_way);
    /* A wait that spinning could have covered is worth more of it, however it ended: workers that wake one another slowly
     * would go on doing so. After a longer one it is worth less, for others may need the core. */
    if (result > 0 && now - began < w->image->spin_ns) w->spin = w->spin * 2 < w->image->spin_ns ? w->spin * 2 : w->image->spin_ns;
    else w->spin = w->spin / 2 > w->image->spin_ns / 16 ? w->spin / 2 : w->image->spin_ns / 16;
    account(w, why, since, rx__moment(w));
    if (rx__take_back) rx__take_back(held);
    return result;
}
