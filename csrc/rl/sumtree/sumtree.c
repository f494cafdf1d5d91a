/* The operations on a tree; tree.inc, made here for both types, has how. */
#include "sumtree.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "atomic.h"

#define EACH inline __attribute__((always_inline))
#if defined(__SANITIZE_ADDRESS__) || defined(RX_TSAN)
#define UNROLL           /* checks between all steps of straight code take compilers minutes */
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
#define EACH_SHIFT CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6)      /* K from 2 to 64 */
#define CHUNK 512        /* of a batch, so many go through the tree together */
#define ABREAST 8        /* so many searches take each step side by side */
#define FEW 16           /* rows of a level that are split before its searches */
#define SEEN 1024

#ifdef __clang__
#define SHUFFLE(a, b, word, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, word, ...) __builtin_shuffle(a, b, (word __attribute__((vector_size(16)))){__VA_ARGS__})
#endif
#ifdef __SSE2__          /* a < b ? a : b, for which C has no word either */
#include <emmintrin.h>
#define LESSER_F4(a, b) ((vector_f4)_mm_min_ps((__m128)(a), (__m128)(b)))
#define LESSER_F8(a, b) ((vector_f8)_mm_min_pd((__m128d)(a), (__m128d)(b)))
#else
#define LESSER_OF(v, m, a, b) ((v)(((m)(a) & (m)((a) < (b))) | ((m)(b) & ~(m)((a) < (b)))))
#define LESSER_F4(a, b) LESSER_OF(vector_f4, mask_f4, a, b)
#define LESSER_F8(a, b) LESSER_OF(vector_f8, mask_f8, a, b)
#endif

typedef double pair __attribute__((vector_size(16)));
typedef int64_t pair_mask __attribute__((vector_size(16)));
typedef struct { uint32_t mask, keys[SEEN]; } rx_seen;      /* rows met lately; some are forgotten */
typedef struct { uint64_t ticket; int alone; } rx_write;
typedef enum { ABSOLUTE, FRACTION, STRATUM } rx_masses;

static inline rx_write begin(rx_sumtree *t)
{
    uint64_t one = 1ull << 32 | 1;
    uint64_t before = atomic_fetch_add_explicit((_Atomic uint64_t *)&t->writes, one, memory_order_seq_cst);
    return (rx_write){before + one, (uint32_t)before == 0};
}

static inline void end(rx_sumtree *t) { atomic_fetch_sub_explicit((_Atomic uint64_t *)&t->writes, 1, memory_order_seq_cst); }
static inline int is_alone(rx_sumtree *t, rx_write *w) { return w->alone = w->alone && rx__get_fenced(&t->writes) == w->ticket; }

static inline double mass(rx_masses how, double x, int64_t i, int64_t n, double total)
{
    return how == ABSOLUTE ? x : how == FRACTION ? x * total : ((double)i + x) / (double)n * total;
}

#define REAL float
#define REAL_BYTES 4
#define WORD uint32_t
#define OF(name) name##_f4
#include "tree.inc"
#undef REAL
#undef REAL_BYTES
#undef WORD
#undef OF

#define REAL double
#define REAL_BYTES 8
#define WORD uint64_t
#define OF(name) name##_f8
#include "tree.inc"
#undef REAL
#undef REAL_BYTES
#undef WORD
#undef OF

#define IS_F4(t) ((t)->real_bytes == 4)

int64_t rx_sumtree_set(rx_sumtree *t, int64_t n, const int64_t *slots, const double *priorities)
{
    return IS_F4(t) ? set_f4(t, n, slots, priorities, NULL) : set_f8(t, n, slots, priorities, NULL);
}

int64_t rx_sumtree_set_f4(rx_sumtree *t, int64_t n, const int64_t *slots, const float *priorities)
{
    return IS_F4(t) ? set_f4(t, n, slots, NULL, priorities) : set_f8(t, n, slots, NULL, priorities);
}

int64_t rx_sumtree_fill(rx_sumtree *t, int64_t first, int64_t n, double priority)
{
    if (first < 0 || n < 0 || (uint64_t)first > t->capacity || (uint64_t)n > t->capacity - (uint64_t)first) return RX_SUMTREE_REFUSED;
    return IS_F4(t) ? fill_f4(t, first, n, priority) : fill_f8(t, first, n, priority);
}

int64_t rx_sumtree_get(const rx_sumtree *t, int64_t n, const int64_t *slots, double *priorities)
{
    for (int64_t i = 0; i < n; i++)
        if ((uint64_t)slots[i] >= t->capacity) return i;
    if (IS_F4(t)) get_f4(t, n, slots, priorities);
    else get_f8(t, n, slots, priorities);
    return n;
}

int64_t rx_sumtree_find(rx_sumtree *t, int64_t n, const double *masses, int64_t *slots, double *priorities)
{
    for (int64_t i = 0; i < n; i++)
        if (!(masses[i] >= 0)) return i;
    return IS_F4(t) ? find_f4(t, n, masses, ABSOLUTE, slots, priorities) : find_f8(t, n, masses, ABSOLUTE, slots, priorities);
}

int64_t rx_sumtree_sample(rx_sumtree *t, int64_t n, const double *uniforms, int stratified, int64_t *slots, double *priorities)
{
    for (int64_t i = 0; i < n; i++)
        if (!(uniforms[i] >= 0 && uniforms[i] < 1)) return i;
    rx_masses how = stratified ? STRATUM : FRACTION;
    return IS_F4(t) ? find_f4(t, n, uniforms, how, slots, priorities) : find_f8(t, n, uniforms, how, slots, priorities);
}

double rx_sumtree_total(const rx_sumtree *t)
{
    return IS_F4(t) ? get_one_f4(level_f4(t, t->levels)) : get_one_f8(level_f8(t, t->levels));
}

double rx_sumtree_minimum(const rx_sumtree *t)
{
    if (!t->minima) return NAN;
    double least = IS_F4(t) ? get_one_f4(minima_f4(t, t->levels)) : get_one_f8(minima_f8(t, t->levels));
    return least > 0 ? least : INFINITY;
}

void rx_sumtree_rebuild(rx_sumtree *t)
{
    if (IS_F4(t)) rebuild_f4(t);
    else rebuild_f8(t);
}
