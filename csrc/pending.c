/* What is pending: events of timers, actions and messages, until their tags come. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static rx_tag next_from_outside(const rx_worker *w)
{
    if (w->replayed < w->t->n_replayed) return RX_AT(rx_replayed, w->base, w->t->replayed)[w->replayed].tag;
    int64_t time = RX_AT(rx_injection, w->base, w->t->injections)[w->injected].time;
    return rx__greatest(rx__tag(time, 0), rx__next_microstep(w->tag));
}

rx_tag rx__own_next(const rx_worker *w)
{
    rx_tag next = w->queue.n ? rx__least(w->queue.heap[0].tag, w->stop) : w->stop;
    if (w->coming) next = rx__least(next, next_from_outside(w));
    return w->soon.n ? rx__least(next, rx__next_microstep(w->tag)) : next;
}

uint64_t rx__idleness(const rx_worker *w)
{
    if (rx__idle(w)) return RX_IDLE;
    int injected = w->coming && w->replayed == w->t->n_replayed && !w->soon.n;
    rx_tag next = w->queue.n ? rx__least(w->queue.heap[0].tag, w->stop) : w->stop;
    return injected && rx__less(next_from_outside(w), next) ? RX_EXPECTS : RX_BUSY;
}

void rx__forget(rx_worker *w, uint32_t cell, uint64_t payload)
{
    if (rx__given_back(&w->cells[cell], payload)) rx__release(w, w->cells[cell].tap, payload);
}

int rx__queue(rx_worker *w, rx_tag tag, uint32_t cell, uint64_t payload)
{
    int never = rx__is_forever(tag);                 /* the end of time does not come: nothing is pending there */
    int beyond = rx__less(w->stop, tag) && w->cells[cell].mode == RX_NONE;         /* its mode may still take an event back */
    if (never || beyond) {                           /* beyond the stop tag nothing happens, but it was to */
        w->beyond += !never;
        rx__forget(w, cell, payload);
        return 0;
    }
    int error;
    if (tag.time == w->tag.time && tag.microstep == w->tag.microstep + 1)
        error = rx__soon_push(&w->soon, cell, payload);
    else
        error = rx__queue_push(&w->queue, tag, cell, payload);
    if (error) w->error = error;
    return 1;
}

/* Takes the event back that came last of those that wait for [tag], or gives it another payload. 0: there is none, as it
 * was beyond the stop. */
static int recall(rx_worker *w, uint32_t cell, rx_tag tag, const uint64_t *instead)
{
    uint64_t *payload = NULL;
    uint32_t at = 0;
    int soon = rx__equal(tag, rx__next_microstep(w->tag));
    for (uint32_t i = soon ? w->soon.n : 0; i-- && !payload;)
        if (w->soon.items[i].cell == cell) payload = &w->soon.items[at = i].payload;
    soon = payload != NULL;
    if (!soon) payload = rx__queue_last(&w->queue, tag, cell);
    if (!payload) return 0;
    rx__forget(w, cell, *payload);
    if (instead) *payload = *instead;
    else if (!soon) rx__queue_remove_last(&w->queue, tag, cell);
    else memmove(&w->soon.items[at], &w->soon.items[at + 1], (--w->soon.n - at) * sizeof *w->soon.items);
    return 1;
}

/* Queues an event of an action, or does what its policy says when it is too early after the last one. What is beyond
 * the stop counts as accepted, for it depends on timing when a worker hears of the stop. 0: the payload is not kept. */
int rx__accept(rx_worker *w, uint32_t number, rx_tag tag, uint64_t payload)
{
    rx_action *a = &w->actions[number];
    uint32_t mode = w->cells[a->cell].mode;
    if (mode != RX_NONE && !w->modes[mode].active) { /* from outside: no reaction is there to hear it */
        rx__forget(w, a->cell, payload);
        return 0;
    }
    if (a->min_spacing >= 0) {
        int64_t earliest = rx__add_ns(a->last.time, a->min_spacing);
        int early = a->last.time >= 0 && (earliest > tag.time || (earliest == tag.time && !a->min_spacing));
        int pending = rx__less(w->tag, a->last);
        if (early && (a->policy == RX_DROP || (a->policy == RX_REPLACE && pending))) {
            int kept = a->policy == RX_REPLACE && recall(w, a->cell, a->last, &payload);
            if (!kept) rx__forget(w, a->cell, payload);
            return kept;
        }
        if (early && a->policy == RX_UPDATE && pending) {
            if (!recall(w, a->cell, a->last, NULL) && rx__less(w->stop, a->last)) w->beyond--;
        } else if (early) {
            tag = rx__greatest(rx__tag(earliest, 0), rx__next_microstep(rx__greatest(w->tag, a->last)));
        }
        if (!rx__is_forever(tag)) a->last = tag;
    }
    return rx__queue(w, tag, a->cell, payload);
}

void rx__schedule(rx_worker *w, uint32_t number, int64_t delay, uint64_t payload)
{
    int64_t total = rx__add_ns(w->actions[number].min_delay, delay);
    if (w->journal) rx__note_scheduled(w, &w->actions[number], total);
    rx__accept(w, number, rx__plus(w->tag, rx__tag(total, total == 0)), payload);
}

/* A number for a value; 0: no memory. */
static uint64_t number_of_value(rx_worker *w)
{
    if (!w->n_free) {
        /* room to give every number back, then a new one */
        if (w->values + 1 > w->free_capacity) {
            uint32_t more = w->free_capacity ? w->free_capacity * 2 : 64;
            uint64_t *moved = realloc(w->free_values, more * sizeof *moved);
            if (!moved) {
                w->error = RX_NO_MEMORY;
                return 0;
            }
            w->free_values = moved;
            w->free_capacity = more;
        }
        w->free_values[w->n_free++] = ++w->values;
    }
    return w->free_values[--w->n_free];
}

/* 0, or the number under which the caller keeps the value until the event is over. */
int64_t rx_schedule(rx_worker *w, uint32_t number, int64_t delay, int has_value)
{
    const rx_action *a = &w->actions[number];
    if (!(w->doors[a->door] & RX_WRITABLE)) return RX_REFUSED;
    if (w->failed) return RX_NOT_KEPT;
    uint64_t payload = has_value ? number_of_value(w) : 0;
    if (has_value && !payload) return RX_NOT_KEPT;
    int64_t total = rx__add_ns(a->min_delay, delay);
    if (w->journal) rx__note_scheduled(w, a, total);
    return rx__accept(w, number, rx__plus(w->tag, rx__tag(total, total == 0)), payload) ? (int64_t)payload : RX_NOT_KEPT;
}

/* What is known to come from outside and is due now; the number of such events. */
int rx__inject(rx_worker *w)
{
    const rx_injection *all = RX_AT(rx_injection, w->base, w->t->injections);
    int taken = 0;
    for (; w->injected < w->t->n_injections && all[w->injected].time <= rx__now(w); taken++) {
        const rx_injection *one = &all[w->injected++];
        w->coming--;
        int64_t time = rx__add_ns(one->time, w->actions[one->action].min_delay);
        uint64_t payload = one->size ? rx__copy(w->base + one->data, one->size, RX_PICKLED) : 0;
        if (one->size && !payload) w->error = RX_NO_MEMORY;
        rx__accept(w, one->action, rx__greatest(rx__tag(time, 0), rx__next_microstep(w->tag)), payload);
    }
    return taken;
}
