/* How does a row get into its slot, and who may write there? */
#include <errno.h>
#include <signal.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "lock.h"
#include "replay.h"

/* The word of a row decides whether what was copied counts, so a torn copy does no harm; but ThreadSanitizer has to be
 * shown that it is meant. */
#if defined(__SANITIZE_THREAD__)
void rx__copy_in(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        atomic_store_explicit((_Atomic uint8_t *)to + i, ((const uint8_t *)from)[i], memory_order_relaxed);
}

void rx__copy_out(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = atomic_load_explicit((const _Atomic uint8_t *)from + i, memory_order_relaxed);
}
#else
void rx__copy_in(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
void rx__copy_out(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
#endif

uint64_t rx_replay_header_bytes(uint64_t streams) { return sizeof(rx__replay_header) + streams * sizeof(rx__stream); }

rx_replay *rx_replay_open(void *base, const rx_replay_shape *shape, const rx_replay_field *fields, int fresh)
{
    rx__replay_header *header = base;
    if (!fresh && (rx__get(&header->magic) != RX_REPLAY_MAGIC || header->bytes != shape->bytes)) return NULL;
    rx_replay *r = calloc(1, sizeof *r + shape->n_fields * sizeof *fields);
    if (!r) return NULL;
    r->base = base;
    r->header = header;
    r->streams = (rx__stream *)(header + 1);
    r->tree = shape->tree ? (rx_sumtree *)(r->base + shape->tree) : NULL;
    r->records = r->base + shape->records;
    r->stride = shape->stride;
    r->n_streams = shape->streams;
    r->share = shape->share;
    r->process = (uint64_t)getpid();
    r->n_fields = shape->n_fields;
    r->terminated = shape->terminated;
    r->truncated = shape->truncated;
    r->shape = *shape;
    memcpy(r->fields, fields, shape->n_fields * sizeof *fields);
    for (uint32_t f = 0; f < r->n_fields; f++) r->sampled_bytes += fields[f].sampled;
    if (fresh) {
        float one = 1;
        uint32_t bits;
        memcpy(&bits, &one, 4);
        header->greatest = bits;
        header->bytes = shape->bytes;
        rx__put(&header->magic, RX_REPLAY_MAGIC);
    }
    return r;
}

void rx_replay_close(rx_replay *r) { free(r); }

int64_t rx_replay_length(const rx_replay *r)
{
    uint64_t n = 0;
    for (uint64_t s = 0; s < r->n_streams; s++) {
        uint64_t next, first = rx__oldest(r, s, &next);
        n += next - first;
    }
    return (int64_t)n;
}

void rx_replay_counters(const rx_replay *r, uint64_t *late, uint64_t *again, uint64_t *taken_over)
{
    *late = rx__get(&r->header->late);
    *again = rx__get(&r->header->again);
    *taken_over = rx__get(&r->header->taken_over);
}

/* ---- who may write ------------------------------------------------------------------------------------------- */

/* Another thread holds the row: wait a little. 1: look again; 0: take it over; or RX_REPLAY_STUCK. */
static int wait_for(rx_replay *r, uint64_t word, uint64_t round, int64_t *since)
{
    if (round < 100) {
        rx__pause();
        return 1;
    }
    uint64_t writer = word >> 1 & 0x7fffff;
    if (word & RX__WRITING && writer != rx__get(&r->process) && kill((pid_t)writer, 0) && errno == ESRCH) return 0;
    if (!*since) *since = rx__clock();
    if (rx__clock() - *since > RX_REPLAY_PATIENCE_NS)
        return word & RX__WRITING ? RX_REPLAY_STUCK : 0;      /* updates take microseconds: that one has died */
    void *thread = rx__let_go ? rx__let_go() : NULL;
    if (round < 200) sched_yield();
    else nanosleep(&(struct timespec){0, 50000}, NULL);
    if (rx__take_back) rx__take_back(thread);
    return 1;
}

int rx__claim(rx_replay *r, uint64_t slot, uint64_t number, int may_wait)
{
    uint64_t *word = &rx__row_at(r, slot)->word, old = rx__get(word);
    int64_t since = 0;
    for (uint64_t round = 0;; round++) {
        if (old >> RX__NUMBER > number + 1) return 0;
        if (old << (64 - RX__NUMBER)) {      /* written, or its priority being changed */
            if (!may_wait) return RX__BUSY;
            int more = wait_for(r, old, round, &since);
            if (more < 0) return more;
            if (more) {
                old = rx__get(word);
                continue;
            }
            rx__add(&r->header->taken_over, 1);
        }
        if (rx__swap_if(word, &old, (number + 1) << RX__NUMBER | rx__get(&r->process) << 1 | RX__WRITING)) break;
    }
    atomic_thread_fence(memory_order_release);      /* what we write shows up later than the word */
    return 1;
}

void rx__let_row_go(rx_replay *r, uint64_t slot)
{
    int64_t at = (int64_t)slot;
    float zero = 0;
    if (r->tree) rx_sumtree_set_f4(r->tree, 1, &at, &zero);
    rx__put(&rx__row_at(r, slot)->word, 0);
    atomic_thread_fence(memory_order_release);
}

/* ---- inserting ----------------------------------------------------------------------------------------------- */

static float greatest(const rx_replay *r)
{
    uint32_t bits = (uint32_t)rx__get(&r->header->greatest);
    float p;
    memcpy(&p, &bits, 4);
    return p;
}

static int64_t first_bad(int64_t n, const float *errors)
{
    int bad = 0;
    for (int64_t i = 0; i < n; i++) bad |= !(errors[i] >= 0 && errors[i] <= 1e30f);
    for (int64_t i = 0; bad && i < n; i++)
        if (!(errors[i] >= 0 && errors[i] <= 1e30f)) return i;
    return -1;
}

/* Positive floats are ordered as their bits are. */
static void note_greatest(rx_replay *r, int64_t n, const float *p)
{
    float most = greatest(r), old = most;
    for (int64_t i = 0; i < n; i++) most = p[i] > most ? p[i] : most;
    if (most == old) return;
    uint32_t bits;
    memcpy(&bits, &most, 4);
    uint64_t there = rx__get(&r->header->greatest);
    while (there < bits && !rx__swap_if(&r->header->greatest, &there, bits)) {}
}

/* Of a flag of any type: 1.0f has its bits in the last bytes. */
static inline int is_set(const rx_replay *r, uint32_t field, const void *const *from, const uint64_t *strides, int64_t i)
{
    if (field == RX_REPLAY_NO_FIELD) return 0;
    const uint8_t *flag = (const uint8_t *)from[field] + (uint64_t)i * strides[field];
    for (uint64_t k = 0; k < r->fields[field].bytes; k++)
        if (flag[k]) return 1;
    return 0;
}

static inline int ends_at(const rx_replay *r, const void *const *from, const uint64_t *strides, int64_t i)
{
    return is_set(r, r->terminated, from, strides, i) || is_set(r, r->truncated, from, strides, i);
}

/* Whether frames of this row were overwritten before it came: then it is gone already. */
static int frames_gone(const rx_replay *r, const rx__stream *stream, const void *const *from, const uint64_t *strides, int64_t i)
{
    if (!r->shape.n_frames) return 0;
    uint64_t written = rx__get(&stream->frames), last;
    for (uint32_t k = 0; k < r->n_fields; k++) {
        if (r->fields[k].sampled == r->fields[k].bytes) continue;
        memcpy(&last, (const uint8_t *)from[k] + (uint64_t)i * strides[k], 8);
        if (last + 1 - r->shape.stack + r->shape.n_frames < written) return 1;
    }
    return 0;
}

typedef struct {
    int64_t n;
    int64_t slots[RX_REPLAY_CHUNK];
    int64_t rows[RX_REPLAY_CHUNK];         /* which of the given rows goes there */
    uint64_t numbers[RX_REPLAY_CHUNK];
    uint64_t next;                         /* number of the next row, if it has one already */
    int has_next;
} claimed;

/* Claims slots for rows from [first] on, and says where it stopped: at a slot that has to be waited for, when others are
 * ours. Who waits holds nothing, so two writers of several streams cannot wait for each other. */
static int64_t claim_rows(rx_replay *r, claimed *c, int64_t first, int64_t end, const void *const *from, const uint64_t *strides,
                          const int32_t *streams, int64_t *indices)
{
    c->n = 0;
    for (; first < end; first++) {
        uint64_t s = streams ? (uint64_t)streams[first] : 0;
        rx__stream *stream = &r->streams[s];
        if (!c->has_next) c->next = rx__add(&stream->next, 1);
        uint64_t number = c->next, slot = s * r->share + number % r->share;
        int ours = rx__claim(r, slot, number, !c->n);
        c->has_next = !streams || ours == RX__BUSY;
        if (ours == RX__BUSY) return first;
        if (ours < 0) return ours;
        if (!streams) c->next++;
        if (indices) indices[first] = (int64_t)(number * r->n_streams + s);
        uint64_t step = rx__get(&stream->step);
        rx__put(&stream->step, ends_at(r, from, strides, first) ? 0 : step + 1);
        if (ours && frames_gone(r, stream, from, strides, first)) {
            rx__let_row_go(r, slot);
            ours = 0;
        }
        if (ours) {
            __atomic_store_n(&rx__row_at(r, slot)->step, (uint32_t)step, __ATOMIC_RELAXED);
            c->slots[c->n] = (int64_t)slot;
            c->rows[c->n] = first;
            c->numbers[c->n++] = number;
        }
    }
    return end;
}

#define STORE(size)                                                                                       \
    case size:                                                                                            \
        for (int64_t i = 0; i < c->n; i++) rx__copy_in(to + (uint64_t)c->slots[i] * f->stride, source + (uint64_t)c->rows[i] * stride, size); \
        break

static void write_rows(rx_replay *r, const claimed *c, const void *const *from, const uint64_t *strides)
{
    for (uint32_t k = 0; k < r->n_fields; k++) {
        const rx_replay_field *f = &r->fields[k];
        const uint8_t *source = from[k];
        uint64_t stride = strides[k];
        uint8_t *to = r->base + f->offset;
        switch (f->bytes) {      /* a copy of a known size is a few instructions */
            STORE(1);
            STORE(4);
            STORE(8);
            STORE(16);
            STORE(32);
            default:
                for (int64_t i = 0; i < c->n; i++)
                    rx__copy_in(to + (uint64_t)c->slots[i] * f->stride, source + (uint64_t)c->rows[i] * stride, f->bytes);
        }
    }
}

int64_t rx_replay_insert(rx_replay *r, int64_t n, const void *const *from, const uint64_t *strides, const int32_t *streams,
                         const float *errors, float add, float exponent, int64_t *indices)
{
    int64_t bad = errors ? first_bad(n, errors) : -1;
    if (bad >= 0) return RX_REPLAY_REFUSED - bad;
    rx__put(&r->process, (uint64_t)getpid());      /* a child may have been forked */
    float p[RX_REPLAY_CHUNK], usual = greatest(r);
    claimed c = {.has_next = !streams};
    if (!streams) c.next = rx__add(&r->streams[0].next, (uint64_t)n);
    for (int64_t first = 0; first < n;) {
        int64_t end = n - first < RX_REPLAY_CHUNK ? n : first + RX_REPLAY_CHUNK;
        first = claim_rows(r, &c, first, end, from, strides, streams, indices);
        if (first < 0) return first;
        if (r->tree) {
            memset(p, 0, sizeof p);
            rx_sumtree_set_f4(r->tree, c.n, c.slots, p);
            atomic_thread_fence(memory_order_seq_cst);
        }
        write_rows(r, &c, from, strides);
        if (r->tree) {
            for (int64_t i = 0; i < c.n; i++) p[i] = errors ? errors[c.rows[i]] : usual;
            if (errors) {
                rx__powers(c.n, p, add, exponent, p);
                note_greatest(r, c.n, p);
            }
            rx_sumtree_set_f4(r->tree, c.n, c.slots, p);
        }
        for (int64_t i = 0; i < c.n; i++) rx__put(&rx__row_at(r, (uint64_t)c.slots[i])->word, (c.numbers[i] + 1) << RX__NUMBER);
    }
    return n;
}

/* ---- priorities ---------------------------------------------------------------------------------------------- */

static inline uint64_t slot_of(const rx_replay *r, int64_t index, uint64_t *number)
{
    uint64_t stream = 0;
    *number = (uint64_t)index;
    if (r->n_streams > 1) {
        stream = (uint64_t)index % r->n_streams;
        *number = (uint64_t)index / r->n_streams;
    }
    return stream * r->share + *number % r->share;
}

/* 1: the row is there, and stays until it is let go. */
static inline int hold(rx_replay *r, uint64_t slot, uint64_t number)
{
    uint64_t *word = &rx__row_at(r, slot)->word, old = rx__get(word);
    do {
        if (old >> RX__NUMBER != number + 1 || old & RX__WRITING) return 0;
    } while (!rx__swap_if(word, &old, old + RX__HELD));
    return 1;
}

static inline void release(rx_replay *r, uint64_t slot, uint64_t number)
{
    uint64_t *word = &rx__row_at(r, slot)->word, old = rx__get(word);
    do {
        if (old >> RX__NUMBER != number + 1 || old & RX__WRITING) return;      /* taken over: we were too slow */
    } while (!rx__swap_if(word, &old, old - RX__HELD));
}

int64_t rx_replay_update(rx_replay *r, int64_t n, const int64_t *indices, const int64_t *given, const float *errors, float add, float exponent)
{
    int64_t bad = first_bad(n, errors);
    if (bad >= 0) return -1 - bad;
    float p[RX_REPLAY_CHUNK * 4];
    int64_t slots[RX_REPLAY_CHUNK * 4];
    uint64_t numbers[RX_REPLAY_CHUNK * 4];
    int64_t there = 0;
    for (int64_t first = 0; first < n; first += RX_REPLAY_CHUNK * 4) {
        int64_t some = n - first < RX_REPLAY_CHUNK * 4 ? n - first : RX_REPLAY_CHUNK * 4, m = 0;
        rx__powers(some, errors + first, add, exponent, p);
        for (int64_t i = 0; i < some; i++) {
            uint64_t slot;
            if (given && r->n_streams == 1) {
                slot = (uint64_t)given[first + i];
                numbers[m] = (uint64_t)indices[first + i];
            } else slot = slot_of(r, indices[first + i], &numbers[m]);
            if (indices[first + i] < 0 || slot >= r->n_streams * r->share || !hold(r, slot, numbers[m])) continue;      /* of another buffer, or gone */
            slots[m] = (int64_t)slot;
            p[m++] = p[i];
        }
        rx_sumtree_set_f4(r->tree, m, slots, p);
        note_greatest(r, m, p);
        for (int64_t i = 0; i < m; i++) release(r, (uint64_t)slots[i], numbers[i]);
        there += m;
    }
    if (there < n) rx__add(&r->header->late, (uint64_t)(n - there));
    return there;
}

int64_t rx_replay_priorities(rx_replay *r, int64_t n, const int64_t *indices, double *priorities)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t number;
        int64_t slot = (int64_t)slot_of(r, indices[i], &number);
        rx_sumtree_get(r->tree, 1, &slot, &priorities[i]);
        if (indices[i] < 0 || rx__get(&rx__row_at(r, (uint64_t)slot)->word) >> RX__NUMBER != number + 1) priorities[i] = 0;
    }
    return n;
}
