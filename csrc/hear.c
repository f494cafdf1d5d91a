/* The thread of a link that hears from the other machine and writes down here what it says. It believes nothing that could
 * lead outside of the places that are for that: what comes may be damaged, or not from who it should be. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "link.h"
#include "peers.h"

static int receive(rx_link *l, void *to, uint64_t n)
{
    uint8_t *at = to;
    while (n) {
        ssize_t got = recv(l->socket, at, n, 0);
        if (got > 0) {
            at += got;
            n -= (uint64_t)got;
        } else if (!got || errno != EINTR) {
            rx__link_over(l, got && (errno == EAGAIN || errno == EWOULDBLOCK) ? RX_SILENT : RX_CUT);
            return 0;
        }
    }
    return 1;
}

static rx__ring *ring_of(const rx_link *l, uint32_t producer, uint32_t consumer)
{
    uint64_t at = RX_AT(uint64_t, l->base, l->image->rings)[producer * l->image->workers + consumer];
    return at ? RX_AT(rx__ring, l->base, at) : NULL;
}

static void wake_all_here(rx_link *l)
{
    uint64_t sleepers = rx__get_fenced(&l->image->sleepers);
    for (uint32_t k = 0; k < l->n_mine; k++)
        if (sleepers >> l->mine[k] & 1) rx__ring_bell(l->base, l->mine[k]);
}

/* Third machines wait for what this one says of what was acknowledged. */
static void wake_other_links(rx_link *l)
{
    uint64_t sleepers = rx__get_fenced(&l->image->sleepers);
    for (uint32_t i = 0; l->image->machines > 2 && i < l->image->workers; i++)
        if (!rx__is_mine(l, i) && i != l->bell && sleepers >> i & 1) rx__ring_bell(l->base, i);
}

/* ---- messages ---- */

/* Where the value of an object goes, in its slot or in a region of its own; NULL: no memory. */
static uint8_t *place_of_object(rx_link *l, const rx_sub *sub, uint64_t slot, uint64_t bytes, uint64_t kind)
{
    rx_record *record = RX_AT(rx_record, l->base, sub->data + slot * sub->stride);
    uint8_t *to = (uint8_t *)(record + 1);
    if (bytes > sub->stride - sizeof *record) {
        if (record->capacity < bytes) {
            uint64_t capacity = 4096;
            while (capacity < bytes) capacity *= 2;
            record->spill = rx_spill(l->base, l->fd, capacity);
            record->capacity = record->spill ? capacity : 0;
            if (!record->spill) return NULL;
        }
        to = (uint8_t *)l->base + record->spill;
    }
    record->size = bytes;
    record->kind = kind;
    return to;
}

static int message(rx_link *l, const rx__frame *f)
{
    const rx__f_message *m = (const rx__f_message *)l->body;
    if (f->size != sizeof *m || m->sub >= l->image->n_subs) return RX_NONSENSE;
    const rx_sub *sub = RX_AT(rx_sub, l->base, l->image->subs) + m->sub;
    if (l->image->machine_of[sub->producer] != l->machine || !rx__is_mine(l, sub->consumer)) return RX_NONSENSE;
    rx__ring *ring = ring_of(l, sub->producer, sub->consumer);
    int slots = sub->mode == RX_SLOTS;
    if (!rx__ring_fits(ring, 1) || (slots && m->payload >= sub->slots)) return RX_NONSENSE;
    if (f->data && (!slots || m->known || (sub->bytes ? f->data != sub->bytes : f->data > l->image->limit))) return RX_NONSENSE;
    if (slots) {
        uint32_t slot = l->slots_of[m->sub] + (uint32_t)m->payload, *refs = RX_AT(uint32_t, l->base, sub->refs) + m->payload;
        rx__held *held = &l->held[slot];
        if (!m->known) {
            if (rx__get32(refs) || (sub->bytes && !f->data)) return RX_NONSENSE;     /* it is in use */
            uint8_t *to = sub->bytes ? RX_AT(uint8_t, l->base, sub->data + m->payload * sub->stride)
                                     : place_of_object(l, sub, m->payload, f->data, m->kind);
            if (!to) return RX_NO_ROOM;
            if (!receive(l, to, f->data)) return RX_CUT;
        }
        pthread_mutex_lock(&l->lock);
        if (!held->count) {
            *held = (rx__held){m->sub, (uint32_t)m->payload, 0};
            l->in_use[l->n_in_use++] = slot;
        }
        held->count++;
        rx__add32(refs, 1);
        pthread_mutex_unlock(&l->lock);
    }
    rx__ring_push(ring, m->sent, m->clock, m->payload, m->sub);
    return RX_LINKED;
}

static int release(rx_link *l, const rx__frame *f)
{
    const rx__f_release *r = (const rx__f_release *)l->body;
    if (f->size != sizeof *r || f->data || r->sub >= l->image->n_subs) return RX_NONSENSE;
    const rx_sub *sub = RX_AT(rx_sub, l->base, l->image->subs) + r->sub;
    if (!rx__is_mine(l, sub->producer) || sub->mode != RX_SLOTS || r->slot >= sub->slots) return RX_NONSENSE;
    uint32_t *refs = RX_AT(uint32_t, l->base, sub->refs) + r->slot;
    if (!r->count || rx__get32(refs) < r->count) return RX_NONSENSE;
    rx__add32(refs, -r->count);
    wake_all_here(l);
    return RX_LINKED;
}

/* ---- states ---- */

static void note_rings(rx_link *l, const rx__f_ring *rings, const uint64_t *counts)
{
    rx_passage *passages = RX_AT(rx_passage, l->base, l->image->passages);
    uint32_t W = l->image->workers;
    for (uint32_t i = 0; i < l->n_heard; i++) {
        rx_passage *passage = &passages[l->heard[i].producer * W + l->heard[i].consumer];
        rx__put_tag(&passage->first, rings[i].first);
        rx__put(&passage->acknowledged, rings[i].acknowledged);
        rx__put(&passage->sent, rings[i].sent);
    }
    for (uint32_t i = 0; i < l->n_gave; i++) {
        uint32_t producer = l->gave[i].producer, consumer = l->gave[i].consumer;
        if (rx__is_mine(l, producer)) rx__put(&ring_of(l, producer, consumer)->head, counts[i]);
        else rx__put(&passages[producer * W + consumer].received, counts[i]);
    }
}

/* No machine has taken more from a ring than was put there, nor less than before. */
static int possible(const rx_link *l, const uint64_t *counts)
{
    for (uint32_t i = 0; i < l->n_gave; i++) {
        if (!rx__is_mine(l, l->gave[i].producer)) continue;
        const rx__ring *ring = ring_of(l, l->gave[i].producer, l->gave[i].consumer);
        uint64_t head = ring->head, tail = rx__get(&ring->tail);
        if (counts[i] < head || counts[i] > tail) return 0;
    }
    return 1;
}

static int state(rx_link *l, const rx__frame *f)
{
    if (f->size != l->their_state_size || f->data) return RX_NONSENSE;
    const rx__f_state *s = (const rx__f_state *)l->body;
    const rx__f_worker *rows = (const rx__f_worker *)(s + 1);
    const rx__f_ring *rings = (const rx__f_ring *)(rows + l->n_theirs);
    const uint64_t *counts = (const uint64_t *)(rings + l->n_heard);
    if (!possible(l, counts)) return RX_NONSENSE;
    if (s->abort) rx_abort(l->base, RX_E_ABORTED);
    if (s->starved && rx__swap_if32(&l->image->starved, 0, 1)) {
        l->image->starved_at = s->starved_at;
        rx__put32_fenced(&l->image->starved, 2);
    }
    /* All of them at one moment: who reads any of it meanwhile sees that it is being written. */
    for (uint32_t k = 0; k < l->n_theirs; k++) {
        rx_line *line = rx__line(l->base, l->theirs[k]);
        rx__put(&line->version, line->version + 1);
    }
    for (uint32_t k = 0; k < l->n_theirs; k++) {
        rx_line *line = rx__line(l->base, l->theirs[k]);
        rx__put_tag(&line->head, rows[k].events);
        rx__put_tag(&RX_AT(rx_far, l->base, l->image->far)[l->theirs[k]].own, rows[k].own);
        rx__put_tag(&line->passed, rows[k].passed);
        rx__put(&line->rank, rows[k].rank);
        rx__put(&line->idle, rows[k].idle);
    }
    note_rings(l, rings, counts);
    for (uint32_t k = 0; k < l->n_theirs; k++) {
        rx_line *line = rx__line(l->base, l->theirs[k]);
        rx__put_fenced(&line->version, line->version + 1);
    }
    wake_all_here(l);
    wake_other_links(l);
    return RX_LINKED;
}

void *rx__hear(void *link)
{
    rx_link *l = link;
    int ready = 0, why = RX_LINKED;
    rx__frame f = {0};
    while (why == RX_LINKED && receive(l, &f, sizeof f)) {
        if (f.size > l->room) why = RX_NONSENSE;
        else if (!receive(l, l->body, f.size)) break;
        else if (f.check != rx__frame_check(&l->crcs, &f, l->body)) why = RX_NONSENSE;
        else if (f.kind == RX_F_MESSAGE) why = message(l, &f);
        else if (f.kind == RX_F_RELEASE) why = release(l, &f);
        else if (f.kind == RX_F_STATE) {
            why = state(l, &f);
            if (why == RX_LINKED && !ready && ((const rx__f_state *)l->body)->ready) {
                ready = 1;
                rx__add32(&l->image->machines_ready, 1);
                rx__start_together(l);
            }
        } else if (f.kind == RX_F_BYE && !f.size && !f.data) break;
        else if (f.kind != RX_F_PING || f.size || f.data) why = RX_NONSENSE;
    }
    if (why != RX_LINKED) rx__link_over(l, (uint32_t)why);
    else if (f.kind == RX_F_BYE) rx__put32_fenced(&l->said_bye, 1);
    return NULL;
}
