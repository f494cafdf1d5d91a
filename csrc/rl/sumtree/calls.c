/* The operations for a caller that may hold a lock which others need: who gives a long batch lets go of it meanwhile. */
#include "lock.h"
#include "sumtree.h"

#define LONG 2048        /* of so many, a call takes tens of microseconds */

#define FREELY(n, call) \
    void *held = (n) > LONG && rx__let_go ? rx__let_go() : NULL; \
    int64_t result = call; \
    if (held) rx__take_back(held); \
    return result;

int64_t rx_sumtree_set_freely(rx_sumtree *t, int64_t n, const int64_t *slots, const double *priorities)
{
    FREELY(n, rx_sumtree_set(t, n, slots, priorities))
}

int64_t rx_sumtree_set_f4_freely(rx_sumtree *t, int64_t n, const int64_t *slots, const float *priorities)
{
    FREELY(n, rx_sumtree_set_f4(t, n, slots, priorities))
}

int64_t rx_sumtree_fill_freely(rx_sumtree *t, int64_t first, int64_t n, double priority)
{
    FREELY(n, rx_sumtree_fill(t, first, n, priority))
}

int64_t rx_sumtree_get_freely(const rx_sumtree *t, int64_t n, const int64_t *slots, double *priorities)
{
    FREELY(n, rx_sumtree_get(t, n, slots, priorities))
}

int64_t rx_sumtree_find_freely(rx_sumtree *t, int64_t n, const double *masses, int64_t *slots, double *priorities)
{
    FREELY(n, rx_sumtree_find(t, n, masses, slots, priorities))
}

int64_t rx_sumtree_sample_freely(rx_sumtree *t, int64_t n, const double *uniforms, int stratified, int64_t *slots, double *priorities)
{
    FREELY(n, rx_sumtree_sample(t, n, uniforms, stratified, slots, priorities))
}

int64_t rx_sumtree_rebuild_freely(rx_sumtree *t)
{
    FREELY(t->capacity, (rx_sumtree_rebuild(t), 0))
}
