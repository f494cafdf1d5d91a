/* What is pending, and how a tag begins and ends: timers, actions and messages become present here. */
#include <stdlib.h>
#include <string.h>

#include "shared.h"
#include "tag.h"
#include "worker.h"

static rx_tag next_from_outside(const rx_worker *w)
{
    if (w->replayed < w->t->n_replayed) return RX_AT(rx_replayed, w->base, w->t->replayed)[w->replayed].tag;
    int64_t time = RX_AT(rx_injection, w->base, w->t->injections)[w->injected].time;
    return rx__greatest(rx__tag(time, 0), rx__next_microstep(w->tag));
}

rx_tag rx__own_next(const rx_worker *w)
{
    rx_tag next = rx__least(rx__heap_least(&w->heap), w->stop);
    if (w->coming) next = rx__least(next, next_from_outside(w));
    return w->soon.n ? rx__least(next, rx__next_microstep(w->tag)) : next;
}

/* Values of logical actions and of messages are given back when the tag is over; a physical action's is the sender's. */
static inline int given_back(const rx_worker *w, const rx_cell *cell, uint64_t payload)
{
    return cell->tap != RX_NONE || (payload & RX_OUTSIDE) ||
           (payload && !(cell->action != RX_NONE && w->actions[cell->action].physical));
}

void rx__forget(rx_worker *w, uint32_t cell, uint64_t payload)
{
    if (given_back(w, &w->cells[cell], payload)) rx__release(w, w->cells[cell].tap, payload);
}

static void hold(rx_worker *w, uint32_t tap, uint64_t payload)
{
    if (w->n_holds == w->holds_capacity) {
        uint32_t more = w->holds_capacity ? w->holds_capacity * 2 : 64;
        rx__hold *moved = realloc(w->holds, more * sizeof *moved);
        if (!moved) {
            w->error = RX_NO_MEMORY;
            return;
        }
        w->holds = moved;
        w->holds_capacity = more;
    }
    w->holds[w->n_holds++] = (rx__hold){payload, tap, 0};
}

static void appear(rx_worker *w, rx_cell *cell, uint64_t payload)
{
    cell->stamp = w->stamp;
    cell->payload = payload;
    rx__trigger(w, cell);
    if (w->record >= 0 && cell->action != RX_NONE && w->actions[cell->action].physical) rx__log_action(w, cell);
    if (given_back(w, cell, payload)) hold(w, cell->tap, payload);
    if (w->clocks && cell->tap != RX_NONE) rx__show_clock(w, cell->tap);
    if (cell->period) rx__queue(w, rx__tag(rx__add_ns(w->tag.time, cell->period), 0), (uint32_t)(cell - w->cells), 0);
}

void rx__queue(rx_worker *w, rx_tag tag, uint32_t cell, uint64_t payload)
{
    int never = rx__is_forever(tag);                 /* the end of time does not come: nothing is pending there */
    if (never || rx__less(w->stop, tag)) {           /* beyond the stop tag nothing happens, but it was to */
        w->beyond += !never;
        rx__forget(w, cell, payload);
        return;
    }
    int error;
    if (rx__equal(tag, rx__next_microstep(w->tag)))
        error = rx__soon_push(&w->soon, cell, payload);
    else
        error = rx__heap_push(&w->heap, (rx_event){tag, w->order++ << RX_CELL_BITS | cell, payload});
    if (error) w->error = error;
}

/* Something for [cell] that was meant for the tag [nominal]. Where the tag has it already, or is over (its producer
 * had more than one for it), it happens one microstep later. */
void rx__deliver(rx_worker *w, uint32_t number, rx_tag nominal, uint64_t payload)
{
    rx_cell *cell = &w->cells[number];
    if (w->in_tag && rx__equal(nominal, w->tag) && cell->stamp != w->stamp)
        appear(w, cell, payload);
    else if (rx__less(w->tag, nominal))
        rx__queue(w, nominal, number, payload);
    else
        rx__queue(w, rx__next_microstep(w->tag), number, payload);
}

/* Takes one due event: present now, or moved on if the cell has one already. */
static inline void take(rx_worker *w, uint32_t number, uint64_t payload)
{
    rx_cell *cell = &w->cells[number];
    if (cell->stamp != w->stamp)
        appear(w, cell, payload);
    else
        rx__queue(w, rx__next_microstep(w->tag), number, payload);
}

static void note_lag(rx_worker *w)
{
    int64_t lag = rx__now(w) - w->tag.time;
    if (lag <= 0) return;
    w->bell->lag_ns += (uint64_t)lag;
    if ((uint64_t)lag > w->bell->max_lag_ns) w->bell->max_lag_ns = (uint64_t)lag;
}

void rx__start_tag(rx_worker *w, rx_tag g)
{
    int same_time = g.time == w->tag.time && g.microstep == w->tag.microstep + 1;
    rx_soons due = {0};
    if (same_time) {                                 /* swap: what is scheduled now is for the microstep after this */
        due = w->soon;
        w->soon = w->soon_next;
        w->soon.n = 0;
        w->soon_next = due;
    }
    w->tag = g;
    *w->now = g;
    w->stamp++;
    w->tag_word = rx__mix(rx__mix(0, (uint64_t)g.time), g.microstep);
    w->in_tag = 1;
    w->ready.at = 0;
    w->roomy = 0;
    w->bell->tags++;
    if (!w->image->fast) note_lag(w);
    while (w->heap.n && rx__equal(w->heap.items[0].tag, g)) {
        rx_event e = w->heap.items[0];
        uint32_t number = rx__event_cell(&e);
        rx__heap_pop(&w->heap);
        take(w, number, e.payload);
    }
    uint32_t cell;
    uint64_t payload;
    while (w->coming && rx__next_replayed(w, &cell, &payload)) take(w, cell, payload);
    for (uint32_t i = 0; i < due.n; i++) take(w, due.items[i].cell, due.items[i].payload);
    if (rx__equal(g, w->stop)) {
        take(w, w->t->shutdown, 0);
        rx__shut_modes(w);
    }
}

void rx__end_tag(rx_worker *w)
{
    for (uint32_t i = 0; i < w->n_unsent; i++) rx__commit(w, w->unsent[i], w->sources[w->unsent[i]].clock);
    w->n_unsent = 0;
    for (uint32_t i = 0; i < w->n_holds; i++) rx__release(w, w->holds[i].tap, w->holds[i].payload);
    w->n_holds = 0;
    w->in_tag = 0;
    if (rx__equal(w->tag, w->stop)) w->finished = 1;
    else if (w->switching) {
        rx__inbox_drain(w);                          /* what was scheduled in the old modes belongs to them */
        rx__switch_modes(w);
    }
}

/* ---- actions --------------------------------------------------------------------------------------------- */

/* Takes the event back that came last of those that wait for [tag], or gives it another payload. 0: there is none, as it was beyond the stop. */
static int recall(rx_worker *w, uint32_t cell, rx_tag tag, const uint64_t *instead)
{
    uint64_t *payload = NULL, order = 0;
    uint32_t at = 0;
    int soon = rx__equal(tag, rx__next_microstep(w->tag));
    for (uint32_t i = soon ? w->soon.n : 0; i-- && !payload;)
        if (w->soon.items[i].cell == cell) payload = &w->soon.items[at = i].payload;
    soon = payload != NULL;
    for (uint32_t i = 0; i < w->heap.n && !soon; i++) {
        rx_event *e = &w->heap.items[i];
        if (rx__event_cell(e) == cell && rx__equal(e->tag, tag) && (!payload || e->order > order)) payload = &e->payload, order = e->order, at = i;
    }
    if (!payload) return 0;
    rx__forget(w, cell, *payload);
    if (instead) *payload = *instead;
    else if (!soon) rx__heap_remove(&w->heap, at);
    else memmove(&w->soon.items[at], &w->soon.items[at + 1], (--w->soon.n - at) * sizeof *w->soon.items);
    return 1;
}

/* Queues an event of an action, or does what its policy says when it is too early after the last one. What is beyond
 * the stop counts as accepted, for it depends on timing when a worker hears of the stop. 0: the payload is not kept. */
int rx__accept(rx_worker *w, uint32_t number, rx_tag tag, uint64_t payload)
{
    rx_action *a = &w->actions[number];
    uint32_t mode = w->cells[a->cell].mode;
    if (mode != RX_NONE && !w->modes[mode].active) { /* from outside: nobody is there to hear it */
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
    int kept = !rx__is_forever(tag) && !rx__less(w->stop, tag);
    rx__queue(w, tag, a->cell, payload);
    return kept;
}

void rx__schedule(rx_worker *w, uint32_t number, int64_t delay, uint64_t payload)
{
    int64_t total = rx__add_ns(w->actions[number].min_delay, delay);
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
        uint64_t payload = one->size ? rx__copy(w->base + one->data, one->size) : 0;
        if (one->size && !payload) w->error = RX_NO_MEMORY;
        rx__accept(w, one->action, rx__greatest(rx__tag(time, 0), rx__next_microstep(w->tag)), payload);
    }
    return taken;
}

void rx__start_events(rx_worker *w)
{
    rx_timer *timers = RX_AT(rx_timer, w->base, w->t->timers);
    rx__queue(w, rx__tag(0, 0), w->t->startup, 0);
    rx__start_modes(w);
    for (uint32_t i = 0; i < w->t->n_timers; i++) {
        uint32_t mode = w->cells[timers[i].cell].mode;
        timers[i].started = mode == RX_NONE || w->modes[mode].active;
        if (timers[i].started) rx__queue(w, rx__tag(timers[i].first, 0), timers[i].cell, 0);
    }
}
