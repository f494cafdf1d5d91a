/* Hearing from the other machine, and writing down here what it says. What comes may be damaged, or not from who it should
 * be: nothing is believed that could lead outside of the places that are for that. The one who hears takes what there is, and
 * the next one goes on in the middle of a frame, or of a value. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "link.h"

#define LONGEST_QUIET_NS 100000000     /* a worker that listened may be stopped, or busy: the thread helps out */

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

/* Whether it can be read as what it is said to be, where it will lie. */
static int is_object(const rx_sub *sub, uint64_t kind, uint64_t bytes)
{
    switch (kind) {
    case RX_PICKLED: return 1;
    case RX_NOTHING: return bytes == 0;
    case RX_BOOL: return bytes == 1;
    case RX_STR: case RX_BYTES: return bytes <= sub->stride - sizeof(rx_record);
    default: return kind <= RX_NUMPY_FLOAT32 && bytes == sizeof(int64_t);
    }
}

static rx_tag passed_by(const rx_link *l, uint32_t worker)
{
    const rx_line *line = rx__line(l->base, worker);
    for (;; rx__pause()) {
        uint64_t version = rx__get(&line->version);
        rx_tag passed = rx__get_tag(&line->passed);
        if (!(version & 1) && rx__get(&line->version) == version) return passed;
        if (rx__get32(&l->image->abort)) return rx__forever();        /* it was killed while it published */
    }
}

/* Its producer was not beyond that tag, nothing that it sent later came sooner, and its consumer is not where nothing
 * was to come any more - unless it is done, and takes what still comes. */
static int in_order(const rx_link *l, const rx_sub *sub, const rx__ring *ring, rx_tag sent)
{
    const rx_tag *direct = RX_AT(rx_tag, l->base, l->image->delays) + (uint64_t)l->image->workers * l->image->workers;
    rx_tag passed = passed_by(l, sub->consumer);
    if (sent.time < 0 || rx__is_forever(sent) || rx__less(sent, rx__line(l->base, sub->producer)->passed)) return 0;
    if (ring->tail && rx__less(sent, rx__message_at(ring, ring->tail - 1)->sent)) return 0;
    rx_tag arrival = rx__plus(sent, direct[sub->producer * l->image->workers + sub->consumer]);
    return rx__is_forever(passed) || !rx__less(arrival, passed);
}

/* Whether it may be believed, and where its value goes. */
static int message(rx_link *l, const rx__frame *f)
{
    const rx__f_message *m = (const rx__f_message *)l->body;
    if (f->size != sizeof *m || m->sub >= l->image->n_subs) return RX_NONSENSE;
    const rx_sub *sub = RX_AT(rx_sub, l->base, l->image->subs) + m->sub;
    if (l->image->machine_of[sub->producer] != l->machine || !rx__is_mine(l, sub->consumer)) return RX_NONSENSE;
    rx__ring *ring = rx__ring_between(l, sub->producer, sub->consumer);
    int slots = sub->mode == RX_SLOTS;
    if (!rx__ring_fits(ring, 1) || m->payload >= (slots ? sub->slots : 1)) return RX_NONSENSE;
    if (!in_order(l, sub, ring, m->sent)) return RX_NONSENSE;
    if (f->data && (!slots || m->known || (sub->bytes ? f->data != sub->bytes : f->data > l->image->limit))) return RX_NONSENSE;
    if (slots && !m->known) {
        if (rx__get32(RX_AT(uint32_t, l->base, sub->refs) + m->payload)) return RX_NONSENSE;     /* it is in use */
        if (sub->bytes ? !f->data : !is_object(sub, m->kind, f->data)) return RX_NONSENSE;
        uint8_t *to = sub->bytes ? RX_AT(uint8_t, l->base, sub->data + m->payload * sub->stride)
                                 : place_of_object(l, sub, m->payload, f->data, m->kind);
        if (!to) return RX_NO_ROOM;
        l->shared->into = (uint64_t)(to - (uint8_t *)l->base);
        l->shared->into_left = f->data;
    }
    return RX_LINKED;
}

/* With its value, if it brings one. */
static void deliver(rx_link *l)
{
    const rx__f_message *m = (const rx__f_message *)l->body;
    const rx_sub *sub = RX_AT(rx_sub, l->base, l->image->subs) + m->sub;
    if (sub->mode == RX_SLOTS) {
        uint32_t slot = l->slots_of[m->sub] + (uint32_t)m->payload;
        rx__held *held = &l->held[slot];
        if (!rx__lock(l, &l->shared->holding)) return;
        if (!held->count) {
            *held = (rx__held){m->sub, (uint32_t)m->payload, 0};
            l->in_use[l->shared->n_in_use++] = slot;
        }
        held->count++;
        rx__add32(RX_AT(uint32_t, l->base, sub->refs) + m->payload, 1);
        pthread_mutex_unlock(&l->shared->holding);
    }
    rx__ring_push(rx__ring_between(l, sub->producer, sub->consumer), m->sent, m->clock, m->payload, m->sub);
    if (l->image->virtual_time) rx__have_heard(l);
}

static int release(rx_link *l, const rx__frame *f)
{
    const rx__f_release *r = (const rx__f_release *)l->body;
    if (f->size != sizeof *r || f->data || r->sub >= l->image->n_subs) return RX_NONSENSE;
    const rx_sub *sub = RX_AT(rx_sub, l->base, l->image->subs) + r->sub;
    if (!rx__is_mine(l, sub->producer) || sub->mode != RX_SLOTS || r->slot >= sub->slots) return RX_NONSENSE;
    uint32_t *lent = &l->lent[l->slots_of[r->sub] + r->slot];
    if (!r->count || rx__get32(lent) < r->count) return RX_NONSENSE;
    rx__add32(lent, -r->count);
    rx__add32(RX_AT(uint32_t, l->base, sub->refs) + r->slot, -r->count);
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
        if (rx__is_mine(l, producer)) rx__put(&rx__ring_between(l, producer, consumer)->head, counts[i]);
        else rx__put(&passages[producer * W + consumer].received, counts[i]);
    }
}

/* No worker has gone back, and no machine has taken more from a ring than it was sent, nor less than before. */
static int possible(const rx_link *l, const rx__f_worker *rows, const rx__f_ring *rings, const uint64_t *counts)
{
    const rx_passage *passages = RX_AT(rx_passage, l->base, l->image->passages);
    uint32_t W = l->image->workers, out = 0;
    for (uint32_t k = 0; k < l->n_theirs; k++)
        if (rx__less(rows[k].passed, rx__line(l->base, l->theirs[k])->passed)) return 0;
    for (uint32_t i = 0; i < l->n_heard; i++) {
        const rx_passage *passage = &passages[l->heard[i].producer * W + l->heard[i].consumer];
        if (rings[i].acknowledged > rings[i].sent) return 0;
        if (rings[i].acknowledged < passage->acknowledged || rings[i].sent < passage->sent) return 0;
    }
    for (uint32_t i = 0; i < l->n_gave; i++) {
        uint32_t producer = l->gave[i].producer, consumer = l->gave[i].consumer;
        int mine = rx__is_mine(l, producer);
        uint64_t before = mine ? rx__ring_between(l, producer, consumer)->head : passages[producer * W + consumer].received;
        if (counts[i] < before) return 0;
        if (mine && counts[i] > rx__get(&l->told[out++])) return 0;
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
    if (s->starved && s->starved_at.time < 0) return RX_NONSENSE;
    if (s->start_ns < 0 || s->start_ns > RX_FOREVER_NS / 2 || !possible(l, rows, rings, counts)) return RX_NONSENSE;
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
    if (s->start_ns && !l->machine) rx__start_with_first(l, s->start_ns);
    wake_all_here(l);
    wake_other_links(l);
    return RX_LINKED;
}

/* ---- virtual time ---- */

static int time_there(rx_link *l, const rx__frame *f)
{
    const rx__f_time *t = (const rx__f_time *)l->body;
    if (f->size != sizeof *t || f->data || t->now < 0 || !l->image->virtual_time) return RX_NONSENSE;
    uint64_t *now = (uint64_t *)&l->image->now, shown = rx__get(now);
    if (!l->image->machine && (uint64_t)t->now > shown) return RX_NONSENSE;      /* no other moves the clock on */
    while (shown < (uint64_t)t->now && !rx__swap_if(now, &shown, (uint64_t)t->now)) {}   /* other links say so, too */
    return RX_LINKED;
}

static int quiet(rx_link *l, const rx__frame *f)
{
    if (f->size != l->quiet_size || f->data || !l->image->virtual_time || l->image->machine) return RX_NONSENSE;
    return rx__note_quiet(l, (const rx__f_quiet *)l->body) ? RX_LINKED : RX_NONSENSE;
}

/* ---- the end ---- */

/* Whoever says goodbye while its workers go on takes away what others wait for. */
static int all_done_there(const rx_link *l)
{
    for (uint32_t k = 0; k < l->n_theirs; k++)
        if (!rx__is_forever(rx__line(l->base, l->theirs[k])->passed)) return 0;
    return 1;
}

static int bye(rx_link *l)
{
    if (!all_done_there(l) && !rx__get32(&l->image->abort)) return RX_CUT;
    rx__put32_fenced(&l->shared->said_bye, 1);
    return RX_LINKED;
}

static int is_bare(const rx__frame *f) { return !f->size && !f->data; }

/* A frame that is here with its body, but for its value. */
static int understand(rx_link *l, const rx__frame *f)
{
    rx__shared *s = l->shared;
    if (f->check != rx__frame_check(&l->crcs, f, l->body)) return RX_NONSENSE;
    if (f->kind == RX_F_MESSAGE) return message(l, f);
    if (f->kind == RX_F_RELEASE) return release(l, f);
    if (f->kind == RX_F_TIME) return time_there(l, f);
    if (f->kind == RX_F_QUIET) return quiet(l, f);
    if (f->kind == RX_F_BYE && is_bare(f)) return bye(l);
    if (f->kind != RX_F_STATE) return f->kind == RX_F_PING && is_bare(f) ? RX_LINKED : RX_NONSENSE;
    int why = state(l, f);
    if (why == RX_LINKED && !s->ready && ((const rx__f_state *)l->body)->ready) {
        s->ready = 1;
        rx__add32(&l->image->machines_ready, 1);
        rx__start_together(l);
    }
    return why;
}

/* ---- what has come ---- */

static int goes_on(const rx_link *l) { return rx__is_up(l) && !rx__get32(&l->shared->said_bye); }

static uint64_t take(rx_link *l, void *to, uint64_t n)
{
    rx__shared *s = l->shared;
    if (n > s->last - s->first) n = s->last - s->first;
    memcpy(to, l->inbox + s->first, n);
    s->first += n;
    return n;
}

static void value_came(rx_link *l, uint64_t n)
{
    rx__shared *s = l->shared;
    s->into += n;
    s->into_left -= n;
    if (!s->into_left) deliver(l);
}

/* Whole frames in the inbox; of a value that comes behind them, what is there. */
static int understand_all(rx_link *l)
{
    rx__shared *s = l->shared;
    int why = RX_LINKED;
    while (why == RX_LINKED && goes_on(l) && !s->into_left && s->last - s->first >= sizeof s->frame) {
        memcpy(&s->frame, l->inbox + s->first, sizeof s->frame);
        if (s->frame.size > l->room) return RX_NONSENSE;
        if (s->last - s->first < sizeof s->frame + s->frame.size) break;
        s->first += sizeof s->frame;
        take(l, l->body, s->frame.size);
        int counted = l->image->virtual_time && s->frame.kind <= RX_F_TIME;
        if (counted) rx__begin_to_hear(l);
        why = understand(l, &s->frame);
        if (counted && s->frame.kind != RX_F_MESSAGE) rx__have_heard(l);
        if (why != RX_LINKED || s->frame.kind != RX_F_MESSAGE) continue;
        if (s->into_left) value_came(l, take(l, RX_AT(uint8_t, l->base, s->into), s->into_left));
        else deliver(l);
    }
    memmove(l->inbox, l->inbox + s->first, s->last - s->first);
    s->last -= s->first;
    s->first = 0;
    return why;
}

/* The lock is held. */
static void hear(rx_link *l)
{
    rx__shared *s = l->shared;
    while (goes_on(l)) {
        int value = s->into_left > 0;
        void *to = value ? RX_AT(uint8_t, l->base, s->into) : l->inbox + s->last;
        uint64_t room = value ? s->into_left : l->inbox_room - s->last;
        ssize_t got = recv(l->socket, to, room, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (got <= 0) {
            rx__link_over(l, RX_CUT);
            return;
        }
        rx__put((uint64_t *)&s->heard, (uint64_t)rx__clock());
        int why = RX_LINKED;
        if (value) value_came(l, (uint64_t)got);
        else {
            s->last += (uint64_t)got;
            why = understand_all(l);
        }
        if (why != RX_LINKED) rx__link_over(l, (uint32_t)why);
        if (!value && (uint64_t)got < room) return;      /* that was all */
    }
}

/* The lock is not taken before there is something: a worker may be killed where it looks on. */
void rx__hear_now(rx_link *l)
{
    char byte;
    if (!goes_on(l) || (recv(l->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN)) return;
    if (!rx__try_lock(l, &l->shared->hearing)) return;
    hear(l);
    pthread_mutex_unlock(&l->shared->hearing);
}

/* ---- the thread ---- */

void rx__listen(rx_link *l)
{
    rx__add32(&l->shared->listeners, 1);
    if (!rx__get32(&l->shared->quiet)) rx__put32(&l->shared->quiet, 1);
}

void rx__call_thread(rx_link *l)
{
    rx__shared *s = l->shared;
    if (!rx__get32(&s->listeners) && rx__swap_if32(&s->quiet, 1, 0)) rx__rouse(&s->quiet);
}

void *rx__hear(void *link)
{
    rx_link *l = link;
    rx__shared *s = l->shared;
    struct pollfd socket = {.fd = l->socket, .events = POLLIN};
    while (goes_on(l)) {
        int helps = rx__get32(&s->quiet) && rx__sleep(&s->quiet, 1, LONGEST_QUIET_NS) == ETIMEDOUT;
        int64_t left = (int64_t)rx__get((uint64_t *)&s->heard) + l->silence - rx__clock();
        int ms = helps || left < 0 ? 0 : (int)(left / 1000000) + 1;
        if (poll(&socket, 1, l->silence || helps ? ms : -1) <= 0) {
            if (l->silence && rx__clock() - (int64_t)rx__get((uint64_t *)&s->heard) >= l->silence) rx__link_over(l, RX_SILENT);
        } else if ((helps || !rx__get32(&s->quiet)) && rx__lock(l, &s->hearing)) {
            hear(l);
            pthread_mutex_unlock(&s->hearing);
        }
    }
    return NULL;
}
