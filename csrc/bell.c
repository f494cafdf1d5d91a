/* Bells: to sleep on one, to ring one, and whom a publication wakes.
 *
 * A publisher makes no system call when no worker sleeps: it stores, then loads `sleepers`; a waiter sets its bit there,
 * then looks again, behind a fence: so one of them sees the other. Who rings takes the bit away first:
 * from then on that worker counts as awake. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "peers.h"

int rx__sleep(uint32_t *word, uint32_t value, int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    return (int)syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0) == -1 ? errno : 0;
}

void rx__rouse(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

void rx__ring_bell(void *base, uint32_t worker)
{
    rx_bell *bell = RX_AT(rx_bell, base, rx__image(base)->bells) + worker;
    rx__clear_bits(&rx__image(base)->sleepers, 1ull << worker);
    rx__add32(&bell->bell, 1);
    rx__rouse(&bell->bell);
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
    rx_peers *p = rx__peers(w);
    if (p->n_links) p->to_tell |= p->sent_to & p->across ? RX_WORD | RX_MESSAGE : RX_WORD;
    uint64_t sleepers = rx__get_fenced(&w->image->sleepers) & ~(1ull << w->index | p->across);
    for (; sleepers; sleepers &= sleepers - 1) {
        uint32_t sleeper = (uint32_t)__builtin_ctzll(sleepers);
        if (concerns(w, sleeper)) rx__ring_bell(w->base, sleeper);
    }
    p->sent_to = 0;
}

void rx_abort(void *base, uint32_t code)
{
    rx__swap_if32(&rx__image(base)->abort, 0, code);
    rx__ring_all(base);
}

int rx__aborted(const rx_worker *w) { return rx__get32(&w->image->abort) != 0; }

/* ---- virtual time: whether anything goes on ----------------------------------------------------------------- */

int rx__all_wait(void *base, uint64_t changes, int64_t *until)
{
    const rx_image *image = rx__image(base);
    *until = INT64_MAX;
    for (uint32_t i = 0; i < image->workers; i++) {
        rx_bell *bell = RX_AT(rx_bell, base, image->bells) + i;
        if (rx__get_fenced(&bell->looked) < changes) return 0;
        int64_t its = (int64_t)rx__get((uint64_t *)&bell->until);
        if (its < *until) *until = its;
    }
    return 1;
}

uint32_t rx__timekeeper(const rx_image *image)
{
    uint32_t worker = 0;
    while (image->machine_of[worker] != (image->machine ? 0 : 1)) worker++;
    return worker;
}
