/* Do events come out of the queue by tag, and those of one tag in the order in which they went in? */
#include "queue.h"

#include <assert.h>
#include <stdlib.h>

static uint32_t dice_state = 1;

static uint32_t dice(uint32_t n)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return (dice_state >> 8) % n;
}

static rx_event event(int64_t time, uint64_t microstep, uint64_t count, uint32_t cell)
{
    return (rx_event){rx__tag(time, microstep), count << RX_CELL_BITS | cell, count};
}

static int by_tag_then_order(const void *a, const void *b)
{
    const rx_event *x = a, *y = b;
    if (rx__less(x->tag, y->tag)) return -1;
    if (rx__less(y->tag, x->tag)) return 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void test_an_empty_queue_has_its_least_tag_forever_away(void)
{
    rx_heap h = {0};
    assert(rx__is_forever(rx__heap_least(&h)));
}

static void test_events_of_one_tag_come_out_in_call_order(void)
{
    rx_heap h = {0};
    for (uint64_t i = 0; i < 1000; i++) assert(!rx__heap_push(&h, event(5, 0, i, (uint32_t)(1000 - i))));
    for (uint64_t i = 0; i < 1000; i++) {
        assert(h.items[0].payload == i && rx__event_cell(&h.items[0]) == 1000 - i);
        rx__heap_pop(&h);
    }
    assert(h.n == 0);
    free(h.items);
}

static void test_a_hundred_thousand_events_come_out_sorted(void)
{
    enum { N = 100000 };
    rx_heap h = {0};
    rx_event *all = malloc(N * sizeof *all);
    for (uint32_t i = 0; i < N; i++) {
        all[i] = event(dice(5000), dice(3), i, dice(1u << RX_CELL_BITS));
        assert(!rx__heap_push(&h, all[i]));
    }
    qsort(all, N, sizeof *all, by_tag_then_order);
    for (uint32_t i = 0; i < N; i++) {
        assert(rx__equal(rx__heap_least(&h), all[i].tag) && h.items[0].order == all[i].order);
        assert(h.items[0].payload == all[i].payload && rx__event_cell(&h.items[0]) == rx__event_cell(&all[i]));
        rx__heap_pop(&h);
    }
    assert(h.n == 0);
    free(all);
    free(h.items);
}

static void test_pushes_between_pops_and_removals_find_their_place(void)
{
    enum { N = 20000 };
    rx_heap h = {0};
    rx_event *sorted = malloc(N * sizeof *sorted);
    uint32_t n = 0;
    for (uint64_t i = 0; i < N; i++) {
        if (n && dice(100) < 48) {
            assert(h.items[0].order == sorted[0].order && h.n == n);
            rx__heap_pop(&h);
            for (uint32_t k = 1; k < n; k++) sorted[k - 1] = sorted[k];
            n--;
            continue;
        }
        if (n && dice(100) < 20) {
            uint32_t at = (uint32_t)dice(n), k = 0;
            while (sorted[k].order != h.items[at].order) k++;
            rx__heap_remove(&h, at);
            for (k++; k < n; k++) sorted[k - 1] = sorted[k];
            n--;
            continue;
        }
        rx_event e = event(dice(200), dice(2), i, 0);
        uint32_t k = n++;
        for (; k && by_tag_then_order(&e, &sorted[k - 1]) < 0; k--) sorted[k] = sorted[k - 1];
        sorted[k] = e;
        assert(!rx__heap_push(&h, e));
    }
    free(sorted);
    free(h.items);
}

static void test_the_next_microsteps_list_keeps_call_order_as_it_grows(void)
{
    rx_soons s = {0};
    for (uint32_t i = 0; i < 5000; i++) assert(!rx__soon_push(&s, i, ~(uint64_t)i));
    assert(s.n == 5000);
    for (uint32_t i = 0; i < s.n; i++) assert(s.items[i].cell == i && s.items[i].payload == ~(uint64_t)i);
    free(s.items);
}

int main(void)
{
    test_an_empty_queue_has_its_least_tag_forever_away();
    test_events_of_one_tag_come_out_in_call_order();
    test_a_hundred_thousand_events_come_out_sorted();
    test_pushes_between_pops_and_removals_find_their_place();
    test_the_next_microsteps_list_keeps_call_order_as_it_grows();
    return 0;
}
