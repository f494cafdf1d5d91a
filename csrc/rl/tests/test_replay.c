/* Is every row that is sampled whole while others insert, sample and update; and is no priority lost? */
#include "replay/replay.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS 12      /* of the wide field */

typedef struct { uint64_t number, wide[WORDS]; uint8_t end; } given;

typedef struct {
    rx_replay_shape shape;
    rx_replay_field fields[3];
    void *base;
    rx_replay *r;
} buffer;

static uint64_t up(uint64_t size) { return (size + 63) / 64 * 64; }

/* Two fields in the record and one with an array of its own. */
static buffer new_buffer(uint64_t streams, uint64_t share, int tree)
{
    buffer b = {0};
    rx_replay_shape *s = &b.shape;
    uint64_t slots = streams * share, at = up(rx_replay_header_bytes(streams));
    *s = (rx_replay_shape){.streams = streams, .share = share, .n_fields = 3, .terminated = 2, .truncated = RX_REPLAY_NO_FIELD, .stride = 64};
    if (tree) {
        s->tree = at;
        at += up(rx_sumtree_bytes(slots, 16, 4, 0));
    }
    s->records = at;
    at += slots * s->stride;
    b.fields[0] = (rx_replay_field){s->records + 16, s->stride, 8, 8};
    b.fields[1] = (rx_replay_field){at, WORDS * 8, WORDS * 8, WORDS * 8};
    b.fields[2] = (rx_replay_field){s->records + 24, s->stride, 1, 1};
    s->bytes = at + slots * WORDS * 8;
    b.base = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(b.base != MAP_FAILED);
    if (tree) assert(!rx_sumtree_init((uint8_t *)b.base + s->tree, slots, 16, 4, 0));
    b.r = rx_replay_open(b.base, s, b.fields, 1);
    assert(b.r);
    return b;
}

static void drop(buffer *b)
{
    rx_replay_close(b->r);
    munmap(b->base, b->shape.bytes);
}

/* A row all of whose words follow from one. */
static given row_of(uint64_t number)
{
    given g = {.number = number, .end = number % 7 == 6};
    for (uint64_t i = 0; i < WORDS; i++) g.wide[i] = number * 0x9e3779b97f4a7c15ull + i;
    return g;
}

static int64_t insert(rx_replay *r, int64_t n, const given *rows, const int32_t *streams, const float *errors, int64_t *indices)
{
    const void *from[] = {&rows->number, rows->wide, &rows->end};
    uint64_t strides[] = {sizeof *rows, sizeof *rows, sizeof *rows};
    return rx_replay_insert(r, n, from, strides, streams, errors, 0, 1, indices);
}

#define BATCH 96

typedef struct {
    uint64_t numbers[BATCH], wide[BATCH][WORDS];
    uint8_t ends[BATCH];
    int64_t slots[BATCH], indices[BATCH];
    double uniforms[BATCH], priorities[BATCH];
    float weights[BATCH];
} batch;

static int64_t sample(rx_replay *r, batch *b, int how, uint64_t *dice)
{
    for (int i = 0; i < BATCH; i++) {
        *dice = *dice * 6364136223846793005ull + 1442695040888963407ull;
        b->uniforms[i] = (double)(*dice >> 11) * 0x1p-53;
    }
    void *into[] = {b->numbers, b->wide, b->ends};
    return rx_replay_sample(r, BATCH, b->uniforms, how, 0.5f, into, b->slots, b->indices, b->priorities, b->weights);
}

static void assert_whole(const batch *b)
{
    for (int i = 0; i < BATCH; i++) {
        given g = row_of(b->numbers[i]);
        assert(!memcmp(g.wide, b->wide[i], sizeof g.wide) && g.end == b->ends[i]);
    }
}

/* The tree's total is that of the leaves, and each is the priority of its row. */
static double total_of_leaves(const buffer *b)
{
    double sum = 0;
    for (int64_t slot = 0; slot < (int64_t)(b->shape.streams * b->shape.share); slot++) {
        double p;
        rx_sumtree_get(b->r->tree, 1, &slot, &p);
        sum += p;
    }
    return sum;
}

static void test_rows_and_priorities_come_back(void)
{
    buffer b = new_buffer(1, 50, 1);
    given rows[30];
    float errors[30];
    int64_t indices[30];
    for (uint64_t i = 0; i < 30; i++) rows[i] = row_of(i), errors[i] = (float)(i + 1);
    for (int round = 0; round < 3; round++) assert(insert(b.r, 30, rows, NULL, errors, indices) == 30);
    assert(rx_replay_length(b.r) == 50 && indices[29] == 89);
    batch out;
    uint64_t dice = 1;
    assert(sample(b.r, &out, 2, &dice) == BATCH);
    assert_whole(&out);
    for (int i = 0; i < BATCH; i++) {
        assert(out.indices[i] % 30 == (int64_t)out.numbers[i] && out.indices[i] >= 40);
        double relative = out.priorities[i] / (double)(out.numbers[i] + 1);      /* to the power 1, as our polynomials have it */
        assert(relative > 0.99999 && relative < 1.00001);
    }
    float zero[30] = {0};
    assert(rx_replay_update(b.r, 30, indices, NULL, zero, 0, 1) == 30);
    assert(sample(b.r, &out, 1, &dice) == BATCH);
    for (int i = 0; i < BATCH; i++) assert(out.indices[i] < 60);
    drop(&b);
}

static void test_an_empty_buffer_gives_nothing(void)
{
    batch out;
    uint64_t dice = 1;
    for (int how = 0; how < 2; how++) {
        buffer b = new_buffer(3, 10, how);
        assert(sample(b.r, &out, how, &dice) < 0);
        drop(&b);
    }
}

/* ---- threads ------------------------------------------------------------------------------------------------- */

#define ROUNDS 400

typedef struct { buffer *b; uint64_t who; int how; uint64_t sampled; } worker;

static void *inserts(void *given_worker)
{
    worker *w = given_worker;
    given rows[16];
    float errors[16];
    int32_t streams[16];
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t i = 0; i < 16; i++) {
            rows[i] = row_of(w->who << 32 | (round * 16 + i));
            errors[i] = (float)((round + i) % 5);
            streams[i] = (int32_t)(i % w->b->shape.streams);
        }
        int64_t done = insert(w->b->r, 16, rows, w->b->shape.streams > 1 ? streams : NULL, round % 2 ? errors : NULL, NULL);
        assert(done == 16);
    }
    return NULL;
}

static void *samples(void *given_worker)
{
    worker *w = given_worker;
    batch out;
    uint64_t dice = w->who;
    float errors[BATCH];
    for (int round = 0; round < ROUNDS / 2; round++) {
        if (sample(w->b->r, &out, w->how, &dice) != BATCH) continue;      /* nothing there yet */
        assert_whole(&out);
        w->sampled += BATCH;
        for (int i = 0; i < BATCH; i++) errors[i] = 1 + (float)((uint64_t)i * w->who % 3);
        if (w->how) assert(rx_replay_update(w->b->r, BATCH, out.indices, out.slots, errors, 0, 1) >= 0);
    }
    return NULL;
}

static void stress(uint64_t streams, uint64_t share, int how)
{
    buffer b = new_buffer(streams, share, how);
    given first = row_of(5);
    assert(insert(b.r, 1, &first, streams > 1 ? (int32_t[]){0} : NULL, NULL, NULL) == 1);
    pthread_t threads[5];
    worker workers[5];
    for (uint64_t i = 0; i < 5; i++) {
        workers[i] = (worker){&b, i + 1, how, 0};
        assert(!pthread_create(&threads[i], NULL, i < 3 ? inserts : samples, &workers[i]));
    }
    for (int i = 0; i < 5; i++) pthread_join(threads[i], NULL);
    assert(workers[3].sampled + workers[4].sampled);
    /* At rest every slot holds a whole row, held by no process, and the tree agrees with its leaves. */
    uint64_t slots = streams * share;
    for (uint64_t slot = 0; slot < slots; slot++) {
        uint64_t word = rx__row_at(b.r, slot)->word;
        assert(word >> RX__NUMBER && !(word << (64 - RX__NUMBER)));
        assert(b.r->streams[slot / share].next - (word >> RX__NUMBER) < share);
        given g = row_of(*(uint64_t *)rx__field_at(b.r, &b.fields[0], slot));
        assert(!memcmp(g.wide, rx__field_at(b.r, &b.fields[1], slot), sizeof g.wide));
    }
    if (how) {
        double total = rx_sumtree_total(b.r->tree), leaves = total_of_leaves(&b);
        assert(total > leaves * 0.9999 && total < leaves * 1.0001);
        /* and a last update of every row is the one that stays */
        for (uint64_t slot = 0; slot < slots; slot++) {
            int64_t index = (int64_t)(((rx__row_at(b.r, slot)->word >> RX__NUMBER) - 1) * streams + slot / share), at = (int64_t)slot;
            double p;
            assert(rx_replay_update(b.r, 1, &index, NULL, &(float){2}, 0, 1) == 1);
            assert(rx_sumtree_get(b.r->tree, 1, &at, &p) == 1 && p > 1.9999 && p < 2.0001);
        }
    }
    drop(&b);
}

static void test_threads_see_whole_rows(void)
{
    stress(1, 64, 0);      /* small, so that writers lap readers and each other */
    stress(1, 64, 1);
    stress(4, 16, 2);
    stress(1, 4000, 1);
}

/* ---- a copy and a write of one row that meet in its middle ---------------------------------------------------- */

#define PAGE 4096
#define LONG (4 * PAGE / 8)      /* words of a row: four pages */

static uint8_t *trap;                    /* a page that cannot be touched: who comes to it does [at_the_trap] first */
static void (*at_the_trap)(void);

static void fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    assert((uint8_t *)info->si_addr >= trap && (uint8_t *)info->si_addr < trap + PAGE);
    assert(!mprotect(trap, PAGE, PROT_READ | PROT_WRITE));
    at_the_trap();
}

static void set_trap(uint64_t *row, void (*then)(void))
{
    trap = (uint8_t *)row + 2 * PAGE;
    at_the_trap = then;
    assert(!mprotect(trap, PAGE, PROT_NONE));
}

static uint64_t *new_long_row(void)
{
    void *row = mmap(NULL, LONG * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(row != MAP_FAILED);
    return row;
}

static rx_replay *long_rows;
static uint64_t long_share, inserted, *given_row, *copied_row;

static void insert_long_row(void)
{
    for (uint64_t i = 0; i < LONG; i++) given_row[i] = inserted;
    const void *from[] = {given_row};
    inserted++;
    assert(rx_replay_insert(long_rows, 1, from, (uint64_t[]){LONG * 8}, NULL, NULL, 0, 1, NULL) == 1);
}

static void insert_one_lap(void)
{
    for (uint64_t i = 0; i < long_share; i++) insert_long_row();
}

/* One row, or what sampling said: of one insertion alone, and the one whose index it has. */
static int64_t sample_long_row(void)
{
    int64_t slot, index;
    double uniform = 0.5, priority;
    void *into[] = {copied_row};
    int64_t n = rx_replay_sample(long_rows, 1, &uniform, 0, 0, into, &slot, &index, &priority, NULL);
    for (uint64_t i = 0; n == 1 && i < LONG; i++) assert(copied_row[i] == (uint64_t)index);
    return n;
}

static int64_t sampled_amid_a_write;
static void sample_amid_a_write(void) { sampled_amid_a_write = sample_long_row(); }

static void long_rows_are_whole(uint64_t share)
{
    uint64_t head = up(rx_replay_header_bytes(1)), records = up(share * 16);
    rx_replay_shape shape = {.bytes = head + records + share * LONG * 8, .streams = 1, .share = share, .records = head, .stride = 16,
                             .n_fields = 1, .terminated = RX_REPLAY_NO_FIELD, .truncated = RX_REPLAY_NO_FIELD};
    rx_replay_field field = {head + records, LONG * 8, LONG * 8, LONG * 8};
    void *base = aligned_alloc(64, up(shape.bytes));
    memset(base, 0, shape.bytes);
    long_rows = rx_replay_open(base, &shape, &field, 1);
    long_share = share;
    inserted = 0;
    given_row = new_long_row();
    copied_row = new_long_row();
    insert_one_lap();
    uint64_t late, again, taken_over;
    for (uint64_t round = 1; round <= 10; round++) {
        set_trap(copied_row, insert_one_lap);      /* the row is overwritten while it is copied: copied again */
        assert(sample_long_row() == 1);
        rx_replay_counters(long_rows, &late, &again, &taken_over);
        assert(again >= round);
    }
    for (int round = 0; share > 1 && round < 10; round++) {
        const void *from[] = {given_row};      /* half of it is written when it is asked for: never given out */
        for (uint64_t i = 0; i < LONG; i++) given_row[i] = inserted;
        inserted++;
        set_trap(given_row, sample_amid_a_write);
        assert(rx_replay_insert(long_rows, 1, from, (uint64_t[]){LONG * 8}, NULL, NULL, 0, 1, NULL) == 1);
        assert(sampled_amid_a_write == 1);
    }
    rx_replay_close(long_rows);
    free(base);
    munmap(given_row, LONG * 8);
    munmap(copied_row, LONG * 8);
}

static void test_a_row_is_whole_though_it_changes_while_it_is_copied(void)
{
    struct sigaction on_fault = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_NODEFER}, before;
    assert(!sigaction(SIGSEGV, &on_fault, &before));
    long_rows_are_whole(2);
    long_rows_are_whole(1);
    assert(!sigaction(SIGSEGV, &before, NULL));
}

/* What was being written by a process that died is taken over. */
static void test_a_dead_writer_blocks_nobody(void)
{
    buffer b = new_buffer(1, 8, 1);
    given rows[8];
    for (uint64_t i = 0; i < 8; i++) rows[i] = row_of(i);
    assert(insert(b.r, 8, rows, NULL, NULL, NULL) == 8);
    pid_t child = fork();
    assert(child >= 0);
    if (!child) {
        rx__put(&b.r->process, (uint64_t)getpid());
        rx__add(&b.r->streams[0].next, 1);
        _exit(rx__claim(b.r, 0, 8, 1) != 1);
    }
    int status;
    assert(waitpid(child, &status, 0) == child && !status);
    batch out;
    uint64_t dice = 3;
    assert(sample(b.r, &out, 1, &dice) == BATCH);      /* the slot in writing is never given out */
    for (int i = 0; i < BATCH; i++) assert(out.slots[i] != 0);
    assert(sample(b.r, &out, 0, &dice) == BATCH);
    for (int i = 0; i < BATCH; i++) assert(out.slots[i] != 0);
    assert(insert(b.r, 8, rows, NULL, NULL, NULL) == 8);
    assert(sample(b.r, &out, 1, &dice) == BATCH);
    assert_whole(&out);
    uint64_t late, again, taken_over;
    rx_replay_counters(b.r, &late, &again, &taken_over);
    assert(taken_over == 1 && again > 0);
    drop(&b);
}

static void test_a_later_row_is_not_overwritten_by_an_earlier_one(void)
{
    buffer b = new_buffer(1, 4, 1);
    assert(rx__claim(b.r, 1, 5, 1) == 1);
    rx__put(&rx__row_at(b.r, 1)->word, 6ull << RX__NUMBER);
    assert(rx__claim(b.r, 1, 1, 1) == 0);
    drop(&b);
}

int main(void)
{
    test_rows_and_priorities_come_back();
    test_an_empty_buffer_gives_nothing();
    test_a_later_row_is_not_overwritten_by_an_earlier_one();
    test_a_dead_writer_blocks_nobody();
    test_threads_see_whole_rows();
    test_a_row_is_whole_though_it_changes_while_it_is_copied();
    return 0;
}
