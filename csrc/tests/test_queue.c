/* Do events come out of the queue by tag, and those of one tag in the order in which they went in? */
#include "queue.h"

#include <assert.h>
#include <stdlib.h>

typedef struct { rx_tag tag; uint64_t payload; uint32_t cell; } pushed;      /* the payload: how many were pushed before it */

static uint32_t dice_state = 1;

static uint32_t dice(uint32_t n)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return (dice_state >> 8) % n;
}

static pushed push(rx_queue *q, int64_t time, uint64_t microstep, uint64_t count, uint32_t cell)
{
    pushed one = {rx__tag(time, microstep), count, cell};
    assert(!rx__queue_push(q, one.tag, cell, count));
    return one;
}

/* Pops a list, which must be what comes next in [sorted]; how many events it has. */
static uint32_t pop(rx_queue *q, const pushed *sorted)
{
    uint32_t n = 0;
    assert(rx__equal(rx__queue_least(q), sorted[0].tag));
    for (uint32_t at = rx__queue_pop(q); at; n++) {
        rx_event e = rx__queue_take(q, at);
        assert(rx__equal(sorted[n].tag, sorted[0].tag) && e.payload == sorted[n].payload && e.cell == sorted[n].cell);
        at = e.next;
    }
    return n;
}

static int by_tag_then_order(const void *a, const void *b)
{
    const pushed *x = a, *y = b;
    if (rx__less(x->tag, y->tag)) return -1;
    if (rx__less(y->tag, x->tag)) return 1;
    return x->payload < y->payload ? -1 : x->payload > y->payload;
}

static void test_an_empty_queue_has_its_least_tag_forever_away(void)
{
    rx_queue q = {0};
    assert(rx__is_forever(rx__queue_least(&q)));
}

static void test_events_of_one_tag_are_one_list_in_call_order(void)
{
    rx_queue q = {0};
    pushed all[1000];
    for (uint32_t i = 0; i < 1000; i++) all[i] = push(&q, 5, 0, i, 1000 - i);
    assert(q.n == 1 && pop(&q, all) == 1000);
    assert(!q.n && q.used == 1001);
    for (uint32_t i = 0; i < 1000; i++) push(&q, 6, 0, i, i);
    assert(q.used == 1001);                          /* places are used again */
    rx__queue_free(&q);
}

static void test_a_tag_that_others_interrupt_has_several_lists_and_the_older_come_first(void)
{
    rx_queue q = {0};
    pushed all[5];
    all[0] = push(&q, 5, 0, 0, 7), all[1] = push(&q, 5, 0, 1, 7);
    pushed later = push(&q, 9, 0, 2, 7);
    all[2] = push(&q, 5, 0, 3, 7), all[3] = push(&q, 5, 0, 4, 7);
    assert(q.n == 3 && pop(&q, all) == 2);
    all[4] = push(&q, 5, 0, 5, 7);                   /* behind the others, although one list of its tag is gone */
    assert(pop(&q, all + 2) + pop(&q, all + 4) == 3);
    assert(pop(&q, &later) == 1);
    rx__queue_free(&q);
}

static void test_a_hundred_thousand_events_come_out_sorted(void)
{
    enum { N = 100000 };
    rx_queue q = {0};
    pushed *all = malloc(N * sizeof *all);
    for (uint32_t i = 0; i < N; i++) all[i] = push(&q, dice(5000), dice(3), i, dice(1u << 24));
    qsort(all, N, sizeof *all, by_tag_then_order);
    for (uint32_t i = 0; i < N;) i += pop(&q, all + i);
    assert(q.n == 0);
    free(all);
    rx__queue_free(&q);
}

static uint32_t without(pushed *all, uint32_t n, uint32_t first, uint32_t count)
{
    for (uint32_t k = first; k + count < n; k++) all[k] = all[k + count];
    return n - count;
}

static int odd_payloads_stay(void *asked, rx_tag tag, const rx_event *e)
{
    pushed **next = asked;
    assert(rx__equal(tag, (*next)->tag) && e->payload == (*next)->payload);
    ++*next;
    return (int)(e->payload & 1);
}

static void test_what_is_removed_between_pushes_and_pops_is_gone(void)
{
    enum { N = 20000 };
    rx_queue q = {0};
    pushed *sorted = malloc(N * sizeof *sorted);
    uint32_t n = 0;
    for (uint64_t i = 0; i < N; i++) {
        if (n && dice(100) < 40) {
            n = without(sorted, n, 0, pop(&q, sorted));
            continue;
        }
        if (n && dice(100) < 20) {                   /* the last one of a cell at a tag */
            uint32_t k = dice(n), last = k;
            for (uint32_t j = k; j < n && rx__equal(sorted[j].tag, sorted[k].tag); j++)
                if (sorted[j].cell == sorted[k].cell) last = j;
            assert(*rx__queue_last(&q, sorted[k].tag, sorted[k].cell) == sorted[last].payload);
            rx__queue_remove_last(&q, sorted[k].tag, sorted[k].cell);
            n = without(sorted, n, last, 1);
            continue;
        }
        if (n && dice(100) < 2) {
            pushed *next = sorted;
            rx__queue_filter(&q, odd_payloads_stay, &next);
            assert(next == sorted + n);              /* all were asked, in their order */
            for (uint32_t k = n; k--;)
                if (!(sorted[k].payload & 1)) n = without(sorted, n, k, 1);
            continue;
        }
        pushed e = push(&q, dice(200), dice(2), i, dice(3));
        assert(!rx__queue_last(&q, e.tag, 3));
        uint32_t k = n++;
        for (; k && by_tag_then_order(&e, &sorted[k - 1]) < 0; k--) sorted[k] = sorted[k - 1];
        sorted[k] = e;
    }
    free(sorted);
    rx__queue_free(&q);
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
    test_events_of_one_tag_are_one_list_in_call_order();
    test_a_tag_that_others_interrupt_has_several_lists_and_the_older_come_first();
    test_a_hundred_thousand_events_come_out_sorted();
    test_what_is_removed_between_pushes_and_pops_is_gone();
    test_the_next_microsteps_list_keeps_call_order_as_it_grows();
    return 0;
}
