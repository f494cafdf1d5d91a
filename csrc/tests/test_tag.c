/* What is a tag plus a delay, and back? */
#include <assert.h>

#include "tag.h"

#define T rx__tag

/* Every tag with a time of -1 to 5 and up to 4 microsteps, and every offset likewise from (0, 0). */
#define FOR_EACH(tag, first) \
    for (rx_tag tag = T(first, 0); tag.time < 6; tag = tag.microstep < 4 ? T(tag.time, tag.microstep + 1) : T(tag.time + 1, 0))

static int at_most(rx_tag a, rx_tag b) { return !rx__less(b, a); }

static void test_tags_are_ordered_by_time_then_microstep(void)
{
    assert(rx__less(T(1, 9), T(2, 0)) && rx__less(T(2, 0), T(2, 1)) && !rx__less(T(2, 1), T(2, 1)));
    assert(rx__equal(T(2, 1), T(2, 1)) && !rx__equal(T(2, 1), T(2, 2)) && !rx__equal(T(2, 1), T(3, 1)));
    FOR_EACH(a, -1)
        FOR_EACH(b, -1) {
            assert(rx__less(a, b) + rx__less(b, a) + rx__equal(a, b) == 1);
            assert(at_most(rx__least(a, b), rx__greatest(a, b)));
        }
}

static void test_a_positive_delay_drops_the_microstep(void)
{
    assert(rx__equal(rx__plus(T(3, 7), T(2, 0)), T(5, 0)));
    assert(rx__equal(rx__plus(T(3, 7), T(2, 1)), T(5, 1)));      /* two connections: one of 2 ns, then one of no time */
}

static void test_a_delay_of_no_time_adds_microsteps(void)
{
    assert(rx__equal(rx__plus(T(3, 7), T(0, 0)), T(3, 7)));
    assert(rx__equal(rx__plus(T(3, 7), T(0, 2)), T(3, 9)));
    assert(rx__equal(rx__next_microstep(T(3, 7)), T(3, 8)));
}

static void test_delays_keep_the_order_and_compose(void)
{
    FOR_EACH(g, -1)
        FOR_EACH(a, 0) {
            assert(at_most(g, rx__plus(g, a)));
            FOR_EACH(b, 0) assert(rx__equal(rx__plus(rx__plus(g, a), b), rx__plus(g, rx__plus(a, b))));
            FOR_EACH(h, -1) assert(rx__less(h, g) || at_most(rx__plus(g, a), rx__plus(h, a)));
        }
}

static void test_sums_end_at_forever(void)
{
    rx_tag late = T(RX_FOREVER_NS - 1, 3);
    assert(rx__add_ns(RX_FOREVER_NS - 1, 1) == RX_FOREVER_NS && rx__add_ns(RX_FOREVER_NS - 1, 2) == RX_FOREVER_NS);
    assert(rx__add_ns(RX_FOREVER_NS, RX_FOREVER_NS) == RX_FOREVER_NS && rx__add_ns(-1, RX_FOREVER_NS) == RX_FOREVER_NS - 1);
    assert(rx__equal(rx__plus(late, T(5, 2)), rx__forever()));
    assert(rx__equal(rx__plus(rx__forever(), T(1, 1)), rx__forever()));
    assert(rx__equal(rx__plus(T(0, 0), rx__forever()), rx__forever()));
    assert(rx__equal(rx__next_microstep(rx__forever()), rx__forever()));
    assert(rx__is_forever(rx__forever()) && !rx__is_forever(late));
}

static void test_minus_is_the_last_tag_to_arrive_in_time(void)
{
    FOR_EACH(g, 0)
        FOR_EACH(offset, 0) {
            rx_tag last = rx__minus(g, offset);
            rx_tag after = last.microstep == UINT64_MAX ? T(last.time + 1, 0) : rx__next_microstep(last);
            if (last.microstep == UINT64_MAX) last.microstep = 1000000;      /* any of that time */
            assert(at_most(rx__plus(last, offset), g));
            assert(rx__less(g, rx__plus(after, offset)));
        }
}

static void test_minus_knows_forever(void)
{
    assert(rx__is_forever(rx__minus(rx__forever(), T(7, 0))));
    assert(rx__less(rx__minus(T(0, 0), rx__forever()), T(-1, 0)));           /* nothing sent at any tag arrives */
}

int main(void)
{
    test_tags_are_ordered_by_time_then_microstep();
    test_a_positive_delay_drops_the_microstep();
    test_a_delay_of_no_time_adds_microsteps();
    test_delays_keep_the_order_and_compose();
    test_sums_end_at_forever();
    test_minus_is_the_last_tag_to_arrive_in_time();
    test_minus_knows_forever();
    return 0;
}
