/* Does the ready set give back what was put in, lowest rank first? */
#include "ready.h"

#include <assert.h>
#include <string.h>

enum { WORDS = 64 * 3 + 10 };

static uint64_t words[WORDS], summary[(WORDS + 63) / 64];

static rx_ready empty(void)
{
    memset(words, 0, sizeof words);
    memset(summary, 0, sizeof summary);
    return (rx_ready){words, summary, sizeof summary / sizeof *summary, 0};
}

static void test_nothing_is_ready_at_first(void)
{
    rx_ready r = empty();
    assert(rx__ready_first(&r) == -1);
}

static void test_the_first_word_is_that_of_the_lowest_rank(void)
{
    rx_ready r = empty();
    rx__ready_add(&r, 200, 1);
    rx__ready_add(&r, 70, 1ull << 63);
    rx__ready_add(&r, 69, 6);
    assert(rx__ready_first(&r) == 69);
    rx__ready_remove(&r, 69, 2);
    assert(rx__ready_first(&r) == 69 && words[69] == 4);
    rx__ready_remove(&r, 69, 4);
    assert(rx__ready_first(&r) == 70);
    rx__ready_remove(&r, 70, 1ull << 63);
    assert(rx__ready_first(&r) == 200);
    rx__ready_remove(&r, 200, 1);
    assert(rx__ready_first(&r) == -1);
}

static void test_what_is_added_twice_is_there_once(void)
{
    rx_ready r = empty();
    rx__ready_add(&r, 5, 1);
    rx__ready_add(&r, 5, 1);
    rx__ready_remove(&r, 5, 1);
    assert(rx__ready_first(&r) == -1);
}

static void test_a_sweep_takes_every_rank_once_in_order(void)
{
    uint32_t dice = 1;
    for (int round = 0; round < 200; round++) {
        rx_ready r = empty();
        int64_t last = -1, taken = 0, put = 1;
        rx__ready_add(&r, 0, 1);
        for (int64_t word; (word = rx__ready_first(&r)) >= 0;) {
            uint64_t bit = words[word] & -words[word];
            int64_t rank = word * 64 + __builtin_ctzll(bit);
            assert(rank > last);
            last = rank;
            taken++;
            rx__ready_remove(&r, (uint32_t)word, bit);
            for (int k = 0; k < 3; k++) {                        /* as a reaction does: only higher levels, so later words */
                dice = dice * 1664525u + 1013904223u;
                uint32_t to = (uint32_t)word + 1 + (dice >> 8) % 40;
                uint64_t mask = 1ull << (dice >> 26);
                if (to >= WORDS) continue;
                put += !(words[to] & mask);
                rx__ready_add(&r, to, mask);
            }
        }
        assert(taken == put);
    }
}

int main(void)
{
    test_nothing_is_ready_at_first();
    test_the_first_word_is_that_of_the_lowest_rank();
    test_what_is_added_twice_is_there_once();
    test_a_sweep_takes_every_rank_once_in_order();
    return 0;
}
