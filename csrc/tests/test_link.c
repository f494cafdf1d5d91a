/* Does a program mean the same when its workers are on several machines? Random programs, and some that one can think
 * of, on one worker and on two to four machines, whose links are fast or late; and what becomes of the others when one
 * machine ends before its time.
 *
 *     test_link [first seed [count]] */
#include "link.h"
#include "machines.h"
#include "outside.h"
#include "random.h"

static void look_at(program *p, int r, list triggers, list effects)
{
    react(p, r, triggers, NOTHING, effects, NULL, NULL);
}

#define AS_IT_COMES (way){0}

static void means_the_same(program *p, const run *alone, uint64_t budget, uint64_t often, way way)
{
    machines *m = link_up(p, budget, often, way);
    start_machines(m);
    join_machines(m);
    end_links(m, RX_SAID_BYE);
    for (int w = 0; w < p->workers; w++) assert(runner_of(m, w)->result == RX_DONE);
    bring_home(m);
    assert(saw_the_same(alone, m->runs[p->machines - 1]));
    end_machines(m);
}

static run *run_alone(program *p, uint64_t budget, uint64_t often)
{
    int placement[MOST];
    memcpy(placement, p->placement, sizeof placement);
    memset(p->placement, 0, sizeof p->placement);
    p->workers = 1;
    p->machines = p->machine = 0;
    run *alone = new_looking_run(p, budget, often);
    go(alone);
    assert(alone->runners[0].result == RX_DONE);
    memcpy(p->placement, placement, sizeof placement);
    return alone;
}

/* Each machine has one at least. */
static void spread(program *p, int machines, int workers)
{
    p->machines = machines;
    p->workers = workers;
    for (int w = 0; w < workers; w++) p->machine_of[w] = w < machines ? w : (int)dice((uint64_t)machines);
}

static void test_random_program_means_the_same_on_any_number_of_machines(uint64_t seed)
{
    program *p = random_program(seed);
    uint64_t budget = 5 + dice(40), often = (uint64_t)ONE_OF(100, 80, 50);
    run *alone = run_alone(p, budget, often);
    for (int machines = 2; machines <= MOST_MACHINES; machines++) {
        int workers = machines + (int)dice(4);
        place(p, workers);
        p->apart = yes(25);
        spread(p, machines, workers);
        means_the_same(p, alone, budget, often, (way){.late = dice(4)});
    }
    end_run(alone);
    free(p);
}

/* Values that are sent from where they lie, and one that outgrows its slot; all answer one another. */
static void test_large_values_come_whole(void)
{
    program *p = new_program();
    int r[3], typed[3], object[3];
    for (int k = 0; k < 3; k++) {
        r[k] = reactor_on(p, k);
        typed[k] = output(p, r[k], 40000);
        object[k] = object_output(p, r[k], 40000);
        look_at(p, r[k], OF(timer(p, r[k], k, 7)), OF(typed[k]));
    }
    for (int k = 0; k < 3; k++) {
        int next = (k + 1) % 3, last = (k + 2) % 3;
        int soon = input(p, r[k], typed[last], rx__tag(0, 1)), later = input(p, r[k], typed[next], rx__tag(2, 0));
        look_at(p, r[k], OF(later, soon), OF(object[k]));
        soon = input(p, r[k], object[next], rx__tag(0, 1)), later = input(p, r[k], object[last], rx__tag(30, 0));
        look_at(p, r[k], OF(soon, later), NOTHING);
    }
    p->timeout = 60;
    run *alone = run_alone(p, 60, 90);
    for (int i = 0; i < 8; i++) {
        spread(p, 2 + i % 2, 3);
        p->narrow = i / 2 % 2;
        p->spin_ns = i / 4 * 2000000;
        means_the_same(p, alone, 60, 90, AS_IT_COMES);
    }
    end_run(alone);
    free(p);
}

static void test_a_pipeline_through_all_machines_waits_for_room(void)
{
    program *p = new_program();
    int at = -1;
    for (int k = 0; k < 6; k++) {
        int r = reactor_on(p, k % 3), out = output(p, r, 40);
        look_at(p, r, OF(k ? input(p, r, at, rx__tag(7, 0)) : timer(p, r, 0, 1)), OF(out));
        at = out;
    }
    p->timeout = 90;
    p->ring = 1;
    p->few_slots = 1;
    run *alone = run_alone(p, 100, 100);
    spread(p, 3, 3);
    means_the_same(p, alone, 100, 100, AS_IT_COMES);
    end_run(alone);
    free(p);
}

/* Two machines that answer one another at every tag; what each has told in the end. */
static void test_lock_step_takes_at_most_two_states_a_tag(void)
{
    enum { TAGS = 500, OTHERS = 50 };                /* at the start and the end, and where a worker is put off its core */
    program *p = new_program();
    int asks = reactor_on(p, 0), answers = reactor_on(p, 1), question = output(p, asks, 8), answer = output(p, answers, 8);
    look_at(p, asks, OF(timer(p, asks, 0, 1)), OF(question));
    look_at(p, answers, OF(input(p, answers, question, AT_ONCE)), OF(answer));
    look_at(p, asks, OF(input(p, asks, answer, AT_ONCE)), NOTHING);
    p->timeout = TAGS;
    p->spin_ns = 20000000;
    spread(p, 2, 2);
    machines *m = link_up(p, UINT64_MAX, 100, AS_IT_COMES);
    start_machines(m);
    join_machines(m);
    for (int a = 0; a < 2; a++) {
        const uint64_t *frames = m->links[a][!a]->shared->frames;
        if (getenv("VERBOSE")) fprintf(stderr, "machine %d: %ju messages, %ju states, %ju releases\n", a,
                                       (uintmax_t)frames[RX_F_MESSAGE], (uintmax_t)frames[RX_F_STATE], (uintmax_t)frames[RX_F_RELEASE]);
        assert(frames[RX_F_MESSAGE] == TAGS + 1 && frames[RX_F_STATE] <= 2 * TAGS + OTHERS);
    }
    end_links(m, RX_SAID_BYE);
    end_machines(m);
    free(p);
}

/* Others go on as the clock of a machine does on which something may come from outside, a millisecond at a time. */
static void test_an_idle_machine_says_its_time_once_a_millisecond(void)
{
    enum { OTHERS = 50 };                            /* at the start and the end */
    ear e;
    program *p = outside_program(2, &e);
    run *runs[2];
    p->real_time = 1;
    p->timeout = 50000000;
    p->machines = 2;
    p->machine_of[0] = 0;
    p->machine_of[1] = 1;
    for (p->machine = 0; p->machine < 2; p->machine++) runs[p->machine] = new_run(p);
    machines *m = link_runs(p, runs, (way){0});
    int64_t began = rx__clock();
    start_machines(m);
    join_machines(m);
    uint64_t ms = (uint64_t)(rx__clock() - began) / 1000000;
    assert(m->links[1][0]->shared->frames[RX_F_STATE] <= ms + OTHERS);
    end_links(m, RX_SAID_BYE);
    end_machines(m);
    free(p);
}

/* Every second worker hears from outside; of each machine one at least. */
static void test_what_is_heard_on_all_machines_meets_on_one(uint64_t late)
{
    for (int n = 2; n <= MOST_MACHINES; n++) {
        ear e;
        program *p = outside_program(2 * n, &e);
        p->machines = n;
        for (int w = 0; w < 2 * n; w++) p->machine_of[w] = w / 2;
        run *runs[MOST_MACHINES];
        for (p->machine = 0; p->machine < n; p->machine++) runs[p->machine] = new_run(p);
        machines *m = link_runs(p, runs, (way){.late = late});
        sender senders[SENDERS];
        start_machines(m);
        for (int i = 0; i < SENDERS; i++) start_sending(&senders[i], runs[i % n], (uint32_t)(2 * (i % n) + 1));
        for (int i = 0; i < SENDERS; i++) pthread_join(senders[i].thread, NULL);
        join_machines(m);
        end_links(m, RX_SAID_BYE);
        assert(e.n == SENDERS * EACH);
        end_machines(m);
        free(p);
    }
}

/* ---- failures ------------------------------------------------------------------------------------------------ */

/* Machines that talk to one another for as long as they can. */
static program *endless(int machines)
{
    program *p = new_program();
    int r[MOST_MACHINES], out[MOST_MACHINES];
    for (int k = 0; k < machines; k++) {
        r[k] = reactor_on(p, k);
        out[k] = output(p, r[k], 64);
    }
    for (int k = 0; k < machines; k++)
        look_at(p, r[k], OF(timer(p, r[k], 0, 1), input(p, r[k], out[(k + 1) % machines], rx__tag(2, 0))), OF(out[k]));
    spread(p, machines, machines);
    return p;
}

static void all_are_aborted(machines *m)
{
    join_machines(m);
    for (int w = 0; w < m->p->workers; w++) assert(runner_of(m, w)->result == RX_ABORTED);
}

static void test_an_abort_ends_all_machines(void)
{
    for (int i = 0; i < 12; i++) {
        program *p = endless(2 + i % 2);
        machines *m = link_up(p, UINT64_MAX, 100, AS_IT_COMES);
        start_machines(m);
        usleep((useconds_t)(i * 500));               /* before the start, or in the middle */
        rx_abort(m->runs[0]->b->base, RX_E_ABORTED);
        all_are_aborted(m);
        end_links(m, RX_SAID_BYE);
        end_machines(m);
        free(p);
    }
}

static void test_a_cut_link_ends_all_machines(void)
{
    for (int i = 0; i < 12; i++) {
        program *p = endless(2 + i % 2);
        machines *m = link_up(p, UINT64_MAX, 100, AS_IT_COMES);
        start_machines(m);
        usleep((useconds_t)(i * 500));
        shutdown(m->sockets[0][1], SHUT_RDWR);
        all_are_aborted(m);
        assert(rx_link_end(m->links[0][1], PATIENCE_S * 1000000000ll) == RX_CUT);
        assert(rx_link_end(m->links[1][0], PATIENCE_S * 1000000000ll) == RX_CUT);
        end_machines(m);
        free(p);
    }
}

/* It listens, but has nothing to say. */
static void test_a_silent_machine_counts_as_lost(void)
{
    program *p = endless(2);
    run *r = new_looking_run(p, UINT64_MAX, 100);    /* machine 0 */
    int pair[2];
    assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    assert(!setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_usec = 50000}, sizeof(struct timeval)));
    rx_link *l = rx_link_open(r->b->base, r->b->fd, 1, pair[0]);
    r->links[0].machine = 1;
    r->links[0].socket = pair[0];
    r->n_links = 1;
    work(&r->runners[0]);
    assert(r->runners[0].result == RX_ABORTED && rx_link_state(l) == RX_SILENT);
    rx_link_close(l);
    close(pair[0]), close(pair[1]);
    end_run(r);
    free(p);
}

#ifdef __SANITIZE_THREAD__
#define PROGRAMS 8  /* each takes five times as long */
#else
#define PROGRAMS 24
#endif

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, count = argc > 2 ? strtoull(argv[2], NULL, 10) : PROGRAMS;
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (getenv("VERBOSE")) fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        test_random_program_means_the_same_on_any_number_of_machines(seed);
    }
    /* a request to stop that a worker elsewhere had yet to take seemed to keep the program going until then */
    for (int i = 0; i < 5; i++) test_random_program_means_the_same_on_any_number_of_machines(1114);
    test_large_values_come_whole();
    test_a_pipeline_through_all_machines_waits_for_room();
    test_lock_step_takes_at_most_two_states_a_tag();
    test_an_idle_machine_says_its_time_once_a_millisecond();
    for (uint64_t late = 0; late < 3; late++) test_what_is_heard_on_all_machines_meets_on_one(late);
    test_an_abort_ends_all_machines();
    test_a_cut_link_ends_all_machines();
    test_a_silent_machine_counts_as_lost();
    return 0;
}
