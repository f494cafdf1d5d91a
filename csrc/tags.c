/* How a tag begins and ends: timers, actions and messages become present here. */
#include "engine.h"

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

static void note_value(rx_worker *w, rx_cell *cell, uint64_t payload)
{
    if (w->record >= 0 && cell->action != RX_NONE && w->actions[cell->action].physical) rx__log_action(w, cell);
    if (rx__given_back(cell, payload)) {
        uint32_t number = (uint32_t)(cell - w->cells);
        w->holds[w->n_holds++] = number;
        w->held[number] = 1;
    }
    if (w->clocks && cell->tap != RX_NONE) rx__show_clock(w, cell->tap);
}

static inline void appear(rx_worker *w, rx_cell *cell, uint64_t payload)
{
    cell->stamp = w->stamp;
    cell->payload = payload;
    rx__trigger(w, cell);
    if (cell->period) rx__queue(w, rx__tag(rx__add_ns(w->tag.time, cell->period), 0), (uint32_t)(cell - w->cells), 0);
    else if (payload || cell->tap != RX_NONE || w->record >= 0) note_value(w, cell, payload);
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
    uint32_t n_soon = w->soon.n;                     /* if there are any, [g] is their microstep */
    if (n_soon) {                                    /* swap: what is scheduled now is for the microstep after this */
        rx_soons due = w->soon;
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
    w->bell->tags++;
    if (!w->image->fast) note_lag(w);
    while (w->queue.n && rx__equal(w->queue.heap[0].tag, g)) {
        for (uint32_t at = rx__queue_pop(&w->queue); at;) {
            rx_event e = rx__queue_take(&w->queue, at);
            at = e.next;
            take(w, e.cell, e.payload);
        }
    }
    uint32_t cell;
    uint64_t payload;
    while (w->coming && rx__next_replayed(w, &cell, &payload)) take(w, cell, payload);
    for (uint32_t i = 0; i < n_soon; i++) take(w, w->soon_next.items[i].cell, w->soon_next.items[i].payload);
    if (rx__equal(g, w->stop)) {
        take(w, w->t->shutdown, 0);
        rx__shut_modes(w);
    }
}

void rx__end_tag(rx_worker *w)
{
    for (uint32_t i = 0; i < w->n_holds; i++) rx__give_back(w, w->holds[i]);
    w->n_holds = 0;
    w->in_tag = 0;
    if (rx__equal(w->tag, w->stop)) w->finished = 1;
    if (w->t->trace) rx__show_spans(w);
}

/* So many tags in which nothing of the caller's runs, and it looks for signals and lets other threads run. */
enum { TAGS_ALONE = 1 << 12 };

int rx__aside(rx_worker *w)
{
    if (w->n_renewed) {                              /* what they keep is made first */
        if (w->pausing) w->pausing = RX_DUE;
        return RX_RENEWED;
    }
    if (w->pausing) {
        w->pausing = 0;
        return RX_PAUSED;
    }
    return ++w->tags_alone < TAGS_ALONE || w->finished ? 0 : RX_INTERRUPTED;
}

int rx__runaway(rx_worker *w)
{
    if (w->tag.microstep < w->runaway) return 0;
    w->runaway = UINT64_MAX;
    return 1;
}
