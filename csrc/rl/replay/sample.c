/* How do rows get out: drawn, copied, and known to be whole? */
#include <string.h>

#include "lock.h"
#include "replay.h"

#define GIL_BYTES 200000      /* copies that others should not have to wait for */

/* ---- copying ------------------------------------------------------------------------------------------------- */

#define LOAD(size)                                                                                                    \
    case size:                                                                                                        \
        for (int64_t i = 0; i < n; i++) rx__copy_out(to + i * size, source + (uint64_t)slots[i] * f->stride, size);   \
        break

typedef struct { const uint8_t *ring; uint64_t first; } stack;      /* [first]: where in the ring of its stream it begins */

static inline stack stack_of(const rx_replay *r, const rx_replay_field *f, uint64_t slot)
{
    uint64_t last;
    rx__copy_out(&last, rx__field_at(r, f, slot), 8);
    const rx_replay_shape *a = &r->shape;
    return (stack){r->base + a->frames + slot / r->share * a->n_frames * a->frame_bytes, (last + 1 - a->stack) % a->n_frames};
}

/* The fields made of frames, row by row: what follows an observation shares all but one of its frames, which lie in a cache
 * when it comes to that. */
static void copy_stacks(const rx_replay *r, int64_t n, const int64_t *slots, void *const *into, int64_t at)
{
    const rx_replay_shape *a = &r->shape;
    uint32_t fields[2], n_stacked = 0;
    for (uint32_t k = 0; k < r->n_fields && n_stacked < 2; k++)
        if (r->fields[k].sampled != r->fields[k].bytes) fields[n_stacked++] = k;
    int64_t all = n * n_stacked;
    stack now = stack_of(r, &r->fields[fields[0]], (uint64_t)slots[0]);
    for (int64_t i = 0; i < all; i++) {
        int64_t j = i + 1 < all ? i + 1 : i;
        stack next = stack_of(r, &r->fields[fields[j % n_stacked]], (uint64_t)slots[j / n_stacked]);
        uint64_t straight = a->n_frames - now.first < a->stack ? a->n_frames - now.first : a->stack;
        uint8_t *to = (uint8_t *)into[fields[i % n_stacked]] + (uint64_t)(at + i / n_stacked) * a->stack * a->frame_bytes;
        rx__copy_far(to, now.ring + now.first * a->frame_bytes, straight * a->frame_bytes, next.ring + next.first * a->frame_bytes);
        rx__copy_far(to + straight * a->frame_bytes, now.ring, (a->stack - straight) * a->frame_bytes, now.ring);
        now = next;
    }
}

static void copy_rows(const rx_replay *r, int64_t n, const int64_t *slots, void *const *into, int64_t at)
{
    for (uint32_t k = 0; k < r->n_fields; k++) {
        const rx_replay_field *f = &r->fields[k];
        const uint8_t *source = r->base + f->offset;
        uint8_t *to = (uint8_t *)into[k] + (uint64_t)at * f->sampled;
        if (f->sampled != f->bytes) continue;
        switch (f->bytes) {
            LOAD(1);
            LOAD(2);
            LOAD(4);
            LOAD(8);
            LOAD(12);
            LOAD(16);
            LOAD(24);
            LOAD(32);
            LOAD(68);
            LOAD(96);
            default:
                for (int64_t i = 0; i < n; i++) {
                    const uint8_t *row = source + (uint64_t)slots[i] * f->stride, *after = source + (uint64_t)slots[i + 1 < n ? i + 1 : i] * f->stride;
                    rx__copy_far(to + (uint64_t)i * f->bytes, row, f->bytes, after);
                }
        }
    }
    if (r->shape.n_frames) copy_stacks(r, n, slots, into, at);
}

static inline void prefetch_rows(const rx_replay *r, int64_t n, const int64_t *slots)
{
    uint64_t lines = r->stride < 512 ? r->stride : 512;
    for (int64_t i = 0; i < n; i++)
        for (uint64_t at = 0; at < lines; at += 64) __builtin_prefetch(r->records + (uint64_t)slots[i] * r->stride + at);
}

/* Copies the rows in [slots] and says which they are: their indices, -1 where a row is not there or changed meanwhile.
 * How many there are of these. */
static int64_t copy_whole(const rx_replay *r, int64_t n, const int64_t *slots, int64_t *indices, void *const *into, int64_t at)
{
    int64_t bad = 0;
    uint64_t words[RX_REPLAY_CHUNK];
    prefetch_rows(r, n < RX_REPLAY_CHUNK ? n : RX_REPLAY_CHUNK, slots);
    for (int64_t first = 0; first < n; first += RX_REPLAY_CHUNK) {
        int64_t some = n - first < RX_REPLAY_CHUNK ? n - first : RX_REPLAY_CHUNK, later = n - first - some;
        prefetch_rows(r, later < RX_REPLAY_CHUNK ? later : RX_REPLAY_CHUNK, slots + first + some);
        for (int64_t i = 0; i < some; i++) words[i] = rx__get(&rx__row_at(r, (uint64_t)slots[first + i])->word);
        copy_rows(r, some, slots + first, into, at + first);
        atomic_thread_fence(memory_order_acquire);
        for (int64_t i = 0; i < some; i++) {
            uint64_t now = rx__get(&rx__row_at(r, (uint64_t)slots[first + i])->word), number = now >> RX__NUMBER;
            int whole = number && number == words[i] >> RX__NUMBER && !((now | words[i]) & RX__WRITING);
            uint64_t stream = r->n_streams > 1 ? (uint64_t)slots[first + i] / r->share : 0;
            indices[first + i] = whole ? (int64_t)((number - 1) * r->n_streams + stream) : -1;
            bad += !whole;
        }
    }
    return bad;
}

static int64_t copy_politely(const rx_replay *r, int64_t n, const int64_t *slots, int64_t *indices, void *const *into, int64_t at)
{
    int long_one = rx__let_go && (uint64_t)n * r->sampled_bytes > GIL_BYTES;
    void *thread = long_one ? rx__let_go() : NULL;
    int64_t bad = copy_whole(r, n, slots, indices, into, at);
    if (long_one) rx__take_back(thread);
    return bad;
}

/* ---- drawing ------------------------------------------------------------------------------------------------- */

/* Another number in [0, 1), made from one: for rows that have to be drawn again. */
static double another(double uniform, uint64_t round)
{
    uint64_t x;
    memcpy(&x, &uniform, 8);
    x += (round + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

typedef struct { uint64_t longest, first, next; } extent;      /* of stream 0, where there is one only */

static extent extent_of(const rx_replay *r)
{
    extent e = {0};
    for (uint64_t s = 0; s < r->n_streams; s++) {
        e.first = rx__oldest(r, s, &e.next);
        e.longest = e.next - e.first > e.longest ? e.next - e.first : e.longest;
    }
    return e;
}

static inline int64_t slot_of(const rx_replay *r, uint64_t stream, uint64_t number)
{
    return (int64_t)(stream * r->share + (number < r->share ? number : number % r->share));
}

/* A slot among those in use by counting rows, stream by stream; -1: there is none. */
static int64_t draw_by_count(const rx_replay *r, double uniform)
{
    uint64_t all = (uint64_t)rx_replay_length(r), k = (uint64_t)(uniform * (double)all);
    if (all && k >= all) k = all - 1;
    for (uint64_t stream = 0; stream < r->n_streams; stream++) {
        uint64_t next, first = rx__oldest(r, stream, &next);
        if (k < next - first) return slot_of(r, stream, first + k);
        k -= next - first;
    }
    return -1;
}

/* A slot among those in use, all alike: drawn as if every stream had as many rows as the longest, until one is there; where
 * nearly all streams are empty that may be never. -1: there is none. */
static inline int64_t draw(const rx_replay *r, extent e, double uniform)
{
    uint64_t all = e.longest * r->n_streams;
    if (!all) return -1;
    for (uint64_t round = 0; round < RX_REPLAY_TRIES; round++) {
        uint64_t k = (uint64_t)(uniform * (double)all), stream = 0, next = e.next, first = e.first;
        if (k >= all) k = all - 1;
        if (r->n_streams > 1) {
            stream = k / e.longest;
            k %= e.longest;
            first = rx__oldest(r, stream, &next);
        }
        if (k < next - first) return slot_of(r, stream, first + k);
        uniform = another(uniform, round);
    }
    return draw_by_count(r, uniform);
}

/* Relative to the greatest weight of the batch, or of all rows if the tree knows the least priority. */
static void weigh(const rx_replay *r, int64_t n, const double *priorities, float beta, float *weights)
{
    double least = r->tree->minima ? rx_sumtree_minimum(r->tree) : priorities[0];
    for (int64_t i = 0; i < n; i++) least = priorities[i] < least ? priorities[i] : least;
    for (int64_t i = 0; i < n; i++) weights[i] = (float)(least / priorities[i]);
    rx__powers(n, weights, 0, beta, weights);
}

int64_t rx_replay_sample(rx_replay *r, int64_t n, const double *uniforms, int how, float beta, void *const *into, int64_t *slots,
                         int64_t *indices, double *priorities, float *weights)
{
    extent e = extent_of(r);
    if (!e.longest) return RX_REPLAY_NOTHING;
    if (how) {
        int64_t drawn = rx_sumtree_sample(r->tree, n, uniforms, how == 2, slots, priorities);
        if (drawn != n) return drawn < 0 ? drawn : RX_REPLAY_NOTHING;
    } else {
        for (int64_t i = 0; i < n; i++)
            if ((slots[i] = draw(r, e, uniforms[i])) < 0) return RX_REPLAY_NOTHING;
    }
    if (copy_politely(r, n, slots, indices, into, 0))
        for (int64_t i = 0; i < n; i++) {
            double uniform = uniforms[i];
            for (uint64_t round = 0; indices[i] < 0; round++) {
                if (round == RX_REPLAY_TRIES) return RX_REPLAY_NOTHING;
                if (round % 64 == 63) {
                    void *thread = rx__let_go ? rx__let_go() : NULL;      /* let those who write be done */
                    if (rx__take_back) rx__take_back(thread);
                }
                uniform = another(uniform, round);
                if (how) {
                    int64_t drawn = rx_sumtree_sample(r->tree, 1, &uniform, 0, &slots[i], &priorities[i]);
                    if (drawn < 0) return drawn;
                } else if ((slots[i] = draw(r, extent_of(r), uniform)) < 0) return RX_REPLAY_NOTHING;
                rx__add(&r->header->again, 1);
                copy_whole(r, 1, &slots[i], &indices[i], into, i);
            }
        }
    if (how && weights) weigh(r, n, priorities, beta, weights);
    return n;
}

/* ---- sequences ----------------------------------------------------------------------------------------------- */

/* Any row whose position in the episode is far enough is the last of a sequence, if the first is still there: the number of
 * that; -1: it is not such a row. */
static inline int64_t begins_at(const rx_replay *r, uint64_t last, uint64_t steps)
{
    rx__row *row = rx__row_at(r, last);
    uint64_t next, first = rx__oldest(r, last / r->share, &next), number = rx__get(&row->word) >> RX__NUMBER;
    if (!number || __atomic_load_n(&row->step, __ATOMIC_RELAXED) < steps || number - 1 < first + steps) return -1;
    return (int64_t)(number - 1 - steps);
}

/* One of these rows by counting them, for where they are too rare to come upon; -1: there is none. */
static int64_t last_by_count(const rx_replay *r, uint64_t steps, double uniform)
{
    uint64_t slots = r->n_streams * r->share, all = 0;
    int64_t found = -1;
    for (uint64_t slot = 0; slot < slots; slot++) all += begins_at(r, slot, steps) >= 0;
    uint64_t k = (uint64_t)(uniform * (double)all);
    for (uint64_t slot = 0; slot < slots; slot++) {
        if (begins_at(r, slot, steps) < 0) continue;
        found = (int64_t)slot;
        if (!k--) break;
    }
    return found;
}

/* To draw rows until one is the last of a sequence draws all sequences alike. */
static int64_t draw_window(rx_replay *r, int64_t length, double *uniform, int64_t *slots, int64_t *indices, void *const *into, int64_t at)
{
    uint64_t steps = (uint64_t)length - 1;
    for (uint64_t round = 0; round < RX_REPLAY_TRIES + RX_REPLAY_COUNTS; round++) {
        int64_t last = round < RX_REPLAY_TRIES ? draw(r, extent_of(r), *uniform) : last_by_count(r, steps, *uniform);
        *uniform = another(*uniform, round);
        if (last < 0) return RX_REPLAY_NOTHING;
        int64_t first = begins_at(r, (uint64_t)last, steps);
        if (first < 0) continue;
        uint64_t stream = (uint64_t)last / r->share, begin = (uint64_t)first;
        for (uint64_t i = 0; i <= steps; i++) slots[i] = (int64_t)(stream * r->share + (begin + i) % r->share);
        int64_t bad = copy_politely(r, length, slots, indices, into, at);
        for (uint64_t i = 0; !bad && i <= steps; i++) bad = indices[i] != (int64_t)((begin + i) * r->n_streams + stream);
        if (!bad) return length;
        rx__add(&r->header->again, 1);
    }
    return RX_REPLAY_NOTHING;
}

int64_t rx_replay_windows(rx_replay *r, int64_t n, int64_t length, const double *uniforms, void *const *into, int64_t *slots, int64_t *indices)
{
    for (int64_t i = 0; i < n; i++) {
        double uniform = uniforms[i];
        int64_t at = i * length, drawn = draw_window(r, length, &uniform, slots + at, indices + at, into, at);
        if (drawn < 0) return drawn;
    }
    return n;
}

int64_t rx_replay_take(rx_replay *r, int64_t n, const int64_t *indices, void *const *into, int64_t *slots)
{
    for (int64_t i = 0; i < n; i++) {
        if (indices[i] < 0) return i;
        uint64_t stream = (uint64_t)indices[i] % r->n_streams, number = (uint64_t)indices[i] / r->n_streams;
        int64_t found;
        slots[i] = (int64_t)(stream * r->share + number % r->share);
        if (copy_whole(r, 1, &slots[i], &found, into, i) || found != indices[i]) return i;
    }
    return n;
}
