/* The thread of a link that tells the other machine: looks at all workers here, sends the messages that were in the rings
 * then, and after them what it saw. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "link.h"
#include "peers.h"

enum { DIRECT = 1 << 14 };    /* values of so many bytes and more are sent from where they are */
#define HEARTBEAT_NS 200000000
#define TICK_NS 1000000       /* where something may come from outside, others go on as the clock here does */

/* ---- what is to be sent ---- */

static void send_all(rx_link *l, const uint8_t *bytes, uint64_t n)
{
    while (n && rx__get32(&l->over) == RX_LINKED) {
        ssize_t gone = send(l->socket, bytes, n, MSG_NOSIGNAL);
        if (gone > 0) {
            bytes += gone;
            n -= (uint64_t)gone;
        } else if (errno != EINTR) rx__link_over(l, errno == EAGAIN ? RX_SILENT : RX_CUT);
    }
}

static void flush(rx_link *l)
{
    send_all(l, l->buffer.bytes, l->buffer.n);
    l->buffer.n = 0;
}

static void put(rx_link *l, const void *from, uint64_t n)
{
    rx__buffer *b = &l->buffer;
    if (b->n + n > b->room) {
        uint64_t room = 2 * (b->n + n);
        uint8_t *moved = realloc(b->bytes, room);
        if (!moved) {
            rx__link_over(l, RX_NO_ROOM);
            return;
        }
        b->bytes = moved;
        b->room = room;
    }
    if (n) memcpy(b->bytes + b->n, from, n);         /* a ping has no body */
    b->n += n;
}

static void put_frame(rx_link *l, uint32_t kind, const void *body, uint32_t size, uint64_t data)
{
    rx__frame f = {.kind = kind, .size = size, .data = data};
    f.check = rx__frame_check(&l->crcs, &f, body);
    put(l, &f, sizeof f);
    put(l, body, size);
    l->any_sent = 1;
}

static void put_data(rx_link *l, const uint8_t *from, uint64_t n)
{
    if (n < DIRECT) put(l, from, n);
    else {
        flush(l);
        send_all(l, from, n);
    }
}

static void put_message(rx_link *l, const rx__message *m)
{
    const rx_sub *sub = RX_AT(rx_sub, l->base, l->image->subs) + m->sub;
    rx__f_message body = {.sent = rx__get_tag(&m->sent), .clock = m->clock, .payload = m->payload, .sub = m->sub, .known = 1};
    const uint8_t *from = NULL;
    uint64_t bytes = 0;
    uint64_t slot = l->slots_of[m->sub] + m->payload;
    rx_tag *carried = sub->mode == RX_SLOTS ? &l->carried[slot] : NULL;
    if (carried) rx__add32(&l->lent[slot], 1);
    if (carried && !rx__equal(*carried, body.sent)) {
        *carried = body.sent;
        body.known = 0;
        from = (const uint8_t *)l->base + sub->data + m->payload * sub->stride;
        bytes = sub->bytes;
        if (!bytes) {
            const rx_record *record = (const rx_record *)from;
            bytes = record->size;
            body.kind = record->kind;
            from = record->spill && bytes > sub->stride - sizeof *record ? (const uint8_t *)l->base + record->spill : from + sizeof *record;
        }
    }
    put_frame(l, RX_F_MESSAGE, &body, sizeof body, bytes);
    if (bytes) put_data(l, from, bytes);
}

static void put_messages(rx_link *l)
{
    for (uint32_t i = 0; i < l->n_out; i++) {
        const rx__ring *ring = rx__ring_between(l, l->out[i].producer, l->out[i].consumer);
        while (l->told[i] != l->tails[i]) {
            const rx__message *m = rx__message_at(ring, l->told[i]);
            rx__put(&l->told[i], l->told[i] + 1);    /* before it goes: the answer may be soon */
            put_message(l, m);
        }
    }
}

/* Slots whose values no worker here needs any more. */
static void put_releases(rx_link *l)
{
    const rx_sub *subs = RX_AT(rx_sub, l->base, l->image->subs);
    pthread_mutex_lock(&l->lock);
    for (uint32_t i = 0; i < l->n_in_use;) {
        rx__held *held = &l->held[l->in_use[i]];
        if (rx__get32(RX_AT(uint32_t, l->base, subs[held->sub].refs) + held->slot)) {
            i++;
            continue;
        }
        rx__f_release body = {held->sub, held->slot, held->count, 0};
        put_frame(l, RX_F_RELEASE, &body, sizeof body, 0);
        held->count = 0;
        l->in_use[i] = l->in_use[--l->n_in_use];
    }
    pthread_mutex_unlock(&l->lock);
}

/* ---- looking ---- */

static void look_at_worker(const rx_link *l, uint32_t i, int64_t clock, rx__f_worker *row)
{
    const rx_image *image = l->image;
    const rx_tables *tables = RX_AT(rx_tables, l->base, image->tables) + i;
    const rx_line *line = rx__line(l->base, i);
    row->events = rx__get_tag(&line->head);
    row->passed = rx__get_tag(&line->passed);
    row->rank = rx__get(&line->rank);
    row->own = tables->physical ? rx__head_with_outside(l->base, i, row->events, row->passed, clock) : row->events;
    row->idle = rx__get(&line->idle) && (!tables->inbox || rx__inbox_quiet(rx__inbox_of(l->base, i)));
}

/* As frontier.c looks at lines and rings; a message to a worker that it has not read counts as its own event. */
static int look_once(rx_link *l)
{
    const rx_image *image = l->image;
    uint64_t versions[RX_MOST_WORKERS];
    uint32_t W = image->workers;
    rx__f_state *state = (rx__f_state *)l->state;
    rx__f_worker *rows = (rx__f_worker *)(state + 1);
    rx__f_ring *rings = (rx__f_ring *)(rows + l->n_mine);
    uint64_t *counts = (uint64_t *)(rings + l->n_sent);
    const rx_tag *direct = RX_AT(rx_tag, l->base, image->delays) + (uint64_t)W * W;
    const uint64_t *there = RX_AT(uint64_t, l->base, image->rings);
    for (uint32_t k = 0; k < l->n_mine; k++) {
        versions[k] = rx__get_fenced(&rx__line(l->base, l->mine[k])->version);
        if (versions[k] & 1) return 0;
    }
    int64_t clock = rx__get32(&image->started) == 1 ? rx__clock() - image->start_ns : 0;
    state->starved = rx__get32(&image->starved) == 2;
    state->starved_at = state->starved ? image->starved_at : rx__tag(0, 0);
    for (uint32_t k = 0; k < l->n_mine; k++) look_at_worker(l, l->mine[k], clock, &rows[k]);
    for (uint32_t k = 0; k < l->n_mine; k++)
        for (uint32_t j = 0; j < l->n_mine; j++) {
            uint32_t a = l->mine[j], b = l->mine[k];
            rx_tag sent;
            if (!there[a * W + b] || !rx__ring_first(RX_AT(rx__ring, l->base, there[a * W + b]), &sent)) continue;
            rx_tag arrival = rx__plus(sent, direct[a * W + b]);
            rows[k].idle = 0;
            rows[k].own = rx__least(rows[k].own, arrival);
            rows[k].events = rx__least(rows[k].events, arrival);
        }
    for (uint32_t i = 0; i < l->n_out; i++) l->tails[i] = rx__get(&rx__ring_between(l, l->out[i].producer, l->out[i].consumer)->tail);
    for (uint32_t i = 0; i < l->n_sent; i++) {
        rx__ring *ring = rx__ring_between(l, l->sent[i].producer, l->sent[i].consumer);
        rings[i] = (rx__f_ring){0};
        rings[i].acknowledged = rx__get(&ring->head);
        if (!rx__ring_first(ring, &rings[i].first)) rings[i].first = rx__tag(0, 0);
        rings[i].sent = rx__get(&ring->tail);
    }
    for (uint32_t i = 0; i < l->n_taken; i++) counts[i] = rx__get(&rx__ring_between(l, l->taken[i].producer, l->taken[i].consumer)->head);
    for (uint32_t k = 0; k < l->n_mine; k++)
        if (rx__get(&rx__line(l->base, l->mine[k])->version) != versions[k]) return 0;
    return 1;
}

static void look(rx_link *l)
{
    for (int tries = 1; !look_once(l); tries++)
        if (tries > 4096 && rx__get32(&l->image->abort)) {       /* a worker was killed while it published */
            memcpy(l->state, l->last, l->state_size);
            for (uint32_t i = 0; i < l->n_out; i++) l->tails[i] = rx__get(&l->told[i]);
            break;
        } else if (tries % 64) rx__pause();
        else nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    rx__f_state *state = (rx__f_state *)l->state;
    state->ready = rx__get32(&l->image->ready) == l->image->here;
    state->abort = rx__get32(&l->image->abort);
    state->start_ns = !l->image->machine && rx__get32(&l->image->started) == 1 ? l->image->start_ns : 0;
}

/* All that is new; 1: there was something. */
static int tell(rx_link *l)
{
    l->any_sent = 0;
    look(l);
    put_messages(l);
    put_releases(l);
    if (memcmp(l->state, l->last, l->state_size)) {
        put_frame(l, RX_F_STATE, l->state, l->state_size, 0);
        memcpy(l->last, l->state, l->state_size);
    }
    flush(l);
    rx__start_together(l);
    return l->any_sent;
}

void *rx__tell(void *link)
{
    rx_link *l = link;
    rx_image *image = l->image;
    rx_bell *bell = RX_AT(rx_bell, l->base, image->bells) + l->bell;
    uint64_t bit = 1ull << l->bell;
    int64_t ns = HEARTBEAT_NS, quiet = 0;
    for (uint32_t k = 0; k < l->n_mine; k++)
        if (RX_AT(rx_tables, l->base, image->tables)[l->mine[k]].physical) ns = TICK_NS;
    while (rx__get32(&l->over) == RX_LINKED) {
        uint32_t ending = rx__get32(&l->ending);     /* asked first: all that workers did before is told, then */
        if (tell(l)) {
            quiet = 0;
            continue;
        }
        if (ending) break;
        uint32_t rung = rx__get32(&bell->bell);
        rx__set_bits(&image->sleepers, bit);
        if (!tell(l) && !rx__get32(&l->ending) && rx__sleep(bell, rung, ns) == ETIMEDOUT && (quiet += ns) >= HEARTBEAT_NS) {
            put_frame(l, RX_F_PING, NULL, 0, 0);
            flush(l);
            quiet = 0;
        }
        rx__clear_bits(&image->sleepers, bit);
    }
    if (rx__get32(&l->over) == RX_LINKED) {
        put_frame(l, RX_F_BYE, NULL, 0, 0);
        flush(l);
    }
    return NULL;
}
