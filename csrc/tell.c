/* Telling the other machine: look at all workers here, send the messages that were in the rings then, and after them what
 * was seen. The one who tells may be stopped by a full socket; the next one goes on from there. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "link.h"

#define HEARTBEAT_NS 200000000
#define TICK_NS 1000000       /* where something may come from outside, others go on as the clock here does */

/* ---- what is to be sent ---- */

/* There is room for a good part again: bit by bit, as others read, would take much longer. */
static int is_writable(const rx_link *l)
{
    struct pollfd socket = {.fd = l->socket, .events = POLLOUT};
    return poll(&socket, 1, 0) != 0;
}

/* 1: all of it is gone. */
static int flush(rx_link *l, int patient)
{
    rx__shared *s = l->shared;
    if (s->full && !patient && !is_writable(l)) return 0;
    while (s->begin < s->end || s->direct_left) {
        struct iovec parts[] = {
            {l->outbox + s->begin, s->end - s->begin},
            {(uint8_t *)l->base + s->direct, s->direct_left},
        };
        const struct msghdr both = {.msg_iov = parts, .msg_iovlen = s->direct_left ? 2 : 1};
        ssize_t gone = sendmsg(l->socket, &both, MSG_NOSIGNAL | (patient ? 0 : MSG_DONTWAIT));
        if (gone < 0 && errno == EINTR && rx__is_up(l)) continue;
        if (gone < 0) {
            int full = errno == EAGAIN || errno == EWOULDBLOCK;
            if (!full || patient) rx__link_over(l, full ? RX_SILENT : RX_CUT);
            s->full = 1;
            return 0;
        }
        uint64_t bytes = (uint64_t)gone < s->end - s->begin ? (uint64_t)gone : s->end - s->begin;
        s->begin += bytes;
        s->direct += (uint64_t)gone - bytes;
        s->direct_left -= (uint64_t)gone - bytes;
    }
    s->begin = s->end = 0;
    s->full = 0;
    return 1;
}

enum { TIME_SIZE = sizeof(rx__frame) + sizeof(rx__f_time) };   /* for which there is room before each frame */

/* A large value goes from where it is, behind all that the outbox has, so nothing can be put there before it is gone. */
static int fits(const rx_link *l, uint32_t size, uint64_t data)
{
    const rx__shared *s = l->shared;
    return !s->direct_left && s->end + TIME_SIZE + sizeof(rx__frame) + size + (data < RX_DIRECT ? data : 0) <= l->outbox_room;
}

static void put(rx_link *l, const void *from, uint64_t n)
{
    if (n) memcpy(l->outbox + l->shared->end, from, n);      /* a ping has no body */
    l->shared->end += n;
}

static void put_frame(rx_link *l, uint32_t kind, const void *body, uint32_t size, const uint8_t *from, uint64_t data);

/* What is done by the virtual clock is told after what that shows. */
static void put_time(rx_link *l)
{
    int64_t now = (int64_t)rx__get((const uint64_t *)&l->image->now);
    if (now == l->shared->now) return;
    l->shared->now = now;
    put_frame(l, RX_F_TIME, &(rx__f_time){now}, sizeof(rx__f_time), NULL, 0);
}

static void put_frame(rx_link *l, uint32_t kind, const void *body, uint32_t size, const uint8_t *from, uint64_t data)
{
    rx__shared *s = l->shared;
    if (l->image->virtual_time && kind <= RX_F_TIME) {
        put_time(l);
        rx_traffic *t = rx__traffic(l, l->image->machine, l->machine);
        rx__put(&t->sent, t->sent + 1);
    }
    rx__frame f = {.kind = kind, .size = size, .data = data};
    f.check = rx__frame_check(&l->crcs, &f, body);
    put(l, &f, sizeof f);
    put(l, body, size);
    if (data < RX_DIRECT) put(l, from, data);
    else {
        s->direct = (uint64_t)(from - (const uint8_t *)l->base);
        s->direct_left = data;
    }
    s->frames[kind]++;
}

/* 0: there is no room for it yet. */
static int put_message(rx_link *l, const rx__message *m, int patient)
{
    const rx_sub *sub = RX_AT(rx_sub, l->base, l->image->subs) + m->sub;
    rx__f_message body = {.sent = rx__get_tag(&m->sent), .clock = m->clock, .payload = m->payload, .sub = m->sub, .known = 1};
    const uint8_t *from = NULL;
    uint64_t bytes = 0;
    uint64_t slot = l->slots_of[m->sub] + m->payload;
    rx_tag *carried = sub->mode == RX_SLOTS ? &l->carried[slot] : NULL;
    if (carried && !rx__equal(*carried, body.sent)) {
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
    if (!fits(l, sizeof body, bytes) && !flush(l, patient)) return 0;
    if (carried) {
        rx__add32(&l->lent[slot], 1);
        *carried = body.sent;
    }
    put_frame(l, RX_F_MESSAGE, &body, sizeof body, from, bytes);
    return 1;
}

static int put_messages(rx_link *l, int patient)
{
    for (uint32_t i = 0; i < l->n_out; i++) {
        const rx__ring *ring = rx__ring_between(l, l->out[i].producer, l->out[i].consumer);
        while (l->told[i] != l->tails[i]) {
            if (!put_message(l, rx__message_at(ring, l->told[i]), patient)) return 0;
            rx__put(&l->told[i], l->told[i] + 1);    /* before it goes: the answer may be soon */
        }
    }
    return 1;
}

/* Slots whose values no worker here needs any more, as many as there is room for. 1: all of them. */
static int put_some_releases(rx_link *l)
{
    const rx_sub *subs = RX_AT(rx_sub, l->base, l->image->subs);
    rx__shared *s = l->shared;
    uint32_t i = 0;
    if (!rx__lock(l, &s->holding)) return 1;
    while (i < s->n_in_use) {
        rx__held *held = &l->held[l->in_use[i]];
        if (rx__get32(RX_AT(uint32_t, l->base, subs[held->sub].refs) + held->slot)) {
            i++;
            continue;
        }
        rx__f_release body = {held->sub, held->slot, held->count, 0};
        if (!fits(l, sizeof body, 0)) break;
        put_frame(l, RX_F_RELEASE, &body, sizeof body, NULL, 0);
        held->count = 0;
        l->in_use[i] = l->in_use[--s->n_in_use];
    }
    int all = i == s->n_in_use;
    pthread_mutex_unlock(&s->holding);
    return all;
}

/* Who hears needs that lock, so it is free while the socket is full. */
static int put_releases(rx_link *l, int patient)
{
    while (!put_some_releases(l))
        if (!flush(l, patient)) return 0;
    return 1;
}

static int put_state(rx_link *l, int patient)
{
    if (!memcmp(l->state, l->last, l->state_size)) return 1;
    if (!fits(l, l->state_size, 0) && !flush(l, patient)) return 0;
    put_frame(l, RX_F_STATE, l->state, l->state_size, NULL, 0);
    memcpy(l->last, l->state, l->state_size);
    return 1;
}

static int put_bare(rx_link *l, uint32_t kind, int patient)
{
    if (!fits(l, 0, 0) && !flush(l, patient)) return 0;
    put_frame(l, kind, NULL, 0, NULL, 0);
    return flush(l, patient);
}

/* ---- looking ---- */

static void look_at_worker(const rx_link *l, uint32_t i, int64_t clock, rx__f_worker *row)
{
    const rx_image *image = l->image;
    const rx_tables *tables = RX_AT(rx_tables, l->base, image->tables) + i;
    const rx_line *line = rx__line(l->base, i);
    rx_tag head = rx__get_tag(&line->head);
    uint64_t idle = rx__get(&line->idle);
    row->events = idle == RX_EXPECTS ? rx__forever() : head;
    row->passed = rx__get_tag(&line->passed);
    row->rank = rx__get(&line->rank);
    row->own = tables->physical ? rx__head_with_outside(l->base, i, head, row->passed, clock) : head;
    row->idle = idle == RX_IDLE && tables->inbox && !rx__inbox_quiet(rx__inbox_of(l->base, i)) ? RX_UNREAD : idle;
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
    int64_t clock = rx__get32(&image->started) != 1 ? 0 : image->virtual_time ? (int64_t)rx__get((const uint64_t *)&image->now)
                                                                              : rx__clock() - image->start_ns;
    if (!image->virtual_time) clock -= clock % TICK_NS;      /* or each look would find news */
    state->starved = rx__get32(&image->starved) == 2;
    state->starved_at = state->starved ? image->starved_at : rx__tag(0, 0);
    for (uint32_t k = 0; k < l->n_mine; k++) look_at_worker(l, l->mine[k], clock, &rows[k]);
    for (uint32_t k = 0; k < l->n_mine; k++)
        for (uint32_t j = 0; j < l->n_mine; j++) {
            uint32_t a = l->mine[j], b = l->mine[k];
            rx_tag sent;
            if (!there[a * W + b] || !rx__ring_first(RX_AT(rx__ring, l->base, there[a * W + b]), &sent)) continue;
            rx_tag arrival = rx__plus(sent, direct[a * W + b]);
            if (rows[k].idle != RX_BUSY) rows[k].idle = RX_UNREAD;
            rows[k].own = rx__least(rows[k].own, arrival);
            rows[k].events = rx__least(rows[k].events, arrival);
        }
    for (uint32_t i = 0; i < l->n_out; i++) l->tails[i] = rx__get(&rx__ring_between(l, l->out[i].producer, l->out[i].consumer)->tail);
    for (uint32_t i = 0; i < l->n_sent; i++) {
        rx__ring *ring = rx__ring_between(l, l->sent[i].producer, l->sent[i].consumer);
        rings[i] = (rx__f_ring){0};
        /* The first message before the count: what is acknowledged in between makes it too early a tag, not too late. */
        if (!rx__ring_first(ring, &rings[i].first)) rings[i].first = rx__tag(0, 0);
        rings[i].acknowledged = rx__get(&ring->head);
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

/* What is left of the last look, then all that is new. 0: the socket is full, or the link is over. */
static int tell(rx_link *l, int patient)
{
    rx__shared *s = l->shared;
    for (int again = 1; again; s->looked = 0) {
        again = (int)s->looked;
        if (!again) look(l);
        s->looked = 1;
        if (!put_messages(l, patient) || !put_releases(l, patient) || !put_state(l, patient)) return 0;
    }
    if (l->image->virtual_time && !l->image->machine && (fits(l, 0, 0) || flush(l, patient))) put_time(l);
    if (!flush(l, patient)) return 0;
    rx__start_together(l);
    return 1;
}

/* Who finds the lock taken leaves it to the one who has it to look again. 0: the socket is full. */
int rx__tell_now(rx_link *l)
{
    rx__shared *s = l->shared;
    int all = 1;
    rx__put32_fenced(&s->untold, 1);
    while (all && rx__is_up(l) && rx__get32_fenced(&s->untold) && rx__try_lock(l, &s->telling)) {
        rx__put32_fenced(&s->untold, 0);
        all = tell(l, 0);
        if (!all) rx__put32_fenced(&s->untold, 1);
        pthread_mutex_unlock(&s->telling);
    }
    return all || !rx__is_up(l);
}

/* ---- the thread ---- */

/* 1: there was something. */
static int tell_patiently(rx_link *l)
{
    rx__shared *s = l->shared;
    uint64_t before = 0, after = 0;
    rx__put32_fenced(&s->untold, 1);
    while (rx__is_up(l) && rx__get32_fenced(&s->untold) && rx__lock(l, &s->telling)) {
        for (int kind = 0; kind <= RX_F_BYE; kind++) before += s->frames[kind];
        rx__put32_fenced(&s->untold, 0);
        tell(l, 1);
        for (int kind = 0; kind <= RX_F_BYE; kind++) after += s->frames[kind];
        pthread_mutex_unlock(&s->telling);
    }
    return before != after;
}

static void tell_bare(rx_link *l, uint32_t kind)
{
    if (!rx__lock(l, &l->shared->telling)) return;
    put_bare(l, kind, 1);
    pthread_mutex_unlock(&l->shared->telling);
}

static void tell_quiet(rx_link *l)
{
    if (!memcmp(l->quiet, l->last_quiet, l->quiet_size) || !rx__lock(l, &l->shared->telling)) return;
    if (fits(l, l->quiet_size, 0) || flush(l, 1)) {
        put_frame(l, RX_F_QUIET, l->quiet, l->quiet_size, NULL, 0);
        memcpy(l->last_quiet, l->quiet, l->quiet_size);
        flush(l, 1);
    }
    pthread_mutex_unlock(&l->shared->telling);
}

/* Virtual time: there was nothing to tell when there were so many changes. */
static void rest(rx_link *l, rx_bell *bell, uint64_t changes)
{
    int64_t until;
    rx__put_fenced(&bell->looked, changes);
    if (!rx__all_wait(l->base, changes, &until)) return;
    if (l->bell != rx__timekeeper(l->image)) rx__ring_bell(l->base, rx__timekeeper(l->image));
    else if (!l->image->machine) rx__jump(l, changes);
    else if (rx__is_quiet(l, changes)) tell_quiet(l);
}

void *rx__tell(void *link)
{
    rx_link *l = link;
    rx__shared *s = l->shared;
    rx_image *image = l->image;
    rx_bell *bell = RX_AT(rx_bell, l->base, image->bells) + l->bell;
    uint64_t bit = 1ull << l->bell;
    int64_t ns = HEARTBEAT_NS, said = rx__clock();
    for (uint32_t k = 0; k < l->n_mine; k++)
        if (RX_AT(rx_tables, l->base, image->tables)[l->mine[k]].physical && !image->virtual_time) ns = TICK_NS;
    while (rx__is_up(l)) {
        uint32_t ending = rx__get32(&s->ending);     /* asked first: all that workers did before is told, then */
        uint32_t rung = rx__get32(&bell->bell);
        uint64_t changes = rx__get_fenced(&image->changes);
        if (tell_patiently(l)) {
            said = rx__clock();
            continue;
        }
        if (ending) break;
        if (image->virtual_time) rest(l, bell, changes);
        rx__set_bits(&image->sleepers, bit);
        rx__fence();                                 /* what is looked at now could else be looked at before */
        int any = tell_patiently(l);
        if (!any && !rx__get32(&s->ending)) rx__sleep(&bell->bell, rung, ns);
        rx__clear_bits(&image->sleepers, bit);
        if (any) said = rx__clock();
        else if (rx__clock() - said >= HEARTBEAT_NS) {         /* by the clock: sleeps may last longer than they should */
            tell_bare(l, RX_F_PING);
            said = rx__clock();
        }
    }
    if (rx__is_up(l)) tell_bare(l, RX_F_BYE);
    return NULL;
}
