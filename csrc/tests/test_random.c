/* Does a program mean the same on any number of workers? Random graphs, on one worker and on several, threads and now and
 * then processes: every reaction must have seen the same tags and the same values in the same order.
 *
 *     test_random [first seed [count]] */
#include "random.h"

static void test_random_program_means_the_same_on_any_number_of_workers(uint64_t seed)
{
    program *p = random_program(seed);
    uint64_t budget = 5 + dice(40), often = (uint64_t)ONE_OF(100, 80, 50);
    run *alone = new_looking_run(p, budget, often);
    go(alone);
    assert(alone->runners[0].result == RX_DONE);
    for (int i = 0; i < 3; i++) {
        place(p, (int[]){2, 3, 8}[i]);
        p->processes = i == (int)dice(12);
        run *together = new_looking_run(p, budget, often);
        go(together);
        for (int w = 0; w < p->workers; w++) assert(together->runners[w].result == RX_DONE);
        int same = saw_the_same(alone, together);
        if (!same) fprintf(stderr, "seed %llu on %d workers\n", (unsigned long long)seed, p->workers);
        assert(same);
        end_run(together);
    }
    end_run(alone);
    free(p);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, count = argc > 2 ? strtoull(argv[2], NULL, 10) : 60;
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (getenv("VERBOSE")) fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        test_random_program_means_the_same_on_any_number_of_workers(seed);
    }
    return 0;
}
