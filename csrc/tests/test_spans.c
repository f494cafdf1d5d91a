/* What is in a trace? Two reactions a tag, and a ring with room for sixteen spans. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void nothing(void **data, unsigned char *present, void *state) { (void)data, (void)present, (void)state; }

static runner *traced(int64_t last)
{
    program *p = new_program();
    int a = reactor_on(p, 0), t = timer(p, a, 0, 1);
    react(p, a, OF(t), NOTHING, NOTHING, nothing, NULL);
    react(p, a, OF(t), NOTHING, NOTHING, nothing, NULL);
    p->timeout = last;
    p->trace = 16;
    return by_hand(p);
}

static rx_trace *trace_of(const runner *m) { return RX_AT(rx_trace, m->run->b->base, m->core->t->trace); }

static const rx_span *span_of(const runner *m, uint64_t i)
{
    return (const rx_span *)((const uint8_t *)trace_of(m) + RX_TRACE_BYTES) + i % 16;
}

static void run_tag(runner *m)
{
    assert(rx_next(m->core) == 0);
    assert(rx_next(m->core) == 1);
}

static void test_every_reaction_is_in_the_trace(void)
{
    runner *m = traced(9);
    rx_trace *trace = trace_of(m);
    uint64_t read = 0;
    for (uint64_t tag = 0; tag < 10; tag++) {
        run_tag(m);
        assert(trace->written == 2 * tag);               /* of whole tags */
        for (; read < trace->written; read++) {
            const rx_span *s = span_of(m, read);
            assert(s->kind == RX_RAN_IN_TIME && s->reaction == read % 2 && s->tag.time == (int64_t)read / 2);
            assert(s->start <= s->end && s->reads == 1 && s->writes == 0);
            if (read) assert(span_of(m, read - 1)->end <= s->start);
        }
        trace->read = read > 2 ? read - 2 : 0;
    }
    assert(rx_next(m->core) == RX_DONE);
    assert(trace->written == 20 && trace->tags_left_out == 0);
    end_by_hand(m);
}

static void test_tags_for_which_the_trace_has_no_room_are_left_out_and_counted(void)
{
    runner *m = traced(9);
    rx_trace *trace = trace_of(m);
    for (int tag = 0; tag < 8; tag++) run_tag(m);
    trace->read = 1;                                     /* room for half of a tag: all of it is left out */
    run_tag(m);
    assert(rx_next(m->core) == 0);
    trace->read = 2;
    assert(rx_next(m->core) == 1);
    assert(rx_next(m->core) == RX_DONE);
    assert(trace->written == 18 && trace->tags_left_out == 1 && trace->spans_left_out == 2);
    assert(span_of(m, 16)->tag.time == 9 && span_of(m, 17)->tag.time == 9);
    end_by_hand(m);
}

static void test_what_is_noted_has_its_name_in_the_span_that_follows(void)
{
    runner *m = traced(2);
    assert(rx_next(m->core) == 0);
    rx_note(m->core, "loss", 1, 0.5);
    rx_note(m->core, "a name of fifty-six bytes, the longest one that there may be", 0, 0);
    while (rx_next(m->core) != RX_DONE) ;
    double value;
    memcpy(&value, &span_of(m, 0)->reads, sizeof value);
    assert(span_of(m, 0)->kind == RX_VALUED && value == 0.5 && span_of(m, 0)->reaction == 0);
    assert(span_of(m, 1)->kind == RX_TEXT && !strcmp((const char *)&span_of(m, 1)->reaction, "loss"));
    assert(span_of(m, 2)->kind == RX_NOTED && span_of(m, 3)->kind == RX_TEXT && span_of(m, 4)->kind == RX_RAN_IN_TIME);
    assert(!strncmp((const char *)&span_of(m, 3)->reaction, "a name of fifty-six bytes, the longest one that there may", RX_NAME_BYTES));
    end_by_hand(m);
}

static uint32_t get32(const uint8_t *p) { return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24; }

/* All that is not left out is in the file, in blocks that follow one another without a gap. */
static void test_a_thread_empties_the_ring_into_a_file(void)
{
    int fd = memfd_create("spans", 0);
    assert(fd >= 0);
    runner *m = traced(20000);
    rx_trace *trace = trace_of(m);
    rx_drain *drain = rx_drain_start(m->run->b->base, fd);
    assert(drain);
    while (rx_next(m->core) != RX_DONE) ;
    assert(rx_drain_stop(drain) == 0);
    assert(trace->read == trace->written && trace->written + trace->spans_left_out == 2 * 20001);
    uint64_t spans = 0;
    uint8_t head[36];
    off_t at = 0;
    for (; pread(fd, head, sizeof head, at) == sizeof head; at += 16 + get32(head + 8)) {
        assert(!memcmp(head, "RXT1", 4) && head[4] == 1 && head[6] == 0);
        spans += get32(head + 16);
    }
    assert(spans == trace->written && lseek(fd, 0, SEEK_END) == at);
    close(fd);
    end_by_hand(m);
}

static void test_a_file_that_cannot_be_written_ends_the_trace_and_not_the_program(void)
{
    int full = open("/dev/full", O_WRONLY);
    assert(full >= 0);
    runner *m = traced(100);
    rx_drain *drain = rx_drain_start(m->run->b->base, full);
    assert(drain);
    while (rx_next(m->core) != RX_DONE) ;
    assert(rx_drain_stop(drain) == ENOSPC);
    close(full);
    end_by_hand(m);
}

static void test_the_counter_keeps_time_and_never_goes_back(void)
{
    runner *m = traced(9);
    m->run->b->image->steady = 1;
    int64_t last = 0;
    for (int i = 0; i < 200000; i++) {                   /* some milliseconds */
        int64_t before = rx__clock(), now = rx__moment(m->core), after = rx__clock();
        assert(now >= last && now > before - 1000000 && now < after + 1000000);
        last = now;
    }
    end_by_hand(m);
}

int main(void)
{
    test_the_counter_keeps_time_and_never_goes_back();
    test_every_reaction_is_in_the_trace();
    test_tags_for_which_the_trace_has_no_room_are_left_out_and_counted();
    test_what_is_noted_has_its_name_in_the_span_that_follows();
    test_a_thread_empties_the_ring_into_a_file();
    test_a_file_that_cannot_be_written_ends_the_trace_and_not_the_program();
    return 0;
}
