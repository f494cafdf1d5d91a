/* Does a buffer with any state that rx_replay_check lets pass stay inside of its block? Random states, the same in every run. */
#include "replay/replay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 3
#define SHARE 13
#define SLOTS (STREAMS * SHARE)
#define STACK 2
#define FRAME 8
#define FRAMES_OF(share) ((share) + (share) / 8 + 8)
#define BATCH 40
#define MEMBERS 6

typedef struct {
    rx_replay_shape shape;
    rx_replay_field fields[4];
    uint8_t *base;
    rx_replay *r;
    uint64_t priorities;      /* where they lie */
} buffer;

typedef struct {
    uint64_t greatest, streams[STREAMS * 4], words[SLOTS], last[2][SLOTS];
    float priorities[SLOTS];
} state;

static uint64_t dice = 1;

static uint64_t roll(uint64_t n)
{
    dice = dice * 6364136223846793005ull + 1442695040888963407ull;
    return (dice >> 33) % n;
}

static uint64_t up(uint64_t size) { return (size + 63) / 64 * 64; }

/* obs and next_obs, which are frames or small; an end; a field of its own array. The block ends where the memory does. */
static buffer new_buffer(int tree, int frames, int minima)
{
    buffer b = {0};
    rx_replay_shape *s = &b.shape;
    uint64_t at = up(rx_replay_header_bytes(STREAMS));
    *s = (rx_replay_shape){.streams = STREAMS, .share = SHARE, .n_fields = 4, .terminated = 2, .truncated = RX_REPLAY_NO_FIELD, .stride = 40};
    if (tree) {
        s->tree = at;
        b.priorities = at + rx_sumtree_priorities(SLOTS, 16, 4, minima);
        at += up(rx_sumtree_bytes(SLOTS, 16, 4, minima));
    }
    s->records = at;
    at += SLOTS * s->stride;
    uint64_t sampled = frames ? STACK * FRAME : 8;
    b.fields[0] = (rx_replay_field){s->records + 16, s->stride, 8, sampled};
    b.fields[1] = (rx_replay_field){s->records + 24, s->stride, 8, sampled};
    b.fields[2] = (rx_replay_field){s->records + 32, s->stride, 1, 1};
    b.fields[3] = (rx_replay_field){at, 24, 24, 24};
    at += SLOTS * 24;
    if (frames) {
        s->frames = at;
        s->frame_bytes = FRAME;
        s->stack = STACK;
        s->n_frames = FRAMES_OF(SHARE);
        at += STREAMS * s->n_frames * FRAME;
    }
    s->bytes = at;
    b.base = aligned_alloc(64, up(at));
    memset(b.base, 0, up(at));
    if (tree) assert(!rx_sumtree_init(b.base + s->tree, SLOTS, 16, 4, minima));
    b.r = rx_replay_open(b.base, s, b.fields, 1);
    assert(b.r);
    return b;
}

static void drop(buffer *b)
{
    rx_replay_close(b->r);
    free(b->base);
}

/* Everything that can be done with a buffer, whatever comes of it. */
static void use(buffer *b, int rounds)
{
    const rx_replay_shape *s = &b->shape;
    double uniforms[BATCH], priorities[BATCH];
    float weights[BATCH], errors[BATCH];
    int64_t slots[BATCH], indices[BATCH];
    uint8_t *into[4];
    for (int f = 0; f < 4; f++) into[f] = malloc(BATCH * b->fields[f].sampled);
    for (int round = 0; round < rounds; round++) {
        uint64_t obs[STREAMS][STACK], next[STREAMS][STACK], first[STREAMS], last[STREAMS];
        uint8_t ends[STREAMS], wide[STREAMS * 24] = {0};
        int32_t streams[STREAMS];
        for (int i = 0; i < STREAMS; i++) {
            streams[i] = (int32_t)roll(STREAMS);
            errors[i] = (float)roll(4);
            ends[i] = roll(5) == 0;
            obs[i][0] = roll(3), obs[i][1] = next[i][0] = roll(3), next[i][1] = first[i] = last[i] = roll(3);
        }
        if (s->n_frames)
            assert(rx_replay_frames(b->r, STREAMS, streams, (uint8_t *)obs, sizeof *obs, (uint8_t *)next, sizeof *next, first, last) == STREAMS);
        const void *from[] = {first, last, ends, wide};
        uint64_t strides[] = {8, 8, 1, 24};
        assert(rx_replay_insert(b->r, STREAMS, from, strides, streams, s->tree && roll(2) ? errors : NULL, 0, 1, indices) == STREAMS);
        int64_t n = 1 + (int64_t)roll(BATCH);
        for (int64_t i = 0; i < n; i++) uniforms[i] = (double)roll(1 << 20) * 0x1p-20, errors[i] = (float)roll(3);
        int64_t drawn = rx_replay_sample(b->r, n, uniforms, s->tree ? (int)roll(3) : 0, 0.5f, (void *const *)into, slots, indices, priorities, weights);
        assert(drawn == n || drawn < 0);
        if (drawn == n) {
            assert(rx_replay_take(b->r, n, indices, (void *const *)into, slots) == n);
            if (s->tree) assert(rx_replay_update(b->r, n, indices, NULL, errors, 0, 1) >= 0);
        }
        rx_replay_windows(b->r, 2, 2, uniforms, (void *const *)into, slots, indices);
        int64_t rows = rx_replay_length(b->r);
        assert(rows >= 0 && rows <= SLOTS);
    }
    for (int f = 0; f < 4; f++) free(into[f]);
}

static uint8_t *stream_at(const buffer *b, int i) { return b->base + rx_replay_header_bytes((uint64_t)i); }

static state taken(const buffer *b)
{
    state s = {0};
    memcpy(&s.greatest, b->base + RX_REPLAY_GREATEST, 8);
    for (int i = 0; i < STREAMS; i++) memcpy(s.streams + 4 * i, stream_at(b, i), 32);
    for (uint64_t slot = 0; slot < SLOTS; slot++) {
        memcpy(&s.words[slot], rx__row_at(b->r, slot), 8);
        for (int k = 0; k < 2; k++) memcpy(&s.last[k][slot], rx__field_at(b->r, &b->fields[k], slot), 8);
    }
    if (b->shape.tree) memcpy(s.priorities, b->base + b->priorities, sizeof s.priorities);
    return s;
}

static int check(const buffer *b, const state *s)
{
    int frames = b->shape.n_frames != 0;
    rx_replay_state given = {&s->greatest, s->streams, s->words, b->shape.tree ? s->priorities : NULL,
                             {frames ? s->last[0] : NULL, frames ? s->last[1] : NULL}};
    return rx_replay_check(&b->shape, &given);
}

static void put(buffer *b, const state *s)
{
    memcpy(b->base + RX_REPLAY_GREATEST, &s->greatest, 8);
    for (int i = 0; i < STREAMS; i++) memcpy(stream_at(b, i), s->streams + 4 * i, 32);
    for (uint64_t slot = 0; slot < SLOTS; slot++) {
        memcpy(rx__row_at(b->r, slot), &s->words[slot], 8);
        for (int k = 0; k < 2; k++) memcpy(rx__field_at(b->r, &b->fields[k], slot), &s->last[k][slot], 8);
    }
    if (b->shape.tree) memcpy(b->base + b->priorities, s->priorities, sizeof s->priorities);
    rx_replay_settle(b->r);
}

/* A word, made another one: a bit, a number beside it, or one of those at which things end. */
static uint64_t another(uint64_t word)
{
    static const uint64_t ends[] = {0, 1, 2, SHARE, SLOTS, 1ull << 24, 1ull << 31, 1ull << 32, 1ull << 39, 1ull << 40, 1ull << 63, ~0ull,
                                    0x7f800000, 0x7fc00000, 0xbf800000};
    switch (roll(4)) {
        case 0: return word ^ 1ull << roll(64);
        case 1: return word + (roll(2) ? 1ull << roll(40) : -(1ull << roll(40)));
        case 2: return (1 + roll(40)) << RX__NUMBER | roll(4);
        default: return ends[roll(sizeof ends / sizeof *ends)];
    }
}

static void mutate(state *s)
{
    uint64_t slot = roll(SLOTS);
    uint32_t bits;
    switch (roll(MEMBERS)) {
        case 0: s->greatest = another(s->greatest); break;
        case 1: s->streams[roll(STREAMS * 4)] = another(s->streams[roll(STREAMS * 4)]); break;
        case 2: s->words[slot] = another(s->words[slot]); break;
        case 3: s->last[roll(2)][slot] = another(s->last[roll(2)][slot]); break;
        case 4:
            memcpy(&bits, &s->priorities[slot], 4);
            bits = (uint32_t)another(bits);
            memcpy(&s->priorities[slot], &bits, 4);
            break;
        default: s->streams[4 * roll(STREAMS)] += roll(100); break;
    }
}

static void test_what_passes_the_check_stays_inside(void)
{
    int passed = 0, refused = 0;
    for (int round = 0; round < 500; round++) {
        int tree = (int)roll(2), frames = (int)roll(2), minima = (int)roll(2);
        buffer b = new_buffer(tree, frames, minima), other = new_buffer(tree, frames, minima);
        use(&b, (int)roll(40));
        state s = taken(&b);
        assert(!check(&b, &s));
        for (uint64_t n = roll(4); n; n--) mutate(&s);
        if (check(&other, &s)) refused++;
        else {
            passed++;
            put(&other, &s);
            use(&other, 30);
        }
        drop(&b);
        drop(&other);
    }
    assert(passed > 100 && refused > 100);
}

static void test_a_restored_tree_has_the_sums_that_it_had(void)
{
    buffer b = new_buffer(1, 0, 1), other = new_buffer(1, 0, 1);
    use(&b, 40);
    state s = taken(&b);
    put(&other, &s);
    assert(!memcmp(b.base + b.shape.tree, other.base + other.shape.tree, offsetof(rx_sumtree, writes)));
    uint64_t sums = b.shape.tree + sizeof(rx_sumtree), size = rx_sumtree_bytes(SLOTS, 16, 4, 1) - sizeof(rx_sumtree);
    assert(!memcmp(b.base + sums, other.base + sums, size));
    drop(&b);
    drop(&other);
}

static void test_what_nobody_writes_any_more_is_let_go(void)
{
    buffer b = new_buffer(1, 0, 0);
    use(&b, 30);
    state s = taken(&b);
    s.words[1] |= 77 << 1 | RX__WRITING;
    s.words[2] += RX__HELD;
    assert(!check(&b, &s));
    put(&b, &s);
    state now = taken(&b);
    assert(now.words[1] == 0 && now.priorities[1] == 0 && now.words[2] == s.words[2] - RX__HELD);
    drop(&b);
}

int main(void)
{
    test_what_passes_the_check_stays_inside();
    test_a_restored_tree_has_the_sums_that_it_had();
    test_what_nobody_writes_any_more_is_let_go();
    return 0;
}
