/* Between workers: rings of messages, one for each ordered pair of workers, and slots with the values.
 *
 * A message says: this source had a value at this tag; it is in that slot. Its receiver knows where the value goes
 * and how late. A typed value lies in a slot of its source and is read there by everybody; a count for each slot says
 * how many still need it. A receiver must not keep the slots of a source for long, or the producer could wait for
 * them forever: values that travel for more than a microstep are copied out, unless they lie in the lower half. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "shared.h"
#include "tag.h"
#include "worker.h"

typedef struct { rx_tag sent; int64_t clock; uint64_t payload; uint32_t sub, pad; } message;      /* clock: virtual time only */

struct rx__ring {             /* each index on a line of its own */
    uint64_t head, pad1[15];  /* the consumer's */
    uint64_t tail, pad2[15];  /* the producer's */
    uint32_t capacity, pad;
    uint64_t pad3[7];
    message messages[];
};

uint64_t rx_ring_bytes(uint32_t capacity) { return sizeof(rx__ring) + capacity * sizeof(message); }
void rx_ring_init(void *base, uint64_t ring, uint32_t capacity) { RX_AT(rx__ring, base, ring)->capacity = capacity; }

int rx__ring_first(rx__ring *ring, rx_tag *sent)
{
    for (;;) {
        uint64_t head = rx__get(&ring->head);
        if (head == rx__get(&ring->tail)) return 0;
        *sent = rx__get_tag(&ring->messages[head & (ring->capacity - 1)].sent);
        /* a producer writes over a message only after the consumer has moved on: then what was read may be torn */
        if (rx__get(&ring->head) == head) return 1;
    }
}

/* ---- values --------------------------------------------------------------------------------------------- */

static uint32_t *refs_of(rx_worker *w, uint64_t refs, uint64_t slot) { return RX_AT(uint32_t, w->base, refs) + slot; }

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

/* A copy outside the ring: 64 bytes of header with the size, then the value. 0: no memory. */
uint64_t rx__copy(const void *from, uint64_t bytes)
{
    uint64_t *copy = aligned_alloc(64, (64 + bytes + 63) & ~63ull);
    if (!copy) return 0;
    copy[0] = bytes;
    memcpy(copy + 8, from, bytes);
    return (uint64_t)(uintptr_t)copy | RX_OUTSIDE;
}

static uint64_t copy_out(rx_worker *w, const rx_sub *sub, uint64_t slot)
{
    uint8_t *from = w->base + sub->data + slot * sub->stride;
    uint64_t bytes = sub->bytes;
    if (!bytes) {
        rx_record *record = (rx_record *)from;
        bytes = record->size;
        from = record->spill && bytes > sub->stride - sizeof *record ? w->base + record->spill : from + sizeof *record;
    }
    return rx__copy(from, bytes);
}

void rx__release(rx_worker *w, uint32_t tap, uint64_t payload)
{
    if (payload & RX_OUTSIDE) {
        free((void *)(uintptr_t)(payload & ~RX_OUTSIDE));
        return;
    }
    if (tap == RX_NONE) {     /* a value of an action */
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

void *rx__value(rx_worker *w, const rx_cell *cell, uint32_t tap)
{
    if (cell->payload & RX_OUTSIDE) return (uint8_t *)(uintptr_t)(cell->payload & ~RX_OUTSIDE) + 64;
    if (tap != RX_NONE) {
        const rx_sub *sub = &w->subs[w->taps[tap].sub];
        return w->base + sub->data + cell->payload * sub->stride;
    }
    const rx_source *s = &w->sources[cell->source];
    return w->base + s->data + cell->payload * s->stride;
}

/* ---- sending and taking --------------------------------------------------------------------------------- */

/* When a value arrives whose sender's tag does not count: now. In virtual time that is now where it was sent, for a
 * receiver may look at its ring sooner or later. Nothing overtakes what was sent before it, nor arrives at the same tag:
 * so the tag that is recorded is the one at which it will be present. */
static rx_tag physical_arrival(rx_worker *w, rx_tap *tap, rx_tag sent, int64_t clock)
{
    rx_tag arrival;
    if (w->image->replaying)
        return tap->arrived < tap->n_arrivals ? RX_AT(rx_tag, w->base, tap->arrivals)[tap->arrived++] : rx__forever();
    if (w->image->virtual_time) arrival = rx__plus(rx__greatest(rx__tag(clock, 0), sent), tap->offset);
    else arrival = rx__greatest(rx__tag(rx__add_ns(rx__now(w), tap->offset.time), 0), rx__next_microstep(w->tag));
    arrival = tap->last = rx__greatest(arrival, rx__next_microstep(tap->last));
    if (w->record >= 0) rx__log_arrival(w, tap, arrival);
    return arrival;
}

/* The clocks of what is under way to a tap wait beside the queue of events, so that these need not carry them: what goes to
 * one tap is present in the order in which it was sent. */
static void note_clock(rx_worker *w, uint32_t tap, int64_t clock)
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

/* A value that left at [sent] reaches this worker: to every place it goes to here. */
static void arrive(rx_worker *w, uint32_t number, rx_tag sent, int64_t clock, uint64_t payload)
{
    rx_sub *sub = &w->subs[number];
    if (sub->mode == RX_SLOTS && sub->n_taps > 1) rx__add32(refs_of(w, sub->refs, payload), sub->n_taps - 1);
    for (uint32_t i = sub->taps; i < sub->taps + sub->n_taps; i++) {
        rx_tap *tap = &w->taps[i];
        if (tap->cell != RX_STOP && w->cells[tap->cell].mode != RX_NONE && !w->modes[w->cells[tap->cell].mode].active) {
            rx__release(w, i, payload);              /* a connection of a mode that is not active carries nothing */
            continue;
        }
        rx_tag arrival = rx__plus(sent, tap->offset);
        uint64_t value = payload;
        if (tap->physical) arrival = physical_arrival(w, tap, sent, clock);
        if (tap->cell == RX_STOP) {
            w->stop = rx__least(w->stop, arrival);
            continue;
        }
        int soon = !tap->physical && tap->offset.time == 0 && tap->offset.microstep <= 1;
        if (sub->mode == RX_SLOTS && !soon && payload >= sub->slots / 2) {
            value = copy_out(w, sub, payload);
            if (value) rx__add32(refs_of(w, sub->refs, payload), UINT32_MAX);
            else value = payload;
        }
        if (w->clocks) note_clock(w, i, clock);
        rx__deliver(w, tap->cell, arrival, value);
    }
}

/* Asked before a reaction that sends to [consumers]; the answer yes holds for all that this tag may bring, so a message
 * never waits for room: in the middle of finishing a reaction there is no way back to the caller. */
int rx__rings_have_room(rx_worker *w, uint64_t consumers)
{
    for (uint64_t unknown = consumers & ~w->roomy; unknown; unknown &= unknown - 1) {
        uint32_t consumer = (uint32_t)__builtin_ctzll(unknown);
        const rx__ring *ring = w->out[consumer];
        if (ring->tail - rx__get(&ring->head) + w->most[consumer] > ring->capacity) return 0;
        w->roomy |= 1ull << consumer;
    }
    return 1;
}

static void send(rx_worker *w, uint32_t number, int64_t clock, uint64_t payload)
{
    const rx_sub *sub = &w->subs[number];
    rx__ring *ring = w->out[sub->consumer];
    assert(ring->tail - rx__get(&ring->head) < ring->capacity);
    message *m = &ring->messages[ring->tail & (ring->capacity - 1)];
    rx__put_tag(&m->sent, w->tag);
    m->clock = clock;
    m->payload = payload;
    m->sub = number;
    rx__put(&ring->tail, ring->tail + 1);
    w->sent_to |= 1ull << sub->consumer;
    if (w->image->virtual_time) rx__changed(w);
}

void rx__commit(rx_worker *w, uint32_t number, int64_t clock)
{
    rx_source *s = &w->sources[number];
    uint64_t payload = s->mode == RX_SLOTS ? s->slot : s->mode == RX_SEQUENCE ? s->sent : 0;
    if (s->mode == RX_SLOTS) rx__put32(refs_of(w, s->refs, s->slot), s->n_subs);
    s->sent++;
    for (uint32_t i = s->subs; i < s->subs + s->n_subs; i++) {
        uint32_t sub = w->lists[i];
        if (w->subs[sub].consumer == w->index) arrive(w, sub, w->tag, clock, payload);
        else send(w, sub, clock, payload);
    }
}

int rx__drain(rx_worker *w)
{
    int taken = w->t->inbox ? rx__inbox_drain(w) : 0;
    if (w->coming && !w->in_tag) taken += rx__inject(w);         /* not before the modes of the next tag are known */
    w->looked = 0;
    for (uint32_t i = 0; i < w->workers; i++) {
        rx__ring *ring = w->in[i];
        if (!ring) continue;
        uint64_t head = ring->head, tail = rx__get(&ring->tail), mask = ring->capacity - 1;
        if (head == tail) continue;
        for (uint64_t m = head; m != tail; m++) {
            message *one = &ring->messages[m & mask];
            arrive(w, one->sub, one->sent, one->clock, one->payload);
        }
        /* first the lower head, then the message is gone; the version moves either way */
        rx__publish(w, w->in_tag ? w->head : rx__least(w->head, rx__own_next(w)), w->line->passed, w->line->rank);
        rx__put(&ring->head, tail);
        rx__publish(w, w->head, w->line->passed, w->line->rank);
        taken += (int)(tail - head);
    }
    return taken;
}
