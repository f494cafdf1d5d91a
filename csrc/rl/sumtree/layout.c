/* Where in its block does a tree lie? Levels one after another, the root first, each from a cache line of its own. */
#include <string.h>

#include "atomic.h"
#include "sumtree.h"

#define MAGIC 0x3165657274757372ull

static uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

static int lay_out(rx_sumtree *t, uint64_t capacity, uint32_t fanout, uint32_t real_bytes, int minima)
{
    memset(t, 0, sizeof *t);
    if (!capacity || capacity > 1ull << 32 || fanout < 2 || fanout > 64 || fanout & (fanout - 1)) return RX_SUMTREE_REFUSED;
    if (real_bytes != 4 && real_bytes != 8) return RX_SUMTREE_REFUSED;
    t->capacity = capacity;
    t->fanout = fanout;
    t->shift = (uint32_t)__builtin_ctz(fanout);
    t->real_bytes = real_bytes;
    t->minima = minima != 0;
    uint64_t n = up(capacity, fanout), at = sizeof *t;
    t->entries[0] = n;
    while (n > 1) {
        n /= fanout;
        t->entries[++t->levels] = n = n > 1 ? up(n, fanout) : 1;
    }
    for (uint32_t tree = 0; tree <= t->minima; tree++)
        for (uint32_t i = t->levels + 1; i-- > tree;) {      /* both stand on the same leaves */
            (tree ? t->least : t->sums)[i] = at;
            at = up(at + t->entries[i] * real_bytes, 64);
        }
    if (minima) t->least[0] = t->sums[0];
    t->size = at;
    return 0;
}

uint64_t rx_sumtree_bytes(uint64_t capacity, uint32_t fanout, uint32_t real_bytes, int minima)
{
    rx_sumtree t;
    return lay_out(&t, capacity, fanout, real_bytes, minima) ? 0 : t.size;
}

uint64_t rx_sumtree_priorities(uint64_t capacity, uint32_t fanout, uint32_t real_bytes, int minima)
{
    rx_sumtree t;
    return lay_out(&t, capacity, fanout, real_bytes, minima) ? 0 : t.sums[0];
}

int rx_sumtree_init(void *block, uint64_t capacity, uint32_t fanout, uint32_t real_bytes, int minima)
{
    rx_sumtree *t = block;
    if ((uintptr_t)block % 64 || lay_out(t, capacity, fanout, real_bytes, minima)) return RX_SUMTREE_REFUSED;
    rx__put(&t->magic, MAGIC);
    return 0;
}

int rx_sumtree_check(const void *block, uint64_t bytes, uint64_t capacity, uint32_t fanout, uint32_t real_bytes, int minima)
{
    static const rx_sumtree zeros;
    rx_sumtree it;
    if ((uintptr_t)block % 64 || lay_out(&it, capacity, fanout, real_bytes, minima) || bytes < it.size) return RX_SUMTREE_REFUSED;
    if (!memcmp(block, &zeros, sizeof zeros)) return 0;
    it.magic = MAGIC;
    return memcmp(block, &it, offsetof(rx_sumtree, writes)) ? RX_SUMTREE_REFUSED : 1;
}
