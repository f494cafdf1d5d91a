/* One reaction: what it declared is opened to it, it runs, and what it did becomes visible. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define HEAVY_NS 2000          /* a reaction that takes longer is worth two clock readings each time */

/* ---- the digest (docs/internals.md, "The digest") --------------------------------------------------------- */

static inline uint64_t with_port(uint64_t p, uint32_t k) { return p * 0x100000001B3ull + (k + 1); }

static inline void record(rx_worker *w, const rx_reaction *r, uint64_t p, int late)
{
    uint64_t e = w->tag_word + (r->number + 1) * 0x9E3779B97F4A7C15ull + p + (late ? 0xD6E8FEB86659FD93ull : 0);
    w->digests[r->reactor] = rx__mix(w->digests[r->reactor], e);
}

/* ---- values that it writes -------------------------------------------------------------------------------- */

int rx__find_slots(rx_worker *w, uint32_t index)
{
    const rx_reaction *r = &w->reactions[index];
    const uint32_t *writes = w->lists + r->writes;
    int found = 1;
    for (uint32_t k = 0; k < r->n_ports; k++) {
        uint32_t number = w->cell_of[writes[k]]->source;
        if (number == RX_NONE) continue;
        rx_source *s = &w->sources[number];
        if (s->mode != RX_SLOTS || s->fresh == w->stamp) continue;
        if (w->failed) s->slot = s->slots;           /* others may still be reading what was sent */
        else if (!rx__room(w, s)) { found = 0; continue; }
        s->fresh = w->stamp;
    }
    return found;
}

int rx__find_room(rx_worker *w, uint32_t index)
{
    return rx__find_slots(w, index) && rx__rings_have_room(w, w->sends[index]);
}

/* A port that the reaction has set is present from now on, */
static inline void show(rx_worker *w, rx_cell *cell)
{
    if (cell->stamp == w->stamp) return;
    cell->stamp = w->stamp;
    rx__trigger(w, cell);
}

/* and if its values travel and no other reaction may write it, this one is sent. */
static inline void appear(rx_worker *w, rx_cell *cell, uint32_t index)
{
    if (cell->stamp == w->stamp) {                   /* of several writers the last counts, in virtual time too */
        if (w->clocks && cell->source != RX_NONE) w->sources[cell->source].clock = rx__now(w);
        return;
    }
    cell->stamp = w->stamp;
    rx__trigger(w, cell);
    if (cell->source == RX_NONE) return;
    rx_source *s = &w->sources[cell->source];
    cell->payload = s->mode == RX_SLOTS ? s->slot : s->mode == RX_SEQUENCE ? s->sent : 0;
    if (!s->n_subs) return;
    int64_t clock = w->clocks ? rx__now(w) : 0;
    if (s->writer == index) {
        rx__commit(w, cell->source, clock);
    } else {
        s->clock = clock;
        w->unsent[w->n_unsent++] = cell->source;
    }
}

/* ---- run by the caller: through doors --------------------------------------------------------------------- */

/* Opens the doors of what a reaction declared and returns its part of the digest. */
static inline uint64_t open_doors(rx_worker *w, const rx_reaction *r)
{
    const uint32_t *reads = w->lists + r->reads, *writes = w->lists + r->writes;
    uint64_t p = 0, stamp = w->stamp;
    for (uint32_t k = 0; k < r->n_reads; k++) {
        uint32_t door = reads[k];
        const rx_cell *cell = w->cell_of[door];
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
        const rx_cell *cell = w->cell_of[door];
        w->doors[door] = (uint8_t)(RX_OPEN | RX_WRITABLE | (cell->stamp == stamp ? RX_PRESENT : 0));
        if (cell->source != RX_NONE) {
            rx_source *s = &w->sources[cell->source];
            if (s->mode == RX_SLOTS) {
                w->where[door] = s->slot;
            } else if (s->mode == RX_SEQUENCE) {
                w->low[door] = rx__lowest_needed(w, s);
                w->where[door] = s->sent;
            }
        }
    }
    for (uint32_t k = r->n_ports; k < r->n_writes; k++) w->doors[writes[k]] |= RX_WRITABLE;
    return p;
}

void rx__shut_doors(rx_worker *w, const rx_reaction *r)
{
    for (uint32_t k = 0; k < r->n_reads; k++) w->doors[w->lists[r->reads + k]] = 0;
    for (uint32_t k = 0; k < r->n_writes; k++) w->doors[w->lists[r->writes + k]] = 0;
}

/* No reaction after this one reads these values. Their slots are given back before what it wrote is sent, so that who
 * receives that finds them free and writes where the caches still have them. */
static void give_back(rx_worker *w, const rx_reaction *r, uint32_t index)
{
    for (uint32_t k = 0; k < r->n_reads; k++) {
        uint32_t cell = (uint32_t)(w->cell_of[w->lists[r->reads + k]] - w->cells);
        if (w->last_reader[cell] == index) rx__give_back(w, cell);
    }
}

/* What a reaction set appears and triggers; what has no other writer left is sent. */
static inline void close_doors(rx_worker *w, const rx_reaction *r, uint32_t index, uint64_t p, int late)
{
    const uint32_t *reads = w->lists + r->reads, *writes = w->lists + r->writes;
    if (w->reads_last[index]) give_back(w, r, index);
    for (uint32_t k = 0; k < r->n_ports; k++) {
        uint32_t door = writes[k];
        uint8_t state = w->doors[door];
        w->doors[door] = 0;
        if (!(state & RX_PRESENT)) continue;
        if (!(r->flags & RX_STOPS) || k + 1 < r->n_ports) p = with_port(p, r->n_reads + k);
        appear(w, w->cell_of[door], index);
    }
    for (uint32_t k = r->n_ports; k < r->n_writes; k++) w->doors[writes[k]] = 0;
    for (uint32_t k = 0; k < r->n_reads; k++) w->doors[reads[k]] = 0;
    record(w, r, p, late);
    if (w->journal) rx__journal(w, index, late);
}

/* No reaction reads what was not yet sent by its own clock (clocks.c). */
static void hear(rx_worker *w, const rx_reaction *r)
{
    int64_t latest = 0;
    for (uint32_t k = 0; k < r->n_reads; k++) {
        const rx_cell *cell = w->cell_of[w->lists[r->reads + k]];
        if (cell->stamp != w->stamp || cell->tap == RX_NONE) continue;
        int64_t sent = w->clocks[cell->tap].shown;
        if (sent > latest) latest = sent;
    }
    rx__sleep_until(w, latest);
}

static int missed(rx_worker *w, const rx_reaction *r, uint32_t index)
{
    if (w->image->replaying) return rx__was_late(w, index);
    return !r->deadline || (w->started && rx__now(w) > rx__add_ns(w->tag.time, r->deadline));
}

static void run(rx_worker *w, const rx_reaction *r, uint32_t index, int late);

int64_t rx__enter(rx_worker *w)
{
    uint32_t body = w->batch[w->at], index = body % w->t->n_reactions;
    w->inputs = open_doors(w, &w->reactions[index]);
    *w->current = index;
    return body;
}

int64_t rx__dispatch(rx_worker *w, uint32_t index, int timed)
{
    const rx_reaction *r = &w->reactions[index];
    uint32_t body = index;
    if (w->clocks) hear(w, r);
    if (r->flags & RX_ALONE) {
        int late = missed(w, r, index);
        if (late) {
            body += w->t->n_reactions;
            if (w->record >= 0) rx__log_late(w, index);
        }
        if (r->flags & RX_NATIVE_DUE && (late ? w->calls[index].late : w->calls[index].code).function) {
            int64_t began = w->t->trace ? rx__moment(w) : 0;
            run(w, r, index, late);
            if (began) rx__span(w, index, began, rx__moment(w), late);
            return RX_RAN;
        }
    }
    w->batch[w->n_batch++] = body;
    rx__enter(w);
    if (timed || w->t->trace) w->dispatched = rx__moment(w);
    return body;
}

int64_t rx__dispatch_batch(rx_worker *w)
{
    if (w->t->trace) w->dispatched = rx__moment(w);
    return rx__enter(w);
}

/* ---- run here: a C function ------------------------------------------------------------------------------- */

void rx_set_native(rx_worker *w, uint32_t body, uint64_t function, uint64_t state)
{
    uint32_t reaction = body % w->t->n_reactions;
    const rx_reaction *r = &w->reactions[reaction];
    rx__call *call = &w->calls[reaction];
    uint32_t n = r->n_reads + r->n_writes;
    *(body == reaction ? &call->code : &call->late) = (rx__code){(rx__native)(uintptr_t)function, (void *)(uintptr_t)state};
    if (call->data) return;
    call->data = calloc(n + 1, 2 * sizeof(void *) + 2);
    if (!call->data) {
        w->error = RX_NO_MEMORY;
        return;
    }
    call->cells = (rx_cell **)(call->data + n);
    call->present = (unsigned char *)(call->data + 2 * n);
    call->moves = call->present + n;
    call->n_reads = r->n_reads;
    call->ports = r->n_reads + r->n_ports;
    call->all = n;
    call->plain = !w->clocks && !w->needs_room[reaction];
    for (uint32_t k = 0; k < n; k++) {
        rx_cell *cell = call->cells[k] = w->cell_of[w->lists[k < r->n_reads ? r->reads + k : r->writes + k - r->n_reads]];
        if (cell->source == RX_NONE) {
            call->moves[k] = k < r->n_reads && cell->tap != RX_NONE;
        } else {
            const rx_source *s = &w->sources[cell->source];
            call->moves[k] = s->mode == RX_SLOTS || cell->tap != RX_NONE;
            call->data[k] = w->base + s->data;
            call->plain &= k < r->n_reads || !s->n_subs;
        }
        call->plain &= !call->moves[k];
    }
}

void rx__end_call(rx__call *call) { free(call->data); }

/* Runs a function on what is there, and returns its part of the digest. What is [plain] does without all that values need
 * which move or travel. */
static inline __attribute__((always_inline)) uint64_t call_on(rx_worker *w, uint32_t index, rx__call *call, const rx__code *code, int plain)
{
    rx_cell *const *cells = call->cells;
    unsigned char *present = call->present;              /* of actions 0, between two calls */
    uint64_t p = 0, stamp = w->stamp;
    for (uint32_t k = 0; k < call->n_reads; k++) {
        const rx_cell *cell = cells[k];
        present[k] = cell->stamp == stamp;
        if (!present[k]) continue;
        p = with_port(p, k);
        if (!plain && call->moves[k]) call->data[k] = rx__value(w, cell, cell->tap);
    }
    for (uint32_t k = call->n_reads; k < call->ports; k++) {
        const rx_cell *cell = cells[k];
        present[k] = cell->stamp == stamp;
        if (plain || !call->moves[k]) continue;
        const rx_source *s = &w->sources[cell->source];
        call->data[k] = w->base + s->data + s->slot * s->stride;
    }
    *w->current = index;
    code->function(call->data, present, code->state);
    return p;
}

static inline __attribute__((always_inline)) void run_as(rx_worker *w, const rx_reaction *r, uint32_t index, int late, int plain)
{
    rx__call *call = &w->calls[index];
    rx_cell *const *cells = call->cells;
    unsigned char *present = call->present;
    uint32_t n_reads = call->n_reads, ports = call->ports, all = call->all;
    uint64_t p = call_on(w, index, call, late ? &call->late : &call->code, plain);
    if (!plain && w->reads_last[index]) give_back(w, r, index);
    for (uint32_t k = n_reads; k < ports; k++) {
        if (!present[k]) continue;
        if (!(r->flags & RX_STOPS) || k + 1 < ports) p = with_port(p, k);
        if (plain) show(w, cells[k]);
        else appear(w, cells[k], index);
    }
    for (uint32_t k = ports; k < all; k++) {
        if (!present[k]) continue;
        present[k] = 0;
        rx__schedule(w, cells[k]->action, 0, 0);
    }
    w->stats[index].count++;
    w->stats[index].late += (uint64_t)late;
    w->bell->reactions++;
    record(w, r, p, late);
    if (w->journal) rx__journal(w, index, late);
}

static void run(rx_worker *w, const rx_reaction *r, uint32_t index, int late) { run_as(w, r, index, late, 0); }

int rx__run_unheard(rx_worker *w, uint32_t index)
{
    rx__call *call = &w->calls[index];
    if (!call->code.function) return 0;
    call_on(w, index, call, &call->code, 0);
    memset(call->present, 0, call->all);
    return 1;
}

void rx__run_native(rx_worker *w, const rx_reaction *r, uint32_t index)
{
    if (w->clocks) hear(w, r);
    int64_t began = w->t->trace ? rx__moment(w) : 0;
    if (w->calls[index].plain) run_as(w, r, index, 0, 1);
    else run(w, r, index, 0);
    if (began) rx__span(w, index, began, rx__moment(w), 0);
}

/* ---- measuring ------------------------------------------------------------------------------------------- */

static void measured(rx_worker *w, uint32_t index, int64_t ns)
{
    rx_stats *s = &w->stats[index];
    if (w->heavy[index] && ns > HEAVY_NS) s->known++, s->known_ns += (uint64_t)ns;
    else s->sampled++, s->ns += (uint64_t)ns;
    w->heavy[index] = ns > RX_LONG_NS ? RX_LONG : ns > HEAVY_NS || w->clocks;        /* in a batch, it is not known which reaction slept */
}

/* ---- afterwards ------------------------------------------------------------------------------------------- */

int64_t rx__finish(rx_worker *w)
{
    uint32_t n = w->t->n_reactions, index = w->batch[w->at];
    int late = index >= n;
    if (late) index -= n;
    int64_t began = w->dispatched, ended = began ? rx__moment(w) : 0;
    if (began && w->n_batch == 1) measured(w, index, ended - began);
    w->stats[index].count++;
    w->stats[index].late += (uint64_t)late;
    w->sent |= w->sends[index] != 0;
    w->bell->reactions++;
    close_doors(w, &w->reactions[index], index, w->inputs, late);
    if (w->t->trace) rx__span(w, index, began, ended, late);
    if (++w->at < w->n_batch) {
        w->dispatched = w->t->trace ? ended : 0;
        return rx__enter(w);
    }
    w->dispatched = 0;
    w->n_batch = w->at = 0;
    return RX_RAN;
}
