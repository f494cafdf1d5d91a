/* The engine of one worker. rx_next is called by whoever runs the reactions, in a loop: it finishes what has just run
 * (which declared effects are present? whom do they trigger?), finds what comes next, and returns it. Between two
 * tags it takes the next events; when there is nothing to do it waits.
 *
 * There are two ways through a tag. A worker that is alone only looks at its own queue and takes a whole level's word
 * of ready reactions at once. With others, reactions that read channels are looked at in every tag, triggered or not,
 * because what triggers them may still be on its way; what is done is published as it is done. */
#include "worker.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "shared.h"
#include "tag.h"

#define RUNAWAY_MICROSTEPS 10000000ull
#define HEAVY_NS 2000          /* a reaction that takes longer is worth two clock readings each time */

/* ---- opening and closing -------------------------------------------------------------------------------- */

static void *zeroed(uint64_t n, size_t size) { return calloc(n ? n : 1, size); }

rx_worker *rx_open(void *base, uint32_t index)
{
    rx_worker *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    rx_image *image = rx__image(base);
    rx_tables *t = RX_AT(rx_tables, base, image->tables) + index;
    uint32_t n = image->workers;
    w->base = base;
    w->image = image;
    w->t = t;
    w->index = index;
    w->workers = n;
    w->solo = n == 1;
    w->line = rx__line(base, index);
    w->bell = RX_AT(rx_bell, base, image->bells) + index;
    w->reactions = RX_AT(rx_reaction, base, t->reactions);
    w->cells = RX_AT(rx_cell, base, t->cells);
    w->fans = RX_AT(rx_fan, base, t->fans);
    w->lists = RX_AT(uint32_t, base, t->lists);
    w->sources = RX_AT(rx_source, base, t->sources);
    w->subs = RX_AT(rx_sub, base, image->subs);
    w->taps = RX_AT(rx_tap, base, t->taps);
    w->waits = RX_AT(rx_wait, base, t->waits);
    w->stop_waits = RX_AT(rx_wait, base, t->stop_waits);
    w->actions = RX_AT(rx_action, base, t->actions);
    w->first_of_word = RX_AT(uint32_t, base, t->first_of_word);
    w->visit_words = RX_AT(uint64_t, base, t->visit_words);
    w->door_cells = RX_AT(uint32_t, base, t->door_cells);
    w->doors = RX_AT(uint8_t, base, t->doors);
    w->where = RX_AT(uint64_t, base, t->where);
    w->low = RX_AT(uint64_t, base, t->low);
    w->batch = RX_AT(uint32_t, base, t->batch);
    w->stats = RX_AT(rx_stats, base, t->stats);
    w->now = RX_AT(rx_tag, base, t->now);
    w->current = RX_AT(int64_t, base, t->current);
    w->digests = RX_AT(uint64_t, base, image->digests);
    w->delays = RX_AT(rx_tag, base, image->delays);
    w->direct = w->delays + (uint64_t)n * n;
    w->tag = rx__tag(-1, 0);
    w->stop = image->timeout;
    w->head = rx__tag(0, 0);
    w->bound = rx__tag(-1, 0);
    w->until_sample = 1;
    w->spin = image->spin_ns;
    w->dice = 1;
    w->runaway = image->max_microsteps ? image->max_microsteps : RUNAWAY_MICROSTEPS;
    w->ready.n_summary = (t->n_words + 63) / 64;
    w->ready.words = zeroed(t->n_words, sizeof(uint64_t));
    w->ready.summary = zeroed(w->ready.n_summary, sizeof(uint64_t));
    w->triggered = zeroed(t->n_words, sizeof(uint64_t));
    w->partial = zeroed(t->n_reactions, sizeof(uint64_t));
    w->heavy = zeroed(t->n_reactions, 1);            /* set below: the first time is always measured */
    w->calls = zeroed(t->n_reactions, sizeof(rx__call));
    w->sends = zeroed(t->n_reactions, 1);
    w->unsent = zeroed(t->n_sources, sizeof(uint32_t));
    w->in = zeroed(n, sizeof(rx__ring *));
    w->out = zeroed(n, sizeof(rx__ring *));
    if (!w->ready.words || !w->ready.summary || !w->triggered || !w->partial || !w->heavy || !w->calls || !w->sends || !w->unsent || !w->in ||
        !w->out) {
        rx_close(w);
        return NULL;
    }
    memset(w->heavy, 1, t->n_reactions);
    const uint64_t *rings = RX_AT(uint64_t, base, image->rings);
    for (uint32_t i = 0; i < n; i++) {
        w->in[i] = rings[i * n + index] ? RX_AT(rx__ring, base, rings[i * n + index]) : NULL;
        w->out[i] = rings[index * n + i] ? RX_AT(rx__ring, base, rings[index * n + i]) : NULL;
        rx_tag none = {0, 0};
        w->mate[i] = i != index && rx__equal(w->delays[i * n + index], none) && rx__equal(w->delays[index * n + i], none);
        w->n_mates += w->mate[i];
        w->may[i] = w->passed[i] = rx__tag(-1, 0);
    }
    for (uint32_t i = 0; i < t->n_reactions; i++) {
        const rx_reaction *r = &w->reactions[i];
        for (uint32_t k = 0; k < r->n_ports; k++) {
            uint32_t source = w->cells[w->door_cells[w->lists[r->writes + k]]].source;
            if (source == RX_NONE) continue;
            const rx_source *s = &w->sources[source];
            for (uint32_t j = s->subs; j < s->subs + s->n_subs; j++) w->sends[i] |= w->subs[w->lists[j]].consumer != index;
        }
    }
    return w;
}

void rx_close(rx_worker *w)
{
    if (!w) return;
    for (uint32_t i = 0; i < w->n_holds; i++)
        if (w->holds[i].payload & RX_OUTSIDE) free((void *)(uintptr_t)(w->holds[i].payload & ~RX_OUTSIDE));
    for (uint32_t i = 0; i < w->heap.n; i++)
        if (w->heap.items[i].payload & RX_OUTSIDE) free((void *)(uintptr_t)(w->heap.items[i].payload & ~RX_OUTSIDE));
    for (uint32_t i = 0; i < w->soon.n; i++)
        if (w->soon.items[i].payload & RX_OUTSIDE) free((void *)(uintptr_t)(w->soon.items[i].payload & ~RX_OUTSIDE));
    if (w->calls)
        for (uint32_t i = 0; i < w->t->n_reactions; i++) {
            free(w->calls[i].data);
            free(w->calls[i].present);
        }
    free(w->ready.words);
    free(w->ready.summary);
    free(w->triggered);
    free(w->partial);
    free(w->heavy);
    free(w->calls);
    free(w->sends);
    free(w->unsent);
    free(w->in);
    free(w->out);
    free(w->heap.items);
    free(w->soon.items);
    free(w->soon_next.items);
    free(w->holds);
    free(w->free_values);
    free(w);
}

void rx_view(rx_worker *w, rx_worker_view *view)
{
    *view = (rx_worker_view){w->doors, w->where, w->low, w->batch, w->now, w->current};
}

int64_t rx_clock_ns(void) { return rx__clock(); }
int64_t rx_physical_time(rx_worker *w) { return w->started ? rx__clock() - w->image->start_ns : 0; }

void rx_set_native(rx_worker *w, uint32_t reaction, uint64_t function, uint64_t state)
{
    const rx_reaction *r = &w->reactions[reaction];
    rx__call *call = &w->calls[reaction];
    uint32_t n = r->n_reads + r->n_writes;
    free(call->data);
    free(call->present);
    call->data = zeroed(n, sizeof(void *));
    call->present = zeroed(n, 1);
    call->function = (rx__native)(uintptr_t)function;
    call->state = (void *)(uintptr_t)state;
    if (!call->data || !call->present) w->error = RX_NO_MEMORY;
}

/* ---- the digest (docs/internals.md, "The digest") --------------------------------------------------------- */

static inline uint64_t mix(uint64_t h, uint64_t x)
{
    uint64_t y = (h ^ x) * 0x9FB21C651E98DF25ull;
    return y ^ (y >> 32);
}

static inline uint64_t with_port(uint64_t p, uint32_t k) { return p * 0x100000001B3ull + (k + 1); }

static inline void record(rx_worker *w, const rx_reaction *r, uint64_t p, int late)
{
    uint64_t e = w->tag_word + (r->number + 1) * 0x9E3779B97F4A7C15ull + p + (late ? 0xD6E8FEB86659FD93ull : 0);
    w->digests[r->reactor] = mix(w->digests[r->reactor], e);
}

/* ---- events --------------------------------------------------------------------------------------------- */

rx_tag rx__own_next(const rx_worker *w)
{
    rx_tag next = rx__least(rx__heap_least(&w->heap), w->stop);
    return w->soon.n ? rx__least(next, rx__next_microstep(w->tag)) : next;
}

static void queue(rx_worker *w, rx_tag tag, uint32_t cell, uint64_t payload);

static void trigger(rx_worker *w, const rx_cell *cell)
{
    for (const rx_fan *f = w->fans + cell->fan, *end = f + cell->n_fan; f < end; f++) {
        rx__ready_add(&w->ready, f->word, f->mask);
        w->triggered[f->word] |= f->mask;
    }
}

/* Values of logical actions and of messages are given back when the tag is over; a physical action's is the sender's. */
static inline int given_back(const rx_worker *w, const rx_cell *cell, uint64_t payload)
{
    return cell->tap != RX_NONE || (payload & RX_OUTSIDE) ||
           (payload && !(cell->action != RX_NONE && w->actions[cell->action].physical));
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
    trigger(w, cell);
    if (given_back(w, cell, payload)) hold(w, cell->tap, payload);
    if (cell->period) queue(w, rx__tag(rx__add_ns(w->tag.time, cell->period), 0), (uint32_t)(cell - w->cells), 0);
}

static void queue(rx_worker *w, rx_tag tag, uint32_t cell, uint64_t payload)
{
    if (rx__less(w->stop, tag)) {                    /* beyond the stop tag nothing happens, but it was to */
        w->beyond = 1;
        if (given_back(w, &w->cells[cell], payload)) rx__release(w, w->cells[cell].tap, payload);
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
        queue(w, nominal, number, payload);
    else
        queue(w, rx__next_microstep(w->tag), number, payload);
}

/* Takes one due event: present now, or moved on if the cell has one already. */
static inline void take(rx_worker *w, uint32_t number, uint64_t payload)
{
    rx_cell *cell = &w->cells[number];
    if (cell->stamp != w->stamp)
        appear(w, cell, payload);
    else
        queue(w, rx__next_microstep(w->tag), number, payload);
}

static void start_tag(rx_worker *w, rx_tag g)
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
    w->tag_word = mix(mix(0, (uint64_t)g.time), g.microstep);
    w->in_tag = 1;
    w->ready.at = 0;
    w->bell->tags++;
    while (w->heap.n && rx__equal(w->heap.items[0].tag, g)) {
        rx_event e = w->heap.items[0];
        uint32_t number = rx__event_cell(&e);
        rx__heap_pop(&w->heap);
        take(w, number, e.payload);
    }
    for (uint32_t i = 0; i < due.n; i++) take(w, due.items[i].cell, due.items[i].payload);
    if (rx__equal(g, w->stop)) take(w, w->t->shutdown, 0);
}

static void end_tag(rx_worker *w)
{
    for (uint32_t i = 0; i < w->n_unsent; i++) rx__commit(w, w->unsent[i]);
    w->n_unsent = 0;
    for (uint32_t i = 0; i < w->n_holds; i++) rx__release(w, w->holds[i].tap, w->holds[i].payload);
    w->n_holds = 0;
    w->in_tag = 0;
    if (rx__equal(w->tag, w->stop)) w->finished = 1;
}

static void schedule(rx_worker *w, uint32_t number, int64_t delay, uint64_t payload)
{
    const rx_action *a = &w->actions[number];
    int64_t total = rx__add_ns(a->min_delay, delay);
    queue(w, rx__plus(w->tag, rx__tag(total, total == 0)), a->cell, payload);
}

/* 0, or the number under which the caller keeps the value until the event is over. */
int64_t rx_schedule(rx_worker *w, uint32_t number, int64_t delay, int has_value)
{
    const rx_action *a = &w->actions[number];
    if (!(w->doors[a->door] & RX_WRITABLE)) return RX_REFUSED;
    int64_t total = rx__add_ns(a->min_delay, delay);
    if (w->failed || rx__less(w->stop, rx__plus(w->tag, rx__tag(total, total == 0)))) {
        w->beyond = 1;
        return RX_BEYOND_STOP;
    }
    uint64_t payload = 0;
    if (has_value) {
        if (!w->n_free) {
            /* room to give every number back, then a new one */
            if (w->values + 1 > w->free_capacity) {
                uint32_t more = w->free_capacity ? w->free_capacity * 2 : 64;
                uint64_t *moved = realloc(w->free_values, more * sizeof *moved);
                if (!moved) {
                    w->error = RX_NO_MEMORY;
                    return RX_BEYOND_STOP;
                }
                w->free_values = moved;
                w->free_capacity = more;
            }
            w->free_values[w->n_free++] = ++w->values;
        }
        payload = w->free_values[--w->n_free];
    }
    schedule(w, number, delay, payload);
    return (int64_t)payload;
}

static void start_events(rx_worker *w)
{
    rx_timer *timers = RX_AT(rx_timer, w->base, w->t->timers);
    queue(w, rx__tag(0, 0), w->t->startup, 0);
    for (uint32_t i = 0; i < w->t->n_timers; i++) queue(w, rx__tag(timers[i].first, 0), timers[i].cell, 0);
}

/* ---- running -------------------------------------------------------------------------------------------- */

/* Opens the doors of what a reaction declared and returns its part of the digest. */
static inline uint64_t open_doors(rx_worker *w, const rx_reaction *r)
{
    const uint32_t *reads = w->lists + r->reads, *writes = w->lists + r->writes;
    uint64_t p = 0, stamp = w->stamp;
    for (uint32_t k = 0; k < r->n_reads; k++) {
        uint32_t door = reads[k];
        const rx_cell *cell = &w->cells[w->door_cells[door]];
        if (cell->stamp == stamp) {
            w->doors[door] = RX_OPEN | RX_PRESENT;
            w->where[door] = cell->payload;
            p = with_port(p, k);
        } else {
            w->doors[door] = RX_OPEN;
        }
    }
    for (uint32_t k = 0; k < r->n_ports; k++) {
        uint32_t door = writes[k];
        const rx_cell *cell = &w->cells[w->door_cells[door]];
        w->doors[door] = (uint8_t)(RX_OPEN | RX_WRITABLE | (cell->stamp == stamp ? RX_PRESENT : 0));
        if (cell->source != RX_NONE) {
            rx_source *s = &w->sources[cell->source];
            if (s->mode == RX_SLOTS) {
                w->where[door] = s->slot;
            } else if (s->mode == RX_SEQUENCE) {
                uint64_t low = UINT64_MAX;
                for (uint32_t i = s->subs; i < s->subs + s->n_subs; i++) {
                    uint64_t released = rx__get(RX_AT(uint64_t, w->base, w->subs[w->lists[i]].released));
                    if (released < low) low = released;
                }
                w->low[door] = low;
                w->where[door] = s->sent;
            }
        }
    }
    for (uint32_t k = r->n_ports; k < r->n_writes; k++) w->doors[writes[k]] |= RX_WRITABLE;
    return p;
}

/* 1 if every slot that the reaction may write is chosen; the first that cannot be is left in wants_room. */
static int slots_chosen(rx_worker *w, const rx_reaction *r)
{
    const uint32_t *writes = w->lists + r->writes;
    for (uint32_t k = 0; k < r->n_ports; k++) {
        uint32_t number = w->cells[w->door_cells[writes[k]]].source;
        if (number == RX_NONE) continue;
        rx_source *s = &w->sources[number];
        if (s->mode != RX_SLOTS || s->fresh == w->stamp) continue;
        if (!rx__room(w, s)) {
            w->wants_room = number;
            return 0;
        }
        s->fresh = w->stamp;
    }
    return 1;
}

static int room_now(rx_worker *w)
{
    if (rx__room(w, &w->sources[w->wants_room])) return 1;
    rx__drain(w);
    return 0;
}

/* What a reaction set appears and triggers; what has no other writer left is sent. */
static inline void close_doors(rx_worker *w, const rx_reaction *r, uint32_t index, uint64_t p, int late)
{
    const uint32_t *reads = w->lists + r->reads, *writes = w->lists + r->writes;
    for (uint32_t k = 0; k < r->n_ports; k++) {
        uint32_t door = writes[k];
        uint8_t state = w->doors[door];
        w->doors[door] = 0;
        if (!(state & RX_PRESENT)) continue;
        rx_cell *cell = &w->cells[w->door_cells[door]];
        if (!(r->flags & RX_STOPS) || k + 1 < r->n_ports) p = with_port(p, r->n_reads + k);
        if (cell->stamp != w->stamp) {
            cell->stamp = w->stamp;
            trigger(w, cell);
            if (cell->source != RX_NONE) {
                rx_source *s = &w->sources[cell->source];
                cell->payload = s->mode == RX_SLOTS ? s->slot : s->mode == RX_SEQUENCE ? s->sent : 0;
                if (s->writer == index) rx__commit(w, cell->source);
                else w->unsent[w->n_unsent++] = cell->source;
            }
        }
    }
    for (uint32_t k = r->n_ports; k < r->n_writes; k++) w->doors[writes[k]] = 0;
    for (uint32_t k = 0; k < r->n_reads; k++) w->doors[reads[k]] = 0;
    record(w, r, p, late);
}

static void run_native(rx_worker *w, const rx_reaction *r, uint32_t index)
{
    rx__call *call = &w->calls[index];
    const uint32_t *reads = w->lists + r->reads, *writes = w->lists + r->writes;
    uint64_t p = 0;
    uint32_t n = r->n_reads;
    for (uint32_t k = 0; k < n; k++) {
        const rx_cell *cell = &w->cells[w->door_cells[reads[k]]];
        call->present[k] = cell->stamp == w->stamp;
        if (!call->present[k]) continue;
        p = with_port(p, k);
        if (cell->source != RX_NONE || cell->tap != RX_NONE) call->data[k] = rx__value(w, cell, cell->tap);
    }
    for (uint32_t k = 0; k < r->n_writes; k++) {
        const rx_cell *cell = &w->cells[w->door_cells[writes[k]]];
        call->present[n + k] = 0;
        if (k >= r->n_ports || cell->source == RX_NONE) continue;
        const rx_source *s = &w->sources[cell->source];
        call->present[n + k] = cell->stamp == w->stamp;
        call->data[n + k] = w->base + s->data + (s->mode == RX_SLOTS ? s->slot : 0) * s->stride;
    }
    *w->current = index;
    call->function(call->data, call->present, call->state);
    for (uint32_t k = 0; k < r->n_writes; k++) {
        if (!call->present[n + k]) continue;
        if (k < r->n_ports) w->doors[writes[k]] = RX_OPEN | RX_WRITABLE | RX_PRESENT;
        else schedule(w, w->cells[w->door_cells[writes[k]]].action, 0, 0);
    }
    w->stats[index].count++;
    w->bell->reactions++;
    close_doors(w, r, index, p, 0);
}

/* ---- measuring ------------------------------------------------------------------------------------------- */

static inline void trace(rx_worker *w, const rx_reaction *r, int64_t start, int64_t end, int late)
{
    uint64_t *count = RX_AT(uint64_t, w->base, w->t->trace);
    rx_span *spans = (rx_span *)(count + 8);
    spans[*count & (w->t->n_trace - 1)] = (rx_span){w->tag, start - w->image->start_ns, end - w->image->start_ns, r->global, (uint32_t)late};
    rx__put(count, *count + 1);
}

static void measured(rx_worker *w, uint32_t index, int late)
{
    int64_t now = rx__clock(), ns = now - w->dispatched;
    rx_stats *s = &w->stats[index];
    s->sampled++;
    s->ns += (uint64_t)ns;
    w->heavy[index] = ns > HEAVY_NS;
    if (w->t->trace) trace(w, &w->reactions[index], w->dispatched, now, late);
    w->dispatched = 0;
}

/* One in about sixteen light reactions is measured; the steps are uneven, so that no rhythm hides anything. */
static inline int sample_now(rx_worker *w)
{
    if (--w->until_sample > 0) return 0;
    w->dice = w->dice * 1664525u + 1013904223u;
    w->until_sample = 9 + (int32_t)(w->dice >> 28);
    return 1;
}

/* ---- rx_next --------------------------------------------------------------------------------------------- */

/* 1: something was written that others wait for. */
static inline int finish(rx_worker *w)
{
    uint32_t n = (uint32_t)w->t->n_reactions;
    int sends = 0;
    if (w->dispatched) measured(w, w->batch[0] % n, w->batch[0] >= n);
    for (uint32_t i = 0; i < w->n_batch; i++) {
        uint32_t index = w->batch[i];
        int late = index >= n;
        if (late) index -= n;
        w->stats[index].count++;
        w->stats[index].late += (uint64_t)late;
        sends |= w->sends[index];
        close_doors(w, &w->reactions[index], index, w->partial[i], late);
    }
    w->bell->reactions += w->n_batch;
    w->n_batch = 0;
    return sends;
}

static inline int64_t dispatch_one(rx_worker *w, uint32_t index, int timed)
{
    const rx_reaction *r = &w->reactions[index];
    uint32_t body = index;
    w->partial[0] = open_doors(w, r);
    if (r->deadline != INT64_MAX && rx_physical_time(w) > rx__add_ns(w->tag.time, r->deadline)) body += w->t->n_reactions;
    w->batch[0] = body;
    w->n_batch = 1;
    *w->current = index;
    if (timed) w->dispatched = rx__clock();
    return body;
}

static inline void dispatch_more(rx_worker *w, uint32_t index)
{
    w->partial[w->n_batch] = open_doors(w, &w->reactions[index]);
    w->batch[w->n_batch++] = index;
}

static inline int must_be_alone(rx_worker *w, uint32_t index)
{
    return w->heavy[index] || w->t->trace || (w->reactions[index].flags & RX_ALONE);
}

/* A worker that is done takes what still comes, all of it beyond the stop tag, so that nobody waits for room. */
static int others_done(rx_worker *w)
{
    rx__drain(w);
    for (uint32_t i = 0; i < w->workers; i++) {
        if (i == w->index) continue;
        rx__look_at(w, i);
        if (!rx__is_forever(w->passed[i])) return 0;
    }
    return 1;
}

static int64_t stopped(rx_worker *w)
{
    rx__inbox_state(w, 0);
    *w->current = -1;
    if (!w->solo) {
        w->in_tag = 0;
        rx__publish(w, rx__forever(), rx__forever(), UINT64_MAX);
        w->wants = 1;
        w->want = rx__forever();
        rx__wait(w, others_done);
    }
    rx__put(&w->bell->finished, w->started ? (uint64_t)(rx__clock() - w->image->start_ns) : 1);
    return RX_DONE;
}

static int runaway(rx_worker *w)
{
    if (w->tag.microstep < w->runaway) return 0;
    w->runaway = UINT64_MAX;
    return 1;
}

/* In fast mode nobody waits for physical time - but a program that lives on events from outside does not run ahead
 * to its timeout while there is nothing else to do. */
static inline int need_not_wait(const rx_worker *w)
{
    return w->image->fast && !(w->image->keepalive && rx__idle(w));
}

/* ---- alone ---- */

static int solo_due(rx_worker *w)
{
    rx__drain(w);
    rx_tag g = rx__own_next(w);
    if (rx__idle(w) && !w->image->keepalive)
        g = w->stop = rx__least(w->stop, rx__next_microstep(w->tag));        /* starvation */
    if (rx__is_forever(g)) return 0;
    if (need_not_wait(w)) return 1;
    int64_t due = w->image->start_ns + g.time;
    if (w->clock < due) w->clock = rx__clock();
    if (w->clock >= due) return 1;
    w->until = due;
    return 0;
}

static inline int64_t next_solo(rx_worker *w)
{
    for (;;) {
        if (!w->in_tag) {
            if (w->finished) return stopped(w);
            if (w->error) return w->error;
            rx_tag g = rx__own_next(w);
            if (!w->image->fast || w->t->physical || rx__idle(w)) {
                int c = rx__wait(w, solo_due);
                if (c < 0) return c;
                g = rx__own_next(w);
            } else if (rx__get32(&w->image->abort)) {
                return RX_ABORTED;
            }
            start_tag(w, g);
            if (g.microstep && runaway(w)) return RX_RUNAWAY;
        }
        int64_t word = rx__ready_first(&w->ready);
        if (word < 0) {
            end_tag(w);
            continue;
        }
        uint64_t bits = w->ready.words[word];
        uint32_t first = w->first_of_word[word], index = first + (uint32_t)__builtin_ctzll(bits);
        const rx_reaction *r = &w->reactions[index];
        if (r->flags & RX_NATIVE) {
            rx__ready_remove(&w->ready, (uint32_t)word, bits & -bits);
            slots_chosen(w, r);
            run_native(w, r, index);
            continue;
        }
        if (!(bits & (bits - 1)) || must_be_alone(w, index) || sample_now(w)) {
            int timed = must_be_alone(w, index) || ((bits & (bits - 1)) ? 1 : sample_now(w));
            rx__ready_remove(&w->ready, (uint32_t)word, bits & -bits);
            slots_chosen(w, r);
            return dispatch_one(w, index, timed);
        }
        *w->current = index;
        for (; bits; bits &= bits - 1) {
            index = first + (uint32_t)__builtin_ctzll(bits);
            r = &w->reactions[index];
            if (must_be_alone(w, index) || (r->flags & RX_NATIVE)) break;
            slots_chosen(w, r);
            dispatch_more(w, index);
        }
        rx__ready_remove(&w->ready, (uint32_t)word, w->ready.words[word] & ~bits);
        if (w->n_batch == 1) return w->batch[0];
        return RX_BATCH - (int64_t)w->n_batch;
    }
}

/* ---- with others ---- */

/* Everything before reaction [position] of the present tag is done: say so, having sent what was written. */
static void progress(rx_worker *w, uint64_t position)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->n_unsent; i++)
        if (w->sources[w->unsent[i]].writer < position) rx__commit(w, w->unsent[i]);
        else w->unsent[kept++] = w->unsent[i];
    w->n_unsent = kept;
    if (w->line->rank < position) rx__publish(w, w->head, w->tag, position);
}

/* Nobody has anything to do and nothing is on its way: the program stops a microstep after the last tag executed
 * anywhere. This gives every worker an event that came from no message, so what was thought of as certain before, that
 * nobody acts any more, is put right when a worker learns of it; and nobody begins a stop tag known from elsewhere
 * unless it is certain that the program does not starve before. */
static void starve(rx_worker *w)
{
    rx_image *image = w->image;
    if (rx__swap_if32(&image->starved, 0, 1)) {
        rx_tag last = rx__tag(0, 0);
        for (uint32_t i = 0; i < w->workers; i++) last = rx__greatest(last, w->passed[i]);
        image->starved_at = rx__least(w->stop, rx__next_microstep(last));
        rx__put32_fenced(&image->starved, 2);
        rx__wake(w);
    }
}

static void learn_of_starvation(rx_worker *w)
{
    rx_tag stop = w->image->starved_at;
    w->knows_starved = 1;
    w->stop = rx__least(w->stop, stop);
    w->bound = rx__least(w->bound, stop);
    for (uint32_t i = 0; i < w->workers; i++) w->may[i] = rx__least(w->may[i], stop);
}

static void wants_passed(rx_worker *w, const rx_wait *wait, rx_tag g)
{
    w->wants = 2 + wait->producer;
    w->want = rx__minus(g, wait->offset);
    w->want_rank = wait->writer;
}

/* A worker that hears from outside lets others go on as the clock does, and publishes nothing: look again when the
 * clock has come far enough. */
static void wait_for_clock(rx_worker *w, rx_tag g)
{
    const rx_tables *tables = RX_AT(rx_tables, w->base, w->image->tables);
    for (uint32_t m = 0; m < w->workers; m++) {
        rx_tag delay = w->delays[m * w->workers + w->index];
        if (m == w->index || !tables[m].physical || !rx__less(rx__plus(w->own[m], delay), g)) continue;
        int64_t due = rx__add_ns(w->image->start_ns, rx__minus(g, delay).time + 1);
        if (due < w->until) w->until = due;
    }
}

/* Whether a tag may begin, which then is `tag_to_begin`; 0: not yet. */
static int may_begin(rx_worker *w)
{
    for (;;) {
        rx__drain(w);
        if (!w->knows_starved && rx__get32(&w->image->starved) == 2) learn_of_starvation(w);
        rx_tag own = rx__own_next(w), g = own;
        int idle = rx__idle(w) && !w->knows_starved && !w->image->keepalive, looked = 0;
        if (!rx__equal(own, w->head) || w->line->idle != (uint64_t)rx__idle(w))
            rx__publish(w, own, w->line->passed, w->line->rank);
        w->wants = 1;
        w->want = own;
        if (w->n_mates || rx__less(w->bound, own) || rx__is_forever(own) || idle) {
            rx__snapshot(w);
            looked = 1;
            if (!w->knows_starved && rx__get32(&w->image->starved) == 2) continue;   /* heads may be of the stop tag */
            for (uint32_t i = 0; i < w->workers; i++)
                if (w->mate[i]) g = rx__least(g, w->events[i]);
            if (idle && w->idle_everywhere) {
                starve(w);
                continue;                            /* and learn of it */
            }
            if (rx__is_forever(g)) return 0;
            g = rx__least(g, w->stop);
            w->want = g;
            if (idle && rx__equal(g, w->stop) && !w->stop_is_certain) return 0;
            if (!rx__less(w->tag, g)) return 0;      /* a mate's head, which it has yet to move */
            if (rx__less(w->bound, g)) {
                wait_for_clock(w, g);
                return 0;
            }
        }
        for (uint32_t i = 0; i < w->t->n_stop_waits; i++) {
            const rx_wait *wait = &w->stop_waits[i];
            if (rx__covered(w, wait, g)) continue;
            rx__look_at(w, wait->producer);
            if (rx__covered(w, wait, g)) continue;
            if (!looked) rx__snapshot(w);
            looked = 1;
            if (rx__covered(w, wait, g)) continue;
            wants_passed(w, wait, g);
            return 0;
        }
        if (rx__drain(w)) continue;                  /* what came may be earlier, or a stop */
        if (!need_not_wait(w)) {
            int64_t due = w->image->start_ns + g.time;
            if (w->clock < due) w->clock = rx__clock();
            if (w->clock < due) {
                if (due < w->until) w->until = due;
                return 0;
            }
        }
        w->tag_to_begin = g;
        return 1;
    }
}

static int complete(rx_worker *w)
{
    const rx_wait *wait = w->waiting_for;
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
    for (uint32_t i = r->waits; i < r->waits + r->n_waits; i++) {
        const rx_wait *wait = &w->waits[i];
        if (rx__covered(w, wait, w->tag)) continue;
        rx__look_at(w, wait->producer);
        if (rx__covered(w, wait, w->tag)) continue;
        if (!waiting) return 0;
        w->waiting_for = wait;
        wants_passed(w, wait, w->tag);
        int c = rx__wait(w, complete);
        if (c < 0) return c;
    }
    if (w->looked) rx__drain(w);                     /* complete means: in the ring */
    return 1;
}

static void begin_shared(rx_worker *w)
{
    rx_tag g = w->tag_to_begin;
    start_tag(w, g);
    w->head = g;
    int all_late = 1;                                /* nobody can send anything for this tag any more */
    for (uint32_t i = 0; all_late && i < w->workers; i++)
        if (i != w->index && !rx__less(g, w->may[i])) all_late = 0;
    rx__publish(w, g, g, 0);
    rx__drain(w);
    w->visiting = !all_late;
    if (!all_late)
        for (uint32_t i = 0; i < w->t->n_words; i++)
            if (w->visit_words[i]) rx__ready_add(&w->ready, i, w->visit_words[i]);
}

static int64_t next_shared(rx_worker *w)
{
    for (;;) {
        if (!w->in_tag) {
            if (w->finished) return stopped(w);
            if (w->error) return w->error;
            if (rx__get32(&w->image->abort)) return RX_ABORTED;
            int c = rx__wait(w, may_begin);
            if (c < 0) return c;
            begin_shared(w);
            if (w->tag.microstep && runaway(w)) return RX_RUNAWAY;
        }
        int64_t word = rx__ready_first(&w->ready);
        if (word < 0) {
            end_tag(w);
            memset(w->triggered, 0, w->t->n_words * sizeof *w->triggered);
            rx__publish(w, w->finished ? rx__forever() : rx__own_next(w), w->tag, UINT64_MAX);
            continue;
        }
        uint32_t first = w->first_of_word[word];
        while (w->ready.words[word]) {
            uint64_t bit = w->ready.words[word] & -w->ready.words[word];
            uint32_t index = first + (uint32_t)__builtin_ctzll(bit);
            const rx_reaction *r = &w->reactions[index];
            if (w->visiting && r->n_waits) {
                int c = inputs_complete(w, r, 0);
                if (!c && w->n_batch) break;
                if (!c) {
                    progress(w, index);
                    c = inputs_complete(w, r, 1);
                }
                if (c < 0) return c;
            }
            if (!(w->triggered[word] & bit)) {
                rx__ready_remove(&w->ready, (uint32_t)word, bit);
                continue;
            }
            if (w->n_batch && (must_be_alone(w, index) || (r->flags & RX_NATIVE))) break;
            if (!slots_chosen(w, r)) {
                if (w->n_batch) break;
                progress(w, index);
                while (!slots_chosen(w, r)) {
                    w->wants = 0;
                    int c = rx__wait(w, room_now);
                    if (c < 0) return c;
                }
            }
            rx__ready_remove(&w->ready, (uint32_t)word, bit);
            w->position = index + 1;
            if (r->flags & RX_NATIVE) {
                run_native(w, r, index);
                if (w->sends[index]) progress(w, w->position);
                continue;
            }
            if (must_be_alone(w, index) || (!w->n_batch && sample_now(w))) return dispatch_one(w, index, 1);
            if (!w->n_batch) *w->current = index;
            dispatch_more(w, index);
        }
        if (w->n_batch == 1) return w->batch[0];
        if (w->n_batch) return RX_BATCH - (int64_t)w->n_batch;
    }
}

/* ---- after a failure: shutdown reactions only, nothing goes anywhere any more ---- */

static int64_t next_failed(rx_worker *w)
{
    if (w->n_batch) {
        const rx_reaction *r = &w->reactions[w->batch[0]];
        for (uint32_t k = 0; k < r->n_reads; k++) w->doors[w->lists[r->reads + k]] = 0;
        for (uint32_t k = 0; k < r->n_writes; k++) w->doors[w->lists[r->writes + k]] = 0;
        w->n_batch = 0;
    }
    int64_t word = rx__ready_first(&w->ready);
    if (word < 0) return stopped(w);
    uint64_t bits = w->ready.words[word];
    uint32_t index = w->first_of_word[word] + (uint32_t)__builtin_ctzll(bits);
    const rx_reaction *r = &w->reactions[index];
    rx__ready_remove(&w->ready, (uint32_t)word, bits & -bits);
    if (r->flags & RX_NATIVE) return next_failed(w);
    open_doors(w, r);
    w->batch[0] = index;
    w->n_batch = 1;
    *w->current = index;
    return index;
}

void rx_fail(rx_worker *w)
{
    if (w->failed) return;
    uint32_t n = w->t->n_reactions;
    for (uint32_t i = 0; i < w->n_batch; i++) {
        const rx_reaction *r = &w->reactions[w->batch[i] % n];
        for (uint32_t k = 0; k < r->n_reads; k++) w->doors[w->lists[r->reads + k]] = 0;
        for (uint32_t k = 0; k < r->n_writes; k++) w->doors[w->lists[r->writes + k]] = 0;
    }
    w->n_batch = 0;
    w->failed = 1;
    w->dispatched = 0;
    memset(w->ready.words, 0, w->t->n_words * sizeof *w->ready.words);
    memset(w->ready.summary, 0, w->ready.n_summary * sizeof *w->ready.summary);
    w->ready.at = 0;
    w->tag = rx__next_microstep(w->tag);
    if (w->tag.time < 0) w->tag = rx__tag(0, 0);
    *w->now = w->tag;
    w->stamp++;
    rx_cell *shutdown = &w->cells[w->t->shutdown];
    shutdown->stamp = w->stamp;
    trigger(w, shutdown);
}

static int everybody_here(rx_worker *w) { return (int)rx__get32(&w->image->started); }

int rx_start(rx_worker *w)
{
    rx_image *image = w->image;
    start_events(w);
    if (rx__add32(&image->ready, 1) + 1 == image->workers) {
        image->start_ns = rx__clock();
        rx__put32_fenced(&image->started, 1);
        rx__wake(w);
    }
    w->until = INT64_MAX;
    int c = rx__wait(w, everybody_here);
    if (c < 0) return c;
    rx__inbox_state(w, 1);
    w->started = 1;
    return 0;
}

int64_t rx_next(rx_worker *w)
{
    if (w->failed) return next_failed(w);
    if (w->n_batch) {
        int sends = finish(w);
        if (sends) progress(w, w->position);
    }
    return w->solo ? next_solo(w) : next_shared(w);
}
