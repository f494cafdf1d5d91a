/* How do values get from worker to worker? Two workers of one program, both driven from here, one step at a time; then
 * two threads where one has to wait for the other. */
#include "run.h"

static void nothing(void **data, unsigned char *present, void *state) { (void)data, (void)present, (void)state; }

/* Worker 0 writes a port; worker 1 reads it with each of the delays. */
typedef struct { program *p; run *run; rx_worker *from, *to; source *source; } pair;

static pair open_pair(program *p, int out, list delays, rx_tag extra)
{
    int a = p->elements[out].reactor, b = reactor_on(p, 1);
    react(p, a, OF(p->startup[a]), NOTHING, OF(out), nothing, NULL);
    for (int i = 0; i < delays.n; i++)
        react(p, b, OF(input(p, b, out, rx__tag(delays.at[i], 0))), NOTHING, NOTHING, nothing, NULL);
    if (!rx__is_forever(extra)) react(p, b, OF(input(p, b, out, extra)), NOTHING, NOTHING, nothing, NULL);
    p->workers = 2;
    run *r = new_run(p);
    for (int i = 0; i < 2; i++) open_worker(&r->runners[i]);
    return (pair){p, r, r->runners[0].core, r->runners[1].core, source_of(r->b, out)};
}

static pair new_pair(list delays, rx_tag extra)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    return open_pair(p, output(p, a, 64), delays, extra);
}

static void close_pair(pair c)
{
    rx_close(c.from);
    rx_close(c.to);
    end_run(c.run);
    free(c.p);
}

static rx_source *row(pair c) { return &c.from->sources[c.source->number]; }
static uint32_t refs(pair c, uint64_t slot) { return RX_AT(uint32_t, c.run->b->base, row(c)->refs)[slot]; }
static uint8_t *slot(pair c, uint64_t number) { return c.run->b->base + row(c)->data + number * row(c)->stride; }

/* Worker 0 sends a value at a tag: the number of its slot. */
static uint32_t send_at(pair c, rx_tag g, uint64_t value)
{
    c.from->tag = g;
    assert(rx__room(c.from, row(c)));
    uint32_t number = row(c)->slot;
    fill(slot(c, number), 64, value);
    rx__commit(c.from, (uint32_t)c.source->number, 0);
    return number;
}

/* What is pending at worker 1: the next event, and how many there are. */
static const rx_event *next_event(pair c) { return &c.to->queue.pool[c.to->queue.heap[0].first]; }

static int n_pending(pair c)
{
    const rx_queue *q = &c.to->queue;
    int n = 0;
    for (uint32_t i = 0; i < q->n; i++)
        for (uint32_t at = q->heap[i].first; at; at = q->pool[at].next) n++;
    return n;
}

/* The value of the next event, which is due at [g]. */
static uint64_t pending_at(pair c, rx_tag g)
{
    assert(c.to->queue.n && rx__equal(c.to->queue.heap[0].tag, g));
    return next_event(c)->payload;
}

static void give_back(pair c)
{
    rx_queue *q = &c.to->queue;
    rx_event e = *next_event(c);
    rx__release(c.to, c.to->cells[e.cell].tap, e.payload);
    if (!e.next) rx__queue_take(q, rx__queue_pop(q));
    else rx__queue_take(q, q->heap[0].first), q->heap[0].first = e.next;
}

static void *value_of(pair c, uint64_t payload)
{
    rx_cell seen = c.to->cells[next_event(c)->cell];
    seen.payload = payload;
    return rx__value(c.to, &seen, seen.tap);
}

/* ---- rings ------------------------------------------------------------------------------------------------- */

static void test_a_message_arrives_as_much_later_as_its_connection_says(void)
{
    pair c = new_pair(OF(5), rx__forever());
    send_at(c, rx__tag(3, 2), 77);
    assert(rx__drain(c.to) == 1);
    assert(filled(value_of(c, pending_at(c, rx__tag(8, 0))), 64) == 77);
    close_pair(c);
}

static void test_the_first_message_of_a_ring_is_seen_by_everybody_until_it_is_taken(void)
{
    pair c = new_pair(OF(5), rx__forever());
    rx_tag sent;
    assert(!rx__ring_first(rx__peers(c.to)->in[0], &sent));
    send_at(c, rx__tag(3, 0), 1);
    send_at(c, rx__tag(4, 0), 2);
    assert(rx__ring_first(rx__peers(c.to)->in[0], &sent) && rx__equal(sent, rx__tag(3, 0)));
    assert(rx__drain(c.to) == 2);
    assert(!rx__ring_first(rx__peers(c.to)->in[0], &sent));
    close_pair(c);
}

static void test_taking_a_message_lowers_the_head_before_the_message_is_gone(void)
{
    pair c = new_pair(OF(5), rx__forever());
    rx__publish(c.to, rx__forever(), rx__tag(2, 0), UINT64_MAX);
    uint64_t version = rx__peers(c.to)->line->version;
    send_at(c, rx__tag(3, 0), 1);
    rx__drain(c.to);
    assert(rx__equal(rx__peers(c.to)->line->head, rx__tag(8, 0)));
    assert(rx__peers(c.to)->line->version == version + 4);      /* once before, once after */
    close_pair(c);
}

static void test_a_ring_goes_round(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    p->ring = 4;
    pair c = open_pair(p, output(p, a, 64), OF(5), rx__forever());
    for (int64_t i = 0; i < 50; i++) {
        send_at(c, rx__tag(i, 0), (uint64_t)i);
        if (i % 3 == 0) continue;
        rx__drain(c.to);
        while (c.to->queue.n) {
            rx_tag due = c.to->queue.heap[0].tag;
            assert(filled(value_of(c, pending_at(c, due)), 64) == (uint64_t)due.time - 5);
            give_back(c);
        }
    }
    close_pair(c);
}

/* ---- slots ------------------------------------------------------------------------------------------------- */

static void test_a_slot_is_free_again_when_everybody_has_given_it_back(void)
{
    pair c = new_pair(OF(0), rx__tag(0, 1));         /* two places, at once and a microstep later */
    uint32_t first = send_at(c, rx__tag(0, 0), 10);
    assert(refs(c, first) == 1);                     /* one worker */
    c.to->tag = rx__tag(-1, 0);
    rx__drain(c.to);
    assert(refs(c, first) == 2 && n_pending(c) == 2);
    give_back(c);
    assert(refs(c, first) == 1);
    give_back(c);
    assert(refs(c, first) == 0);
    close_pair(c);
}

/* Two reactions read a value: the second gives its slot back, before the tag is over. They are C functions or not. */
static void check_last_reader(int native)
{
    program *p = new_program();
    int a = reactor_on(p, 0), out = output(p, a, 64), b = reactor_on(p, 1), in = input(p, b, out, rx__tag(0, 0));
    react(p, a, OF(p->startup[a]), NOTHING, OF(out), nothing, NULL);
    for (int i = 0; i < 2; i++) p->reactions[react(p, b, OF(in), NOTHING, NOTHING, nothing, NULL)].native = native;
    p->workers = 2;
    run *r = new_run(p);
    for (int i = 0; i < 2; i++) open_worker(&r->runners[i]);
    pair c = {p, r, r->runners[0].core, r->runners[1].core, source_of(r->b, out)};
    uint32_t number = send_at(c, rx__tag(0, 0), 10);
    rx__drain(c.to);
    rx__start_tag(c.to, rx__tag(0, 0));
    for (uint32_t i = 0; i < 2; i++) {
        assert(refs(c, number) == 1);
        if (native) rx__run_native(c.to, &c.to->reactions[i], i);
        else rx__dispatch(c.to, i, 0), rx__finish(c.to);
    }
    assert(refs(c, number) == 0);
    send_at(c, rx__tag(1, 0), 20);
    rx__end_tag(c.to);
    assert(refs(c, number) == 1);                    /* of the next value, which has the same slot: once was enough */
    close_pair(c);
}

static void test_a_slot_is_free_again_after_the_last_reaction_that_reads_it(void)
{
    check_last_reader(0);
    check_last_reader(1);
}

static void test_there_is_no_room_while_all_slots_are_needed(void)
{
    pair c = new_pair(OF(0), rx__forever());
    uint32_t n = row(c)->slots;
    for (uint32_t i = 0; i < n; i++) send_at(c, rx__tag(i, 0), i);
    assert(!rx__room(c.from, row(c)));
    rx__drain(c.to);                                 /* at once: they are read where they lie */
    assert(!rx__room(c.from, row(c)));
    for (uint32_t i = 0; i < n; i++) assert(filled(value_of(c, pending_at(c, rx__tag(i, 0))), 64) == i), give_back(c);
    for (uint32_t i = 0; i < n; i++) send_at(c, rx__tag(n + i, 0), i);
    close_pair(c);
}

static void test_values_that_travel_long_leave_half_of_the_slots_free(void)
{
    pair c = new_pair(OF(50), rx__forever());
    for (int64_t i = 0; i < 200; i++) {
        send_at(c, rx__tag(i, 0), (uint64_t)i);
        rx__drain(c.to);
    }
    uint32_t held = 0, n = row(c)->slots;
    for (uint32_t i = 0; i < n; i++) held += refs(c, i) != 0;
    assert(held == n / 2 && n_pending(c) == 200);
    for (int64_t i = 0; i < 200; i++) assert(filled(value_of(c, pending_at(c, rx__tag(50 + i, 0))), 64) == (uint64_t)i), give_back(c);
    for (uint32_t i = 0; i < n; i++) assert(refs(c, i) == 0);
    close_pair(c);
}

static void test_values_of_one_block_lie_side_by_side(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), b = reactor_on(p, 1), out[3];
    list block = NOTHING, inputs = NOTHING;
    for (int i = 0; i < 3; i++) {
        out[i] = output(p, a, 8);
        add(&block, out[i]);
        add(&inputs, input(p, b, out[i], AT_ONCE));
    }
    react(p, a, OF(p->startup[a]), NOTHING, block, nothing, NULL);
    react(p, b, inputs, NOTHING, NOTHING, nothing, NULL);
    p->blocks[p->n_blocks++] = block;
    p->workers = 2;
    run *r = new_run(p);
    for (int i = 1; i < 3; i++) {
        const rx_source *before = &source_of(r->b, out[i - 1])->row, *here = &source_of(r->b, out[i])->row;
        assert(here->data == before->data + 8 && here->stride == 24 && here->slots == before->slots);
    }
    end_run(r);
    free(p);
}

/* ---- objects ----------------------------------------------------------------------------------------------- */

static void check_records(uint64_t bytes)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    p->processes = 1;
    pair c = open_pair(p, object_output(p, a, bytes), OF(50), rx__forever());
    uint32_t written = (uint32_t)c.run->b->parts[0].door_of[c.source->element];
    uint32_t read = (uint32_t)c.run->b->parts[1].door_of[c.p->n_elements - 1];
    for (int64_t i = 0; i < 40; i++) {
        c.from->tag = rx__tag(i, 0);
        assert(rx__room(c.from, row(c)));
        c.from->where[written] = row(c)->slot;
        fill(slot_at(&c.run->runners[0], written), bytes, (uint64_t)i * 1000);
        rx__commit(c.from, (uint32_t)c.source->number, 0);
        rx__drain(c.to);
    }
    int copies = 0;
    for (int64_t i = 0; i < 40; i++) {
        uint64_t where = pending_at(c, rx__tag(50 + i, 0));
        c.to->where[read] = where;
        copies += (where & RX_OUTSIDE) != 0;
        assert(filled(value_at(&c.run->runners[1], read), bytes) == (uint64_t)i * 1000);
        give_back(c);
    }
    assert(copies == 40 - (int)row(c)->slots / 2);
    close_pair(c);
}

static void test_objects_of_any_size_arrive_whole(void)
{
    check_records(24);
    check_records(RX_OBJECT_SLOT - sizeof(rx_record));
    check_records(RX_OBJECT_SLOT - sizeof(rx_record) + 8);   /* outgrows the slot */
    check_records(20000);
}

static void test_numbered_values_are_given_back_in_order_only(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    pair c = open_pair(p, object_output(p, a, 8), OF(5, 9), rx__forever());
    const uint64_t *released = RX_AT(uint64_t, c.run->b->base, c.to->subs[0].released);
    for (int64_t i = 0; i < 3; i++) {
        c.from->tag = rx__tag(i, 0);
        rx__commit(c.from, (uint32_t)c.source->number, 0);
    }
    rx__drain(c.to);
    assert(n_pending(c) == 6 && *released == 0);
    for (int i = 0; i < 3; i++) give_back(c);        /* the near place is done with all */
    assert(*released == 0);
    for (uint64_t i = 0; i < 3; i++) {
        give_back(c);
        assert(*released == i + 1);
    }
    close_pair(c);
}

static void test_a_numbered_value_beyond_the_stop_gives_no_earlier_one_back(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    p->timeout = 6;
    pair c = open_pair(p, object_output(p, a, 8), OF(5), rx__forever());
    const uint64_t *released = RX_AT(uint64_t, c.run->b->base, c.to->subs[0].released);
    for (int64_t i = 0; i < 4; i++) {
        c.from->tag = rx__tag(i, 0);
        rx__commit(c.from, (uint32_t)c.source->number, 0);
    }
    rx__drain(c.to);
    assert(n_pending(c) == 2 && *released == 0);     /* due at 5 and 6; the others never */
    give_back(c);
    assert(*released == 1);
    close_pair(c);
}

/* ---- waiting for room --------------------------------------------------------------------------------------- */

static void test_a_ring_has_room_for_all_of_a_tag_or_for_nothing(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0), b = reactor_on(p, 1), out[3];
    list inputs = NOTHING;
    for (int i = 0; i < 3; i++) {
        out[i] = object_output(p, a, 8);
        react(p, a, OF(p->startup[a]), NOTHING, OF(out[i]), nothing, NULL);
        add(&inputs, input(p, b, out[i], rx__tag(5, 0)));
    }
    react(p, b, inputs, NOTHING, NOTHING, nothing, NULL);
    p->workers = 2;
    p->ring = 4;
    run *r = new_run(p);
    for (int i = 0; i < 2; i++) open_worker(&r->runners[i]);
    rx_worker *from = r->runners[0].core, *to = r->runners[1].core;
    from->tag = rx__tag(0, 0);
    assert(rx__rings_have_room(from, 2));
    for (uint32_t i = 0; i < 3; i++) rx__commit(from, i, 0);
    assert(rx__rings_have_room(from, 2));            /* of this tag, what is left fits as well */
    rx__peers(from)->roomy = 0;                                 /* the next one */
    assert(!rx__rings_have_room(from, 2));
    rx__drain(to);
    assert(rx__rings_have_room(from, 2));
    for (int i = 0; i < 2; i++) rx_close(r->runners[i].core);
    end_run(r);
    free(p);
}

enum { ROUNDS = 3000 };

static void *produce(void *argument)
{
    pair *c = argument;
    me = &c->run->runners[0];
    for (int64_t i = 0; i < ROUNDS; i++) {
        rx__peers(c->from)->roomy = 0;
        while (!rx__room(c->from, row(*c)) || !rx__rings_have_room(c->from, 2)) sched_yield();
        send_at(*c, rx__tag(i, 0), (uint64_t)i);
        dawdle();
    }
    return NULL;
}

static void test_what_one_thread_sends_through_a_small_ring_another_takes_whole(void)
{
    program *p = new_program();
    int a = reactor_on(p, 0);
    p->ring = 2;
    pair c = open_pair(p, output(p, a, 64), OF(0), rx__forever());
    pthread_t thread;
    assert(!pthread_create(&thread, NULL, produce, &c));
    c.to->tag = rx__tag(-1, 0);
    for (int64_t seen = 0; seen < ROUNDS;) {
        rx__drain(c.to);
        for (; c.to->queue.n; seen++) {
            assert(filled(value_of(c, pending_at(c, rx__tag(seen, 0))), 64) == (uint64_t)seen);
            give_back(c);
        }
        dawdle();
    }
    pthread_join(thread, NULL);
    close_pair(c);
}

int main(void)
{
    alarm(2 * PATIENCE_S);
    test_a_message_arrives_as_much_later_as_its_connection_says();
    test_the_first_message_of_a_ring_is_seen_by_everybody_until_it_is_taken();
    test_taking_a_message_lowers_the_head_before_the_message_is_gone();
    test_a_ring_goes_round();
    test_a_slot_is_free_again_when_everybody_has_given_it_back();
    test_a_slot_is_free_again_after_the_last_reaction_that_reads_it();
    test_there_is_no_room_while_all_slots_are_needed();
    test_values_that_travel_long_leave_half_of_the_slots_free();
    test_values_of_one_block_lie_side_by_side();
    test_objects_of_any_size_arrive_whole();
    test_numbered_values_are_given_back_in_order_only();
    test_a_numbered_value_beyond_the_stop_gives_no_earlier_one_back();
    test_a_ring_has_room_for_all_of_a_tag_or_for_nothing();
    test_what_one_thread_sends_through_a_small_ring_another_takes_whole();
    return 0;
}
