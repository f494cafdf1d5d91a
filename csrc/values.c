/* Where values lie. A typed value lies in a slot of its source and is read there by every worker; a count for each slot says
 * how many still need it: a worker has given it back after the last reaction there that reads it (reaction.c), at the
 * latest when the tag is over. A receiver must not keep the slots of a source for long, or the producer could wait for them
 * forever (back pressure): values that travel for more than a microstep are copied out, unless they lie in the lower half. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "shared.h"

static uint32_t *refs_of(const rx_worker *w, uint64_t refs, uint64_t slot) { return RX_AT(uint32_t, w->base, refs) + slot; }

/* The lowest free slot, not the next one: while receivers keep up, one slot stays in the caches, and the rows of a
 * multiport's block lie in the same one. */
int rx__room(rx_worker *w, rx_source *s)
{
    for (uint32_t slot = 0; slot < s->slots; slot++) {
        if (!rx__get32(refs_of(w, s->refs, slot))) {
            s->slot = slot;
            return 1;
        }
    }
    return 0;
}

uint64_t rx__carried(rx_worker *w, rx_source *s)
{
    uint64_t payload = s->mode == RX_SLOTS ? s->slot : s->mode == RX_SEQUENCE ? s->sent : 0;
    if (s->mode == RX_SLOTS) rx__put32(refs_of(w, s->refs, s->slot), s->n_subs);
    s->sent++;
    return payload;
}

void rx__share(rx_worker *w, const rx_sub *sub, uint64_t payload)
{
    if (sub->mode == RX_SLOTS && sub->n_taps > 1) rx__add32(refs_of(w, sub->refs, payload), sub->n_taps - 1);
}

uint64_t rx__copy(const void *from, uint64_t bytes, uint64_t kind)
{
    rx_copy *copy = aligned_alloc(64, (sizeof *copy + bytes + 63) & ~63ull);
    if (!copy) return 0;
    copy->size = bytes;
    copy->kind = kind;
    memcpy(copy + 1, from, bytes);
    return (uint64_t)(uintptr_t)copy | RX_OUTSIDE;
}

void rx__free_copy(uint64_t payload)
{
    if (payload & RX_OUTSIDE) free(rx__copy_at(payload));
}

uint64_t rx__move_out(rx_worker *w, const rx_sub *sub, uint64_t slot)
{
    uint8_t *from = w->base + sub->data + slot * sub->stride;
    uint64_t bytes = sub->bytes, kind = RX_PICKLED;
    if (!bytes) {
        rx_record *record = (rx_record *)from;
        bytes = record->size;
        kind = record->kind;
        from = record->spill && bytes > sub->stride - sizeof *record ? w->base + record->spill : from + sizeof *record;
    }
    uint64_t value = rx__copy(from, bytes, kind);
    if (!value) return slot;
    rx__add32(refs_of(w, sub->refs, slot), UINT32_MAX);
    return value;
}

void *rx__value(rx_worker *w, const rx_cell *cell, uint32_t tap)
{
    if (cell->payload & RX_OUTSIDE) return rx__copy_at(cell->payload) + 1;
    if (tap != RX_NONE) {
        const rx_sub *sub = &w->subs[w->taps[tap].sub];
        return w->base + sub->data + cell->payload * sub->stride;
    }
    const rx_source *s = &w->sources[cell->source];
    return w->base + s->data + cell->payload * s->stride;
}

static void no_need_of(rx_worker *w, uint64_t number)
{
    if (w->n_unneeded == w->unneeded_capacity) {
        uint32_t more = w->unneeded_capacity ? w->unneeded_capacity * 2 : 2 * MANY_UNNEEDED;
        uint64_t *moved = realloc(w->unneeded, more * sizeof *moved);
        if (!moved) {
            w->error = RX_NO_MEMORY;
            return;
        }
        w->unneeded = moved;
        w->unneeded_capacity = more;
    }
    w->unneeded[w->n_unneeded++] = number;
}

uint32_t rx_unneeded(rx_worker *w, const uint64_t **numbers)
{
    uint32_t n = w->n_unneeded;
    *numbers = w->unneeded;
    w->n_unneeded = 0;
    return n;
}

void rx__release(rx_worker *w, uint32_t tap, uint64_t payload)
{
    if (payload & RX_OUTSIDE) {
        rx__free_copy(payload);
        return;
    }
    if (payload & RX_SENT) {
        no_need_of(w, payload);
        return;
    }
    if (tap == RX_NONE) {     /* a value of a logical action */
        w->free_values[w->n_free++] = payload;
        return;
    }
    rx_tap *t = &w->taps[tap];
    rx_sub *sub = &w->subs[t->sub];
    if (sub->mode == RX_SLOTS) {
        rx__add32(refs_of(w, sub->refs, payload), UINT32_MAX);
    } else if (sub->mode == RX_SEQUENCE && t->done == payload) {   /* beyond the stop it is early: others are still to come */
        t->done = payload + 1;
        uint64_t least = t->done;
        for (uint32_t i = sub->taps; i < sub->taps + sub->n_taps; i++)
            if (w->taps[i].cell != RX_STOP && w->taps[i].done < least) least = w->taps[i].done;
        rx__put(RX_AT(uint64_t, w->base, sub->released), least);
    }
}

void rx__give_back(rx_worker *w, uint32_t cell)
{
    if (!w->held[cell]) return;
    w->held[cell] = 0;
    rx__release(w, w->cells[cell].tap, w->cells[cell].payload);
}

uint64_t rx__lowest_needed(const rx_worker *w, const rx_source *s)
{
    uint64_t low = UINT64_MAX;
    for (uint32_t i = s->subs; i < s->subs + s->n_subs; i++) {
        uint64_t released = rx__get(RX_AT(uint64_t, w->base, w->subs[w->lists[i]].released));
        if (released < low) low = released;
    }
    return low;
}
