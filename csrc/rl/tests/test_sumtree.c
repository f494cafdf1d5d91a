/* Is the tree, whatever was done to it, the one that its leaves alone would make? Do searches find what prefix sums say?
 * And is all that still so when threads write, sample and look at rows at the same time? */
#include "sumtree/sumtree.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "atomic.h"

enum { MOST = 5000 };

static uint64_t dice(uint64_t *state, uint64_t n)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return (*state >> 11) % n;
}

static double fraction(uint64_t *state) { return (double)dice(state, 1ull << 53) * 0x1p-53; }

static rx_sumtree *new_tree(uint64_t capacity, uint32_t fanout, uint32_t real_bytes, int minima)
{
    uint64_t bytes = rx_sumtree_bytes(capacity, fanout, real_bytes, minima);
    assert(bytes && bytes % 64 == 0);
    void *block = aligned_alloc(64, bytes);
    memset(block, 0, bytes);
    assert(rx_sumtree_check(block, bytes, capacity, fanout, real_bytes, minima) == 0);
    assert(!rx_sumtree_init(block, capacity, fanout, real_bytes, minima));
    assert(rx_sumtree_check(block, bytes, capacity, fanout, real_bytes, minima) == 1);
    return block;
}

/* ---- what the leaves alone say ------------------------------------------------------------------------------- */

static double entry(const rx_sumtree *t, const uint64_t *levels, uint32_t level, uint64_t i)
{
    const uint8_t *at = (const uint8_t *)t + levels[level];
    return t->real_bytes == 4 ? ((const float *)(const void *)at)[i] : ((const double *)(const void *)at)[i];
}

static double pairwise(const rx_sumtree *t, uint32_t level, uint64_t from, uint64_t n)
{
    if (n == 1) return entry(t, t->sums, level, from);
    double a = pairwise(t, level, from, n / 2), b = pairwise(t, level, from + n / 2, n / 2);
    return t->real_bytes == 4 ? (double)((float)a + (float)b) : a + b;
}

static void is_whole(const rx_sumtree *t)
{
    for (uint32_t i = 0; i < t->levels; i++)
        for (uint64_t row = 0; row < t->entries[i] >> t->shift; row++) {
            assert(entry(t, t->sums, i + 1, row) == pairwise(t, i, row << t->shift, t->fanout));
            double least = INFINITY;
            for (uint64_t j = 0; t->minima && j < t->fanout; j++) {
                double v = entry(t, t->least, i, (row << t->shift) + j);
                if (v > 0 && v < least) least = v;
            }
            if (t->minima) assert(entry(t, t->least, i + 1, row) == (least < INFINITY ? least : 0));
        }
    assert(rx_sumtree_total(t) == entry(t, t->sums, t->levels, 0));
}

static void holds(const rx_sumtree *t, const double *model)
{
    static int64_t slots[MOST];
    static double priorities[MOST];
    double least = INFINITY;
    int64_t n = (int64_t)t->capacity;
    for (int64_t i = 0; i < n; i++) slots[i] = i;
    assert(rx_sumtree_get(t, n, slots, priorities) == n);
    for (int64_t i = 0; i < n; i++) {
        assert(priorities[i] == model[i]);
        if (model[i] > 0 && model[i] < least) least = model[i];
    }
    if (t->minima) assert(rx_sumtree_minimum(t) == least);
    else assert(isnan(rx_sumtree_minimum(t)));
    is_whole(t);
}

/* ---- one thread ---------------------------------------------------------------------------------------------- */

static void changed_at_random(rx_sumtree *t, uint64_t seed)
{
    static double model[MOST], priorities[3000];
    static int64_t slots[3000];
    static float singles[3000];
    memset(model, 0, sizeof model);
    uint64_t state = seed, cap = t->capacity;
    for (int round = 0; round < 12; round++) {
        int64_t n = (int64_t)(round % 4 == 3 ? 3000 : dice(&state, 40));
        for (int64_t i = 0; i < n; i++) {
            slots[i] = (int64_t)dice(&state, cap);
            singles[i] = dice(&state, 4) ? (float)fraction(&state) * 10 : 0;
            if (!dice(&state, 20)) singles[i] = -0.0f;
            priorities[i] = singles[i];
            model[slots[i]] = singles[i] + 0.0;
        }
        if (round % 2) assert(rx_sumtree_set(t, n, slots, priorities) == n);
        else assert(rx_sumtree_set_f4(t, n, slots, singles) == n);
        holds(t, model);
        uint64_t first = dice(&state, cap), many = dice(&state, cap - first + 1);
        if (round % 3 == 1) {
            assert(rx_sumtree_fill(t, (int64_t)first, (int64_t)many, 2.5) == (int64_t)many);
            for (uint64_t i = 0; i < many; i++) model[first + i] = 2.5;
            holds(t, model);
        }
        double total = rx_sumtree_total(t);
        rx_sumtree_rebuild(t);
        assert(total == rx_sumtree_total(t));
        holds(t, model);
        for (int64_t i = 0; i < 600; i++) priorities[i] = fraction(&state);
        for (int stratified = 0; stratified < 2; stratified++) {
            static double got[600];
            int64_t done = rx_sumtree_sample(t, 600, priorities, stratified, slots, got);
            assert(done == (total > 0 ? 600 : RX_SUMTREE_EMPTY));
            for (int64_t i = 0; i < done; i++) assert(got[i] > 0 && got[i] == model[slots[i]]);
            for (int64_t i = 1; i < done && stratified; i++) assert(slots[i - 1] <= slots[i]);
        }
    }
}

static void test_a_tree_is_a_function_of_its_leaves(void)
{
    static const uint64_t capacities[] = {1, 2, 3, 15, 16, 17, 255, 300, 4097, MOST};
    for (uint32_t k = 2; k <= 64; k *= 2)
        for (uint32_t bytes = 4; bytes <= 8; bytes += 4)
            for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++)
                for (int minima = 0; minima < 2; minima++) {
                    rx_sumtree *t = new_tree(capacities[c], k, bytes, minima);
                    changed_at_random(t, 1 + k + c * 64 + bytes * 4096);
                    free(t);
                }
}

static void test_whole_numbers_are_found_where_prefix_sums_say(void)
{
    uint64_t state = 7;
    for (uint32_t k = 2; k <= 64; k *= 2)
        for (uint32_t bytes = 4; bytes <= 8; bytes += 4)
            for (uint64_t capacity = 1; capacity < 2000; capacity = capacity * 3 + 1) {
                rx_sumtree *t = new_tree(capacity, k, bytes, 0);
                static double masses[3 * 4000], priority, got[3 * 4000];
                static int64_t owner[3 * 4000], found[3 * 4000];
                int64_t n = 0;
                double before = 0;
                for (int64_t i = 0; i < (int64_t)capacity; i++) {
                    priority = (double)dice(&state, 4);
                    assert(rx_sumtree_set(t, 1, &i, &priority) == 1);
                    for (double x = 0; x < priority; x += 1, n += 2) {
                        owner[n] = owner[n + 1] = i;
                        masses[n] = before + x;
                        masses[n + 1] = nextafter(before + x + 1, 0);
                    }
                    before += priority;
                }
                assert(rx_sumtree_total(t) == before);
                int64_t all = rx_sumtree_find(t, n, masses, found, got);
                assert(all == n);
                for (int64_t i = 0; i < n; i++) assert(found[i] == owner[i]);
                masses[0] = before * 2;                        /* beyond the end: the last one */
                if (n) assert(rx_sumtree_find(t, 1, masses, found, NULL) == 1 && found[0] == owner[n - 1]);
                free(t);
            }
}

static void test_a_bad_argument_changes_nothing_and_is_pointed_out(void)
{
    static const double bad[] = {-1, NAN, INFINITY, -INFINITY};
    double model[100] = {0}, priorities[4] = {1, 2, 3, 4}, got[4];
    int64_t slots[4] = {5, 6, 7, 99};
    rx_sumtree *t = new_tree(100, 16, 4, 1);
    for (size_t i = 0; i < 4; i++) {
        priorities[2] = bad[i];
        assert(rx_sumtree_set(t, 4, slots, priorities) == 2);
        assert(rx_sumtree_fill(t, 0, 10, bad[i]) == RX_SUMTREE_REFUSED);
        holds(t, model);
    }
    priorities[2] = 1e39;                                      /* infinite as float32 */
    assert(rx_sumtree_set(t, 4, slots, priorities) == 2);
    priorities[2] = 3;
    for (slots[3] = -1; slots[3] <= 100; slots[3] += 101) {
        assert(rx_sumtree_set(t, 4, slots, priorities) == 3 && rx_sumtree_get(t, 4, slots, got) == 3);
        holds(t, model);
    }
    assert(rx_sumtree_fill(t, 99, 2, 1) == RX_SUMTREE_REFUSED && rx_sumtree_fill(t, -1, 1, 1) == RX_SUMTREE_REFUSED);
    assert(rx_sumtree_find(t, 1, &(double){0}, slots, got) == RX_SUMTREE_EMPTY);
    assert(rx_sumtree_fill(t, 0, 100, 1) == 100);
    assert(rx_sumtree_find(t, 2, (double[]){0, NAN}, slots, got) == 1 && rx_sumtree_find(t, 1, (double[]){-1}, slots, got) == 0);
    assert(rx_sumtree_sample(t, 2, (double[]){0, 1}, 0, slots, got) == 1);
    assert(rx_sumtree_fill(t, 0, 100, 3e38) == 100 && rx_sumtree_sample(t, 1, (double[]){0}, 0, slots, got) == RX_SUMTREE_OVERFLOW);
    free(t);
    assert(!rx_sumtree_bytes(0, 16, 4, 1) && !rx_sumtree_bytes(1, 3, 4, 1) && !rx_sumtree_bytes(1, 128, 4, 1));
    assert(!rx_sumtree_bytes(1, 1, 4, 1) && !rx_sumtree_bytes(1, 16, 2, 1) && !rx_sumtree_bytes((1ull << 32) + 1, 16, 4, 1));
}

static void test_a_block_of_another_shape_is_not_taken_for_the_tree(void)
{
    rx_sumtree *t = new_tree(100, 16, 4, 1);
    uint64_t bytes = t->size;
    assert(rx_sumtree_check(t, bytes, 100, 16, 4, 1) == 1 && rx_sumtree_check(t, bytes - 1, 100, 16, 4, 1) == RX_SUMTREE_REFUSED);
    assert(rx_sumtree_check(t, bytes, 99, 16, 4, 1) == RX_SUMTREE_REFUSED && rx_sumtree_check(t, bytes, 100, 16, 4, 0) == RX_SUMTREE_REFUSED);
    free(t);
}

/* A process died between its leaf and the sums above: a reader that they lead astray repairs them. */
static void test_sums_left_old_are_repaired_by_who_meets_them(void)
{
    rx_sumtree *t = new_tree(1000, 16, 4, 0);
    int64_t slot;
    double got;
    assert(rx_sumtree_fill(t, 0, 1000, 1) == 1000);
    t->writes += 1ull << 32 | 1;
    for (int i = 0; i < 500; i++) ((float *)(void *)((uint8_t *)t + t->sums[0]))[i] = 0;
    for (int i = 0; i < 1000; i++) {
        assert(rx_sumtree_sample(t, 1, (double[]){i / 1000.0}, 0, &slot, &got) == 1);
        assert(slot >= 500 && got == 1);
    }
    rx_sumtree_rebuild(t);
    is_whole(t);
    assert(rx_sumtree_total(t) == 500);
    free(t);
}

/* ---- many threads -------------------------------------------------------------------------------------------- */

enum { SLOTS = 300, THREADS = 4, ROUNDS = 400, WORDS = 8 };

typedef struct {
    rx_sumtree *tree;
    uint32_t running;                   /* writers */
    uint64_t claims[SLOTS];             /* claims[i] is odd while row i is being written */
    uint64_t rows[SLOTS][WORDS];
} shared;

typedef struct { shared *with; int number; uint64_t met; pthread_t thread; } thread;

/* Each slot has one writer, so that what it wrote last is known; neighbours belong to different ones. */
static void *write_own_slots(void *argument)
{
    thread *me = argument;
    uint64_t state = 99 + (uint64_t)me->number;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t slots[20];
        double priorities[20];
        for (int i = 0; i < 20; i++) {
            slots[i] = (int64_t)dice(&state, SLOTS / THREADS) * THREADS + me->number;
            priorities[i] = dice(&state, 3) ? fraction(&state) : 0;
        }
        assert(rx_sumtree_set(me->with->tree, 20, slots, priorities) == 20);
    }
    rx__add32(&me->with->running, UINT32_MAX);
    return NULL;
}

static void *sample_all_the_while(void *argument)
{
    thread *me = argument;
    uint64_t state = 77 + (uint64_t)me->number;
    while (rx__get32(&me->with->running)) {
        double uniforms[30], priorities[30];
        int64_t slots[30];
        for (int i = 0; i < 30; i++) uniforms[i] = fraction(&state);
        int64_t n = rx_sumtree_sample(me->with->tree, 30, uniforms, me->number & 1, slots, priorities);
        assert(n == 30 || n == RX_SUMTREE_EMPTY);
        for (int64_t i = 0; i < n; i++) assert(priorities[i] > 0 && priorities[i] < 1 && slots[i] < SLOTS);
        assert(rx_sumtree_minimum(me->with->tree) > 0);
    }
    return NULL;
}

static void run_together(shared *s, void *(*writer)(void *), void *(*sampler)(void *), uint64_t *met)
{
    thread threads[THREADS + 2];
    s->running = THREADS;
    for (int i = 0; i < THREADS + 2; i++) {
        threads[i] = (thread){.with = s, .number = i};
        assert(!pthread_create(&threads[i].thread, NULL, i < THREADS ? writer : sampler, &threads[i]));
    }
    for (int i = 0; i < THREADS + 2; i++) {
        pthread_join(threads[i].thread, NULL);
        *met += threads[i].met;
    }
}

static void test_no_write_is_lost_among_threads(void)
{
    for (uint32_t k = 2; k <= 64; k *= 4)
        for (uint32_t bytes = 4; bytes <= 8; bytes += 4) {
            shared s = {.tree = new_tree(SLOTS, k, bytes, 1)};
            uint64_t met = 0;
            run_together(&s, write_own_slots, sample_all_the_while, &met);
            double model[SLOTS] = {0};
            for (int number = 0; number < THREADS; number++) {           /* the same again, one after another */
                uint64_t state = 99 + (uint64_t)number;
                for (int i = 0; i < 20 * ROUNDS; i++) {
                    uint64_t slot = dice(&state, SLOTS / THREADS) * THREADS + (uint64_t)number;
                    double p = dice(&state, 3) ? fraction(&state) : 0;
                    model[slot] = bytes == 4 ? (float)p : p;
                }
            }
            holds(s.tree, model);
            assert((uint32_t)s.tree->writes == 0);
            free(s.tree);
        }
}

/* Two writers start at the same moment, on the same rows, and when both are done nothing may be old: here the last of
 * the writes count, which no later one repairs. */
typedef struct { rx_sumtree *tree; int number; uint64_t *met, rounds; pthread_t thread; } racer;

static void meet(uint64_t *met, uint64_t all)
{
    rx__add(met, 1);
    for (int turns = 0; rx__get(met) < all; turns++) turns < 2000 ? rx__pause() : (void)sched_yield();
}

static void *race(void *argument)
{
    racer *me = argument;
    uint64_t state = 11 + (uint64_t)me->number;
    for (uint64_t round = 0; round < me->rounds; round++) {
        int64_t slots[8], n = 1 + (int64_t)dice(&state, 8);
        double priorities[8];
        for (int64_t i = 0; i < n; i++) {
            slots[i] = (int64_t)dice(&state, 8) * 2 + me->number;
            priorities[i] = fraction(&state);
        }
        meet(me->met, round * 4 + 2);
        assert(rx_sumtree_set(me->tree, n, slots, priorities) == n);
        meet(me->met, round * 4 + 4);
        if (!me->number) is_whole(me->tree);
    }
    return NULL;
}

static void test_two_writes_of_one_moment_are_both_summed(void)
{
    for (uint32_t k = 2; k <= 16; k *= 2) {
        uint64_t met = 0;
        racer racers[2];
        rx_sumtree *t = new_tree(16, k, 4, 1);
        for (int i = 0; i < 2; i++) {
            racers[i] = (racer){.tree = t, .number = i, .met = &met, .rounds = 5000};
            assert(!pthread_create(&racers[i].thread, NULL, race, &racers[i]));
        }
        for (int i = 0; i < 2; i++) pthread_join(racers[i].thread, NULL);
        free(t);
    }
}

/* Lazy writing. The words of a row show which write they come from, so a row put together from two is noticed. */
static void *write_rows_lazily(void *argument)
{
    thread *me = argument;
    shared *s = me->with;
    uint64_t state = 55 + (uint64_t)me->number;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        int64_t slot = (int64_t)dice(&state, SLOTS / THREADS) * THREADS + me->number;
        assert(rx_sumtree_set(s->tree, 1, &slot, &(double){0}) == 1);
        rx__add(&s->claims[slot], 1);
        for (int w = 0; w < WORDS; w++) rx__put(&s->rows[slot][w], round * WORDS + (uint64_t)w);
        rx__add(&s->claims[slot], 1);
        assert(rx_sumtree_set(s->tree, 1, &slot, &(double){1 + fraction(&state)}) == 1);
    }
    rx__add32(&s->running, UINT32_MAX);
    return NULL;
}

static void *read_rows(void *argument)
{
    thread *me = argument;
    shared *s = me->with;
    uint64_t state = 33 + (uint64_t)me->number;
    while (rx__get32(&s->running)) {
        double uniform = fraction(&state), priority;
        int64_t slot;
        if (rx_sumtree_sample(s->tree, 1, &uniform, 0, &slot, &priority) != 1) continue;
        uint64_t row[WORDS], claim = rx__get(&s->claims[slot]);
        for (int w = 0; w < WORDS; w++) row[w] = rx__get(&s->rows[slot][w]);
        if (claim & 1 || rx__get(&s->claims[slot]) != claim) continue;      /* claimed again since: not to be used */
        assert(claim > 0 && row[0] >= WORDS);                               /* it had been written before it was sampled */
        for (int w = 0; w < WORDS; w++) assert(row[w] == row[0] + (uint64_t)w);
        me->met++;
    }
    return NULL;
}

static void test_no_half_written_row_is_used(void)
{
    shared s = {.tree = new_tree(SLOTS, 16, 4, 1)};
    uint64_t met = 0;
    while (met < 100) run_together(&s, write_rows_lazily, read_rows, &met);
    is_whole(s.tree);
    free(s.tree);
}

/* ThreadSanitizer holds a lock of its own while it makes an atomic store, which a signal in its middle would wait for. */
#if !defined(__SANITIZE_THREAD__)
#define PAGE 4096

static uint8_t *trap;                    /* a page that cannot be written: who does finds another write in between */
static rx_sumtree *trapped;
static int64_t beside;

static void write_beside(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    assert((uint8_t *)info->si_addr >= trap && (uint8_t *)info->si_addr < trap + PAGE);
    assert(!mprotect(trap, PAGE, PROT_READ | PROT_WRITE));
    assert(rx_sumtree_set(trapped, 1, &beside, &(double){3}) == 1);
}

/* A row is summed without the leaf that another write puts there meanwhile, whose sums are then written over. */
static void test_a_sum_that_another_write_makes_old_is_made_again(void)
{
    enum { CAPACITY = 8192, ROW = 400 };
    for (int minima = 0; minima < 2; minima++) {
        uint64_t bytes = rx_sumtree_bytes(CAPACITY, 16, 8, minima);
        trapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert(trapped != MAP_FAILED && !rx_sumtree_init(trapped, CAPACITY, 16, 8, minima));
        uint8_t *parent = (uint8_t *)trapped + trapped->sums[1] + ROW * 8;
        trap = (uint8_t *)trapped + (parent - (uint8_t *)trapped) / PAGE * PAGE;
        assert(trap > (uint8_t *)(&trapped->writes + 1) && trap + PAGE < (uint8_t *)trapped + trapped->sums[0] + ROW * 16 * 8);
        int64_t slot = ROW * 16;
        beside = slot + 1;
        struct sigaction on_fault = {.sa_sigaction = write_beside, .sa_flags = SA_SIGINFO | SA_NODEFER}, before;
        assert(!sigaction(SIGSEGV, &on_fault, &before));
        assert(!mprotect(trap, PAGE, PROT_READ));
        assert(rx_sumtree_set(trapped, 1, &slot, &(double){2}) == 1);
        assert(!sigaction(SIGSEGV, &before, NULL));
        is_whole(trapped);
        assert(rx_sumtree_total(trapped) == 5);
        munmap(trapped, bytes);
    }
}

#else
static void test_a_sum_that_another_write_makes_old_is_made_again(void) {}
#endif

int main(void)
{
    test_a_tree_is_a_function_of_its_leaves();
    test_whole_numbers_are_found_where_prefix_sums_say();
    test_a_bad_argument_changes_nothing_and_is_pointed_out();
    test_a_block_of_another_shape_is_not_taken_for_the_tree();
    test_sums_left_old_are_repaired_by_who_meets_them();
    test_no_write_is_lost_among_threads();
    test_two_writes_of_one_moment_are_both_summed();
    test_a_sum_that_another_write_makes_old_is_made_again();
    test_no_half_written_row_is_used();
    return 0;
}
