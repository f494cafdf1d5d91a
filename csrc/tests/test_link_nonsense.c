/* What does a link do with what no machine of this program would say? Frames that were recorded on their way, made to
 * fit the moment, damaged at random, half of them with a checksum that is right again. Nothing may be written but where
 * the other machine may write, and every reader comes to an end.
 *
 *     test_link_nonsense [damaged frames [seed]] */
#include <stddef.h>
#include <sys/stat.h>

#include "frames.h"
#include "link.h"
#include "machines.h"
#include "random.h"

#if defined(__SANITIZE_THREAD__)
enum { DAMAGED = 30000, ROUNDS = 25 };
#elif defined(__SANITIZE_ADDRESS__)
enum { DAMAGED = 60000, ROUNDS = 60 };
#else
enum { DAMAGED = 200000, ROUNDS = 150 };
#endif

enum { EACH = 300, LONGEST = 1 << 15, ROOM = 1 << 18, THERE = 0, HERE = 1 };

static rx__crcs crcs;

/* ---- what was recorded ---------------------------------------------------------------------------------------- */

typedef struct { const uint8_t *bytes; size_t n; } piece;
typedef struct { recording all; piece *frames; size_t n; } record;

static void look_at(program *p, int r, list triggers, list effects)
{
    react(p, r, triggers, NOTHING, effects, NULL, NULL);
}

/* Two workers on the machine that hears, the others elsewhere, and values of all kinds between them. */
static program *talkative(void)
{
    program *p = new_program();
    int r[4], out[4], more[4];
    for (int k = 0; k < 4; k++) {
        r[k] = reactor_on(p, k);
        out[k] = output(p, r[k], k % 2 ? 64 : 8);
        more[k] = object_output(p, r[k], k % 2 ? 40 : 3000);
        look_at(p, r[k], OF(timer(p, r[k], k, 3)), OF(out[k]));
    }
    for (int k = 0; k < 4; k++) {
        list now = NOTHING, later = NOTHING;
        for (int i = 1; i < 4; i++) {
            add(&now, input(p, r[k], out[(k + i) % 4], rx__tag(0, 1)));
            add(&later, input(p, r[k], more[(k + i) % 4], rx__tag(5 * i, 0)));
        }
        react(p, r[k], now, NOTHING, OF(more[k]), NULL, NULL);
        p->reactions[p->n_reactions - 1].stop = rx__tag(1000, 0);
        look_at(p, r[k], later, NOTHING);
    }
    p->timeout = 60;
    p->workers = 4;
    p->machines = 3;
    memcpy(p->machine_of, (int[]){THERE, HERE, 2, HERE}, 4 * sizeof(int));
    return p;
}

/* One machine speaks, and workers of the other only listen, so that what was said once can be said again. */
static program *one_sided(void)
{
    program *p = new_program();
    int r[4], out[4], more[4];
    for (int k = 0; k < 4; k++) {
        r[k] = reactor_on(p, k);
        out[k] = output(p, r[k], 8);
        more[k] = output(p, r[k], 3000);
    }
    for (int k = 0; k < 4; k++) {
        list heard = NOTHING;
        if (k < 2) look_at(p, r[k], OF(timer(p, r[k], k, 3)), OF(out[k], more[k]));
        for (int i = 0; i < 4 && k >= 2; i++) {
            if (i < 2) add(&heard, input(p, r[k], out[i], AT_ONCE));
            add(&heard, input(p, r[k], i < 2 ? more[i] : out[5 - k], rx__tag(1 + 4 * i, 0)));
        }
        if (k >= 2) look_at(p, r[k], heard, OF(out[k]));
    }
    p->timeout = 60;
    p->workers = 4;
    p->machines = 2;
    memcpy(p->machine_of, (int[]){THERE, THERE, HERE, HERE}, 4 * sizeof(int));
    return p;
}

static record run_and_record(program *p)
{
    record r = {0};
    machines *m = link_up(p, 60, 90, (way){.recording = &r.all});
    start_machines(m);
    join_machines(m);
    end_links(m, RX_SAID_BYE);
    end_machines(m);
    size_t kinds[RX_F_BYE + 1] = {0};
    r.frames = calloc(r.all.n / sizeof(rx__frame) + 1, sizeof *r.frames);
    for (size_t at = 0; at < r.all.n;) {
        rx__frame f;
        memcpy(&f, r.all.bytes + at, sizeof f);
        assert(f.kind <= RX_F_BYE && f.check == rx__frame_check(&crcs, &f, r.all.bytes + at + sizeof f));
        kinds[f.kind]++;
        r.frames[r.n++] = (piece){r.all.bytes + at, sizeof f + f.size + f.data};
        at += sizeof f + f.size + f.data;
    }
    assert(kinds[RX_F_STATE] > 3 && kinds[RX_F_MESSAGE] > 50 && kinds[RX_F_BYE] == 1);
    assert(kinds[RX_F_RELEASE] > 10 || p->machines == 2);
    assert(kinds[RX_F_TIME] > 10 || !p->virtual_time);
    return r;
}

static void forget(record *r) { free(r->all.bytes), free(r->frames); }

/* ---- the machine that hears ----------------------------------------------------------------------------------- */

typedef struct {
    run *run;
    uint8_t *base, *fresh;    /* the arena, as it was at first, */
    uint8_t *writable;        /* and which bytes of it the other machine may write */
    uint64_t size;
    rx_link *link;
    int near, far;
    int64_t time;             /* of what its workers send */
} listener;

static void may_write(listener *l, uint64_t at, uint64_t n) { memset(l->writable + at, 1, n); }

static void find_writable(listener *l)
{
    const rx_image *image = rx__image(l->base);
    const uint64_t *rings = RX_AT(uint64_t, l->base, image->rings);
    uint32_t W = image->workers;
#define FIELD(name) may_write(l, offsetof(rx_image, name), sizeof image->name)
    FIELD(sleepers), FIELD(spill), FIELD(abort), FIELD(starved), FIELD(starved_at), FIELD(started), FIELD(start_ns);
    FIELD(machines_ready), FIELD(changes), FIELD(links);
    if (image->virtual_time) {
        FIELD(now);
        may_write(l, image->traffic + (HERE * image->machines + THERE) * sizeof(rx_traffic), sizeof(rx_traffic));
    }
    for (uint32_t i = 0; i < W; i++) {
        may_write(l, image->bells + i * sizeof(rx_bell), sizeof(uint32_t));
        if (image->machine_of[i] != THERE) continue;
        may_write(l, image->bells + i * sizeof(rx_bell) + offsetof(rx_bell, looked), sizeof(uint64_t));
        may_write(l, image->bells + i * sizeof(rx_bell) + offsetof(rx_bell, until), sizeof(int64_t));
        may_write(l, image->lines + i * sizeof(rx_line), sizeof(rx_line));
        may_write(l, image->far + i * sizeof(rx_far), sizeof(rx_tag));
    }
    for (uint32_t a = 0; a < W; a++)
        for (uint32_t b = 0; b < W; b++) {
            int from = image->machine_of[a], to = image->machine_of[b];
            uint64_t ring = rings[a * W + b], passage = image->passages + (a * W + b) * sizeof(rx_passage);
            if (!ring || from == to) continue;
            if (from == THERE && to != HERE) may_write(l, passage, offsetof(rx_passage, received));
            if (to == THERE && from != HERE) may_write(l, passage + offsetof(rx_passage, received), sizeof(uint64_t));
            if (from + to != THERE + HERE) continue;           /* of these two, one writes head and the other tail: */
            may_write(l, ring, offsetof(rx__ring, capacity));  /* workers do so here, too */
            may_write(l, ring + sizeof(rx__ring), RX_AT(rx__ring, l->base, ring)->capacity * sizeof(rx__message));
        }
    for (const rx_sub *s = RX_AT(rx_sub, l->base, image->subs), *end = s + image->n_subs; s < end; s++) {
        int from = image->machine_of[s->producer], to = image->machine_of[s->consumer];
        if (s->mode != RX_SLOTS || from == to || from + to != THERE + HERE) continue;
        may_write(l, s->refs, s->slots * sizeof(uint32_t));
        for (uint32_t i = 0; from == THERE && i < s->slots; i++)
            may_write(l, s->data + i * s->stride, s->bytes ? s->bytes : s->stride);
    }
#undef FIELD
}

static listener *new_listener(program *p)
{
    listener *l = calloc(1, sizeof *l);
    p->machine = HERE;
    l->run = new_looking_run(p, 60, 90);
    l->base = l->run->b->base;
    l->size = rx__image(l->base)->size;
    rx__image(l->base)->limit = l->size + ROOM;
    assert(l->size + ROOM < ARENA && !(l->size & 4095));
    assert(!mprotect(l->base + l->size + ROOM, ARENA - l->size - ROOM, PROT_NONE));
    l->fresh = malloc(l->size);
    l->writable = calloc(1, l->size);
    memcpy(l->fresh, l->base, l->size);
    find_writable(l);
    return l;
}

static void end_listener(listener *l)
{
    end_run(l->run);
    free(l->fresh), free(l->writable);
    free(l);
}

static void connect_anew(listener *l)
{
    int pair[2], room = 1 << 18;
    memcpy(l->base, l->fresh, l->size);
    assert(!ftruncate(l->run->b->fd, (off_t)l->size) && !ftruncate(l->run->b->fd, ARENA));
    assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    l->near = pair[0], l->far = pair[1];
    assert(!setsockopt(l->far, SOL_SOCKET, SO_SNDBUF, &room, sizeof room));
    l->time = 0;
}

static void listen_anew(listener *l)
{
    connect_anew(l);
    l->link = rx_link_open(l->base, l->run->b->fd, THERE, l->near);
    assert(l->link);
    l->run->links[0].machine = THERE;
    l->run->links[0].socket = l->near;
    l->run->n_links = yes(50);
}

static void hang_up(listener *l)
{
    struct stat file;
    rx_link_close(l->link);
    close(l->near), close(l->far);
    const rx_image *image = rx__image(l->base);
    assert(image->spill >= l->size && image->spill <= image->limit);
    assert(!fstat(l->run->b->fd, &file) && (uint64_t)file.st_blocks * 512 <= image->limit);
}

static void only_what_may_be_was_written(const listener *l)
{
    for (uint64_t i = 0; i < l->size; i++)
        if (l->base[i] != l->fresh[i] && !l->writable[i]) {
            fprintf(stderr, "byte %llu of the arena was written\n", (unsigned long long)i);
            abort();
        }
}

/* ---- frames that fit the moment ------------------------------------------------------------------------------- */

static rx__ring *ring_at(const listener *l, rx__pair pair)
{
    const uint64_t *rings = RX_AT(uint64_t, l->base, l->link->image->rings);
    return RX_AT(rx__ring, l->base, rings[pair.producer * l->link->image->workers + pair.consumer]);
}

static const rx_sub *sub_at(const listener *l, uint32_t number)
{
    return RX_AT(rx_sub, l->base, l->link->image->subs) + number;
}

static uint32_t *refs_at(const listener *l, const rx_sub *s, uint64_t slot)
{
    return RX_AT(uint32_t, l->base, s->refs) + slot;
}

/* What workers here would do meanwhile: take messages, need their values no more, and send. */
static void work_a_little(listener *l)
{
    rx_link *link = l->link;
    for (uint32_t i = 0; i < link->n_in; i++)
        if (yes(50)) ring_at(l, link->in[i])->head = ring_at(l, link->in[i])->tail;
    for (uint32_t i = 0; i < link->shared->n_in_use; i++) {
        const rx__held *held = &link->held[link->in_use[i]];
        if (yes(50)) *refs_at(l, sub_at(l, held->sub), held->slot) = 0;
    }
    for (uint32_t i = 0; i < link->image->n_subs; i++) {
        const rx_sub *s = sub_at(l, i);
        const uint8_t *machine_of = link->image->machine_of;
        if (machine_of[s->producer] != HERE || machine_of[s->consumer] != THERE || !yes(30)) continue;
        rx__ring *ring = ring_at(l, (rx__pair){s->producer, s->consumer});
        uint64_t slot = s->mode == RX_SLOTS ? dice(s->slots) : 0;
        if (!rx__ring_fits(ring, 1) || (s->mode == RX_SLOTS && *refs_at(l, s, slot))) continue;
        if (s->mode == RX_SLOTS) *refs_at(l, s, slot) = 1;
        rx__ring_push(ring, rx__tag(l->time++, 0), 0, slot, i);
    }
}

/* In this thread, as far as there is something to tell; nobody listens. */
static void tell_in_this_thread(listener *l)
{
    uint8_t bytes[4096];
    l->link->shared->ending = 1;
    rx__tell(l->link);
    l->link->shared->ending = 0;
    l->link->shared->over = RX_LINKED;
    while (recv(l->far, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
}

static void fit_message(listener *l, rx__f_message *m)
{
    if (m->sub >= l->link->image->n_subs) return;
    const rx_sub *s = sub_at(l, m->sub);
    rx__ring *ring = ring_at(l, (rx__pair){s->producer, s->consumer});
    m->sent = rx__greatest(m->sent, rx__line(l->base, s->producer)->passed);
    if (ring->tail) m->sent = rx__greatest(m->sent, rx__message_at(ring, ring->tail - 1)->sent);
    if (s->mode == RX_SLOTS && !m->known) *refs_at(l, s, m->payload) = 0;
    if (!rx__ring_fits(ring, 1)) ring->head = ring->tail;
}

static void fit_release(listener *l, rx__f_release *r)
{
    for (uint32_t i = 0, first = (uint32_t)dice(l->link->image->n_subs); i < l->link->image->n_subs; i++) {
        uint32_t number = (first + i) % l->link->image->n_subs;
        const rx_sub *s = sub_at(l, number);
        if (l->link->image->machine_of[s->producer] != HERE || s->mode != RX_SLOTS) continue;
        for (uint32_t slot = 0; slot < s->slots; slot++) {
            uint32_t lent = l->link->lent[l->link->slots_of[number] + slot];
            if (lent) *r = (rx__f_release){number, slot, lent, 0};
            if (lent) return;
        }
    }
}

static void fit_state(listener *l, rx__f_state *s)
{
    rx_link *link = l->link;
    rx__f_worker *rows = (rx__f_worker *)(s + 1);
    rx__f_ring *rings = (rx__f_ring *)(rows + link->n_theirs);
    uint64_t *counts = (uint64_t *)(rings + link->n_heard);
    const rx_passage *passages = RX_AT(rx_passage, l->base, link->image->passages);
    for (uint32_t k = 0; k < link->n_theirs; k++)
        rows[k].passed = rx__greatest(rows[k].passed, rx__line(l->base, link->theirs[k])->passed);
    for (uint32_t i = 0; i < link->n_heard; i++) {
        const rx_passage *passage = &passages[link->heard[i].producer * link->image->workers + link->heard[i].consumer];
        rings[i].acknowledged = passage->acknowledged;
        if (rings[i].sent < passage->sent) rings[i].sent = passage->sent;
    }
    for (uint32_t i = 0, out = 0; i < link->n_gave; i++) {
        rx__pair pair = link->gave[i];
        uint64_t received = passages[pair.producer * link->image->workers + pair.consumer].received;
        if (!rx__is_mine(link, pair.producer)) counts[i] = received + dice(3);
        else {
            uint64_t head = ring_at(l, pair)->head;
            counts[i] = head + dice(link->told[out] - head + 1);
            out++;
        }
    }
}

static void seal(uint8_t *bytes, size_t n)
{
    rx__frame f;
    memcpy(&f, bytes, sizeof f);
    if (f.size > n - sizeof f) return;
    f.check = rx__frame_check(&crcs, &f, bytes + sizeof f);
    memcpy(bytes, &f, sizeof f);
}

static void fit(listener *l, uint8_t *bytes, size_t n)
{
    const rx__frame *f = (const rx__frame *)bytes;
    void *body = bytes + sizeof *f;
    if (f->kind == RX_F_MESSAGE) fit_message(l, body);
    if (f->kind == RX_F_RELEASE) fit_release(l, body);
    if (f->kind == RX_F_STATE) fit_state(l, body);
    seal(bytes, n);
}

/* ---- damage --------------------------------------------------------------------------------------------------- */

static uint64_t some_number(uint64_t old)
{
    uint64_t bit = 1ull << dice(64);
    return (uint64_t)ONE_OF(0, 1, -1, INT64_MAX, INT64_MIN, 64, 255, 1000, (int64_t)UINT32_MAX, (int64_t)(old + 1),
                            (int64_t)(old - 1), (int64_t)(old ^ bit), (int64_t)bit, (int64_t)dice(1ull << 40), ROOM, 4097);
}

/* Damages [n] bytes, of which there are at least a header, and returns how many there are then: at most LONGEST. */
static size_t damage(uint8_t *bytes, size_t n)
{
    rx__frame f;
    memcpy(&f, bytes, sizeof f);
    size_t front = sizeof f + f.size < n ? sizeof f + f.size : n;
    int sealed = yes(50);
    switch (dice(6)) {
    case 0:
        for (uint64_t i = 1 + dice(6); i; i--) bytes[dice(n)] ^= (uint8_t)(1 << dice(8));
        break;
    case 1: case 2:           /* a number of the body */
        if (front >= sizeof f + 8) {
            uint64_t number = 0, at = sizeof f + dice((front - sizeof f) / 4) * 4;
            uint64_t size = yes(50) && at + 8 <= front ? 8 : 4;
            memcpy(&number, bytes + at, size);
            number = some_number(number);
            memcpy(bytes + at, &number, size);
        }
        break;
    case 3:                   /* lengths, with or without the bytes that they promise */
        if (yes(50)) f.size = (uint32_t)some_number(f.size);
        if (yes(50)) f.data = some_number(f.data);
        if (yes(20)) f.kind = (uint32_t)dice(8);
        memcpy(bytes, &f, sizeof f);
        if (f.size <= LONGEST / 4 && f.data <= LONGEST / 4 && yes(70)) {
            for (size_t more = sizeof f + f.size + f.data; n < more; n++) bytes[n] = (uint8_t)dice(256);
            n = sizeof f + f.size + f.data;
        }
        break;
    case 4:                   /* cut off: the next frame seems to be its rest */
        if (sealed) seal(bytes, n);
        return 1 + dice(n);
    case 5:                   /* repeated */
        if (2 * n <= LONGEST) memcpy(bytes + n, bytes, n);
        return 2 * n <= LONGEST ? 2 * n : n;
    }
    if (sealed) seal(bytes, n);
    return n;
}

/* ---- frame by frame, in this thread ---------------------------------------------------------------------------- */

static uint64_t ended[RX_NO_ROOM + 1];               /* how often it ended so; linked: there was no more to hear */

static int hear_in_this_thread(listener *l, const uint8_t *bytes, size_t n)
{
    uint8_t rest[4096];
    rx_link *link = l->link;
    rx__shared *s = link->shared;
    assert(send(l->far, bytes, n, MSG_DONTWAIT) == (ssize_t)n);
    s->over = RX_LINKED;
    s->said_bye = 0;
    link->image->abort = 0;
    rx__hear_now(link);
    int state = rx_link_state(link);
    assert(state >= RX_LINKED && state <= RX_NO_ROOM && state != RX_SILENT);
    ended[state]++;
    while (recv(l->near, rest, sizeof rest, MSG_DONTWAIT) > 0) {}
    s->over = RX_LINKED;
    if (state != RX_LINKED || yes(80)) s->first = s->last = s->into_left = 0;     /* else what comes next seems to be its rest */
    return state;
}

/* A link without threads. */
static void listen_in_this_thread(listener *l)
{
    connect_anew(l);
    l->link = rx__link_made(l->base, l->run->b->fd, THERE, l->near);
    assert(l->link);
    tell_in_this_thread(l);
}

static void test_damaged_frames_lead_nowhere(uint64_t most, int virtual_time)
{
    static _Alignas(16) uint8_t bytes[2 * LONGEST];
    program *p = talkative();
    p->virtual_time = virtual_time;
    record r = run_and_record(p);
    listener *l = new_listener(p);
    uint64_t damaged = 0, whole = 0, taken = 0;
    while (damaged < most) {
        listen_in_this_thread(l);
        for (int i = 0; i < EACH; i++) {
            const piece *one = &r.frames[i < 3 ? i : (int)dice(r.n)];
            int whole_one = i < 3 || yes(20);
            memcpy(bytes, one->bytes, one->n);
            fit(l, bytes, one->n);
            int state = hear_in_this_thread(l, bytes, whole_one ? one->n : damage(bytes, one->n));
            if (whole_one) whole++, taken += state == RX_LINKED || state == RX_SAID_BYE;
            else damaged++;
            work_a_little(l);
            if (yes(5)) tell_in_this_thread(l);
        }
        hang_up(l);
        only_what_may_be_was_written(l);
    }
    printf("%ju damaged frames; ended: %ju bye, %ju cut, %ju heard, %ju nonsense, %ju no room; of %ju whole ones %ju taken\n",
           (uintmax_t)damaged, (uintmax_t)ended[RX_SAID_BYE], (uintmax_t)ended[RX_CUT], (uintmax_t)ended[RX_LINKED],
           (uintmax_t)ended[RX_NONSENSE], (uintmax_t)ended[RX_NO_ROOM], (uintmax_t)whole, (uintmax_t)taken);
    assert(taken > whole / 4 && ended[RX_NONSENSE] && ended[RX_LINKED]);
    end_listener(l);
    forget(&r);
    free(p);
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

static void read_all(void **data, unsigned char *present, void *state)
{
    static _Thread_local volatile uint64_t sum;
    const seen *s = state;
    list reads = reads_of(s->reaction);
    for (int k = 0; k < reads.n; k++)
        for (uint64_t i = 0; present[k] && is_port(s->p, reads.at[k]) && i < s->p->elements[reads.at[k]].bytes / 8; i++)
            sum += ((const uint64_t *)data[k])[i];
    for (int k = 0; k < s->reaction->effects.n; k++) present[reads.n + k] = 1;
}

static uint64_t messages_heard(const listener *l)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < l->link->n_in; i++) n += rx__get(&ring_at(l, l->link->in[i])->tail);
    return n;
}

/* Workers here may be slower than those who heard it when it was recorded: once all messages before were heard, the
 * slot is to be free. */
static void wait_for_slot(const listener *l, const rx__frame *f, uint64_t messages)
{
    const rx__f_message *m = (const rx__f_message *)(f + 1);
    if (f->kind != RX_F_MESSAGE || sub_at(l, m->sub)->mode != RX_SLOTS || m->known) return;
    const uint32_t *refs = refs_at(l, sub_at(l, m->sub), m->payload);
    for (int i = 0; i < 2000 && (messages_heard(l) < messages || rx__get32(refs)); i++) {
        if (rx_link_state(l->link) != RX_LINKED) return;
        usleep(20);
    }
}

/* What was recorded, of which a few frames are damaged; as long as the other side listens. */
static void say(listener *l, const record *r, uint64_t percent)
{
    static _Alignas(16) uint8_t bytes[2 * LONGEST];
    static uint8_t ignored[1 << 16];
    uint64_t messages = 0;
    for (size_t i = 0; i < r->n; i++) {
        const rx__frame *f = (const rx__frame *)bytes;
        size_t n = r->frames[i].n, said = 0;
        memcpy(bytes, r->frames[i].bytes, n);
        wait_for_slot(l, f, messages);
        messages += f->kind == RX_F_MESSAGE;
        if (yes(percent)) n = damage(bytes, n);
        while (said < n && rx_link_state(l->link) == RX_LINKED) {
            ssize_t more = send(l->far, bytes + said, n - said, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (more > 0) said += (size_t)more;
            else sched_yield();
            while (recv(l->far, ignored, sizeof ignored, MSG_DONTWAIT) > 0) {}
        }
        if (said < n) return;
    }
}

/* With workers that take what comes: they end when the link does. */
static void test_workers_come_to_an_end_whatever_is_said(int rounds)
{
    program *p = one_sided();
    record r = run_and_record(p);
    listener *l = new_listener(p);
    uint64_t found[RX_NO_ROOM + 1] = {0};
    for (int i = 0; i < p->n_reactions; i++) p->reactions[i].function = p->reactions[i].late = read_all;
    for (int round = 0; round < rounds; round++) {
        listen_anew(l);
        for (int w = 0; w < p->workers; w++)
            if (p->machine_of[w] == HERE)
                assert(!pthread_create(&l->run->runners[w].thread, NULL, work, &l->run->runners[w]));
        say(l, &r, (uint64_t)ONE_OF(0, 1, 5, 30));
        shutdown(l->far, SHUT_WR);
        int state = rx_link_end(l->link, PATIENCE_S * 1000000000ll);
        assert(state == RX_SAID_BYE || state == RX_CUT || state == RX_NONSENSE || state == RX_NO_ROOM);
        found[state]++;
        if (state == RX_SAID_BYE) rx_abort(l->base, RX_E_ABORTED);
        struct timespec end = in_seconds(PATIENCE_S);
        for (int w = 0; w < p->workers; w++)
            if (p->machine_of[w] == HERE && pthread_timedjoin_np(l->run->runners[w].thread, NULL, &end))
                give_up(l->run);
        hang_up(l);
    }
    printf("%d runs; ended: %llu bye, %llu cut, %llu nonsense\n", rounds, (unsigned long long)found[RX_SAID_BYE],
           (unsigned long long)found[RX_CUT], (unsigned long long)found[RX_NONSENSE]);
    end_listener(l);
    forget(&r);
    free(p);
}

int main(int argc, char **argv)
{
    alarm(2 * PATIENCE_S);
    rx__crc_fill(&crcs);
    dice_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : DAMAGED;
    test_damaged_frames_lead_nowhere(most, 0);
    test_damaged_frames_lead_nowhere(most / 4, 1);
    test_workers_come_to_an_end_whatever_is_said(ROUNDS);
    return 0;
}
