/* Sums, searches and their protocol; tree.inc has the code, made here for both types. */
#include "sumtree.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define REAL float
#define WORD uint32_t
#define OF(name) name##_f4
#include "tree.inc"
#undef REAL
#undef WORD
#undef OF

#define REAL double
#define WORD uint64_t
#define OF(name) name##_f8
#include "tree.inc"
#undef REAL
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
    return IS_F4(t) ? find_f4(t, n, masses, 0, slots, priorities) : find_f8(t, n, masses, 0, slots, priorities);
}

int64_t rx_sumtree_sample(rx_sumtree *t, int64_t n, const double *uniforms, int stratified, int64_t *slots, double *priorities)
{
    for (int64_t i = 0; i < n; i++)
        if (!(uniforms[i] >= 0 && uniforms[i] < 1)) return i;
    int how = stratified ? 2 : 1;
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
    if (IS_F4(t)) sum_range_f4(t, 0, t->entries[0] - 1);
    else sum_range_f8(t, 0, t->entries[0] - 1);
}
