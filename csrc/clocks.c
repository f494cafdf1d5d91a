/* Virtual time, as one worker sees it: a clock in the image that stands still while any worker works, and the worker's own
 * where that is ahead, because a reaction has slept. How the clock of the image moves on is in park.c.
 *
 * Workers that sleep have clocks of their own, so what is sent carries the sender's: a reaction reads nothing that was
 * not yet sent by its own clock. The clocks of what is under way to a tap wait beside the queue of events, which need not
 * carry them: what goes to one tap is present in the order in which it was sent. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "shared.h"

int64_t rx__virtual_now(const rx_image *image, uint32_t worker)
{
    const rx_bell *bell = RX_AT(rx_bell, image, image->bells) + worker;
    int64_t now = (int64_t)rx__get((const uint64_t *)&image->now), slept = (int64_t)rx__get((const uint64_t *)&bell->slept);
    return now > slept ? now : slept;
}

void rx__sleep_until(rx_worker *w, int64_t time)
{
    if (time > rx__now(w)) rx__put((uint64_t *)&w->bell->slept, (uint64_t)time);
}

void rx_sleep(rx_worker *w, int64_t ns) { rx__sleep_until(w, rx__add_ns(rx__now(w), ns)); }

void rx__note_clock(rx_worker *w, uint32_t tap, int64_t clock)
{
    rx__clocks *c = &w->clocks[tap];
    if (c->first + c->n == c->capacity) {
        uint32_t more = c->n < c->capacity / 2 ? c->capacity : c->capacity ? c->capacity * 2 : 16;
        if (c->first) memmove(c->items, c->items + c->first, c->n * sizeof *c->items);
        c->first = 0;
        int64_t *moved = more > c->capacity ? realloc(c->items, more * sizeof *moved) : c->items;
        if (!moved) {
            w->error = RX_NO_MEMORY;
            return;
        }
        c->items = moved;
        c->capacity = more;
    }
    c->items[c->first + c->n++] = clock;
}

void rx__show_clock(rx_worker *w, uint32_t tap)
{
    rx__clocks *c = &w->clocks[tap];
    if (!c->n) return;                               /* there was no memory */
    c->shown = c->items[c->first++];
    c->n--;
}
