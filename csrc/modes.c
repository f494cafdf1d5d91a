/* Modes: which parts of a modal reactor take part, and what becomes of their time while they do not.
 *
 * A mode is active if it is its reactor's current one and its reactor lies in no mode or in an active one. Everything
 * inside of a modal reactor is on its worker, so all of this is a worker's own. Reactions of inactive modes are kept
 * out of the ready set by a mask (`enabled`). Events of timers, actions and delayed connections of a mode that becomes
 * inactive are put aside with what was left of their delay, and go on from there when it is entered with its history;
 * entered by reset, it begins again, with all modes inside of it.
 *
 * Transitions take effect between two tags: everything at the old tag still saw the old mode. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static int is_active(const rx_worker *w, uint32_t mode) { return mode == RX_NONE || w->modes[mode].active; }

static int lies_in(const rx_worker *w, uint32_t mode, uint32_t around)
{
    while (mode != RX_NONE && mode != around) mode = w->modals[w->modes[mode].modal].outer;
    return mode == around;
}

/* Outer modes have lower numbers, so one pass will do. */
static void find_active(rx_worker *w)
{
    memset(w->enabled, 0xFF, w->t->n_words * sizeof *w->enabled);
    for (uint32_t m = 0; m < w->t->n_modes; m++) {
        rx_mode *mode = &w->modes[m];
        const rx_modal *modal = &w->modals[mode->modal];
        mode->active = modal->current == m && is_active(w, modal->outer);
        if (mode->active) continue;
        for (uint32_t i = mode->fan; i < mode->fan + mode->n_fan; i++) w->enabled[w->fans[i].word] &= ~w->fans[i].mask;
    }
}

/* ---- events that are put aside ----------------------------------------------------------------------------- */

/* Pending events of modes that are not active go aside. */
static int stays_pending(void *who, rx_tag tag, const rx_event *e)
{
    rx_worker *w = who;
    if (is_active(w, w->cells[e->cell].mode)) return 1;
    int64_t left = tag.time - w->tag.time;
    rx_tag rest = rx__tag(left, left ? tag.microstep : tag.microstep - w->tag.microstep);
    if (rx__queue_push(&w->aside, rest, e->cell, e->payload)) w->error = RX_NO_MEMORY;
    return 0;
}

/* Those of modes that are active again come back. */
static int stays_aside(void *who, rx_tag left, const rx_event *e)
{
    rx_worker *w = who;
    const rx_cell *cell = &w->cells[e->cell];
    if (!is_active(w, cell->mode)) return 1;
    rx_tag tag = rx__plus(w->tag, left);
    if (cell->action != RX_NONE) w->actions[cell->action].last = tag;
    if (cell->tap != RX_NONE) w->taps[cell->tap].last = tag;
    rx__queue(w, tag, e->cell, e->payload);
    return 0;
}

typedef struct { rx_worker *w; uint32_t around; } renewal;

/* Those of a mode that begins again will not happen. */
static int lies_outside(void *who, rx_tag tag, const rx_event *e)
{
    (void)tag;
    renewal *r = who;
    if (!lies_in(r->w, r->w->cells[e->cell].mode, r->around)) return 1;
    rx__forget(r->w, e->cell, e->payload);
    return 0;
}

static void filter_soon(rx_worker *w, rx__stays *stays, void *who)
{
    uint32_t n = w->soon.n;
    w->soon.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        rx_soon one = w->soon.items[i];
        if (stays(who, rx__next_microstep(w->tag), &(rx_event){one.payload, one.cell, 0})) w->soon.items[w->soon.n++] = one;
    }
}

/* ---- entering ------------------------------------------------------------------------------------------------ */

/* As if it had never been entered: this mode, and all that lies in it. */
static void renew(rx_worker *w, uint32_t around)
{
    renewal r = {w, around};
    rx__queue_filter(&w->aside, lies_outside, &r);
    rx__queue_filter(&w->queue, lies_outside, &r);
    filter_soon(w, lies_outside, &r);
    rx_timer *timers = RX_AT(rx_timer, w->base, w->t->timers);
    for (uint32_t i = 0; i < w->t->n_timers; i++)
        if (lies_in(w, w->cells[timers[i].cell].mode, around)) timers[i].started = 0;
    for (uint32_t i = 0; i < w->t->n_actions; i++)
        if (lies_in(w, w->cells[w->actions[i].cell].mode, around)) w->actions[i].last = rx__tag(-1, 0);
    for (uint32_t i = 0; i < w->t->n_cells; i++) {
        uint32_t tap = w->cells[i].tap;
        if (tap == RX_NONE || !lies_in(w, w->cells[i].mode, around)) continue;
        w->taps[tap].last = rx__tag(0, 0);
        if (w->clocks) w->clocks[tap].n = 0;
    }
    w->modes[around].renewed = 1;
    for (uint32_t m = around + 1; m < w->t->n_modes; m++) {
        rx_modal *modal = &w->modals[w->modes[m].modal];
        if (!lies_in(w, modal->outer, around)) continue;
        modal->next = RX_NONE;
        modal->current = modal->initial;
        w->modes[m].renewed = modal->initial == m && w->modes[modal->outer].renewed;
    }
}

/* What begins with a mode: its timers at their offsets, its startup the first time, its reset if it was renewed. */
static void begin_active(rx_worker *w)
{
    rx_timer *timers = RX_AT(rx_timer, w->base, w->t->timers);
    for (uint32_t i = 0; i < w->t->n_timers; i++) {
        rx_timer *timer = &timers[i];
        if (timer->started || !is_active(w, w->cells[timer->cell].mode)) continue;
        timer->started = 1;
        rx__queue(w, rx__plus(w->tag, rx__tag(timer->first, timer->first == 0)), timer->cell, 0);
    }
    for (uint32_t m = 0; m < w->t->n_modes; m++) {
        rx_mode *mode = &w->modes[m];
        if (!mode->active) continue;
        if (!mode->entered && mode->startup != RX_NONE) rx__queue(w, rx__next_microstep(w->tag), mode->startup, 0);
        mode->entered = 1;
        if (!mode->renewed) continue;
        mode->renewed = 0;
        if (mode->reset != RX_NONE) rx__queue(w, rx__next_microstep(w->tag), mode->reset, 0);
        w->renewed[w->n_renewed++] = mode->global;
    }
}

void rx__switch_modes(rx_worker *w)
{
    w->switching = 0;
    for (uint32_t i = 0; i < w->t->n_modals; i++) {
        rx_modal *modal = &w->modals[i];
        uint32_t next = modal->next;
        if (next == RX_NONE) continue;
        modal->next = RX_NONE;
        modal->current = next;
        if (modal->by_reset) renew(w, next);
    }
    find_active(w);
    rx__queue_filter(&w->queue, stays_pending, w);
    filter_soon(w, stays_pending, w);
    rx__queue_filter(&w->aside, stays_aside, w);
    begin_active(w);
}

/* The modes that programs begin in; their startup is that of the program. */
void rx__start_modes(rx_worker *w)
{
    if (w->t->n_modes) find_active(w);
    for (uint32_t m = 0; m < w->t->n_modes; m++) {
        rx_mode *mode = &w->modes[m];
        if (!mode->active) continue;
        mode->entered = 1;
        if (mode->startup != RX_NONE) rx__queue(w, rx__tag(0, 0), mode->startup, 0);
    }
}

/* Shutdown reactions of modes that were ever entered run at the end, whether these are active or not. */
void rx__shut_modes(rx_worker *w)
{
    for (uint32_t m = 0; m < w->t->n_modes; m++) {
        const rx_mode *mode = &w->modes[m];
        if (!mode->entered || mode->shutdown == RX_NONE) continue;
        rx_cell *cell = &w->cells[mode->shutdown];
        cell->stamp = w->stamp;
        cell->payload = 0;
        for (uint32_t i = cell->fan; i < cell->fan + cell->n_fan; i++) {
            rx__ready_add(&w->ready, w->fans[i].word, w->fans[i].mask);
            w->triggered[w->fans[i].word] |= w->fans[i].mask;
        }
    }
}

/* ---- asked for by reactions ----------------------------------------------------------------------------------- */

void rx_set_mode(rx_worker *w, uint32_t mode, int by_reset)
{
    rx_modal *modal = &w->modals[w->modes[mode].modal];
    modal->next = mode;                            /* of several in one tag, the last */
    modal->by_reset = (uint32_t)by_reset;
    w->switching = 1;
}

uint32_t rx_renewed(rx_worker *w, uint32_t *modes)
{
    uint32_t n = w->n_renewed;
    memcpy(modes, w->renewed, n * sizeof *modes);
    w->n_renewed = 0;
    return n;
}
