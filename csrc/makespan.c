/* What if? How long would a program that was traced have taken elsewhere: on other workers, on any number, with cheaper
 * reactions. A worker executes what is its by tag and rank; an execution begins when its worker is free, its inputs are there,
 * and those who might have written the absent ones are known not to have done so. */
#include <stdlib.h>
#include <string.h>

#include "tag.h"

/* Where a list of executions of one worker has been gone through, by someone who only ever looks further on. */
typedef struct { uint64_t next; int64_t end; } look;

typedef struct {
    const rx_model *m;
    const uint32_t *worker;   /* by reaction */
    uint32_t workers;
    uint32_t *last;           /* by reaction and worker: who may make it run or not, at the same tag, the last one there */
    rx_tag *delays;           /* by worker and worker: the shortest way */
    uint64_t **ran;           /* by worker: its executions, */
    uint64_t *n_ran;          /* and how many */
    look *absent;             /* by reaction and worker: who has passed what did not come */
    look *before;             /* by worker and worker: who has done all that may still matter before a tag begins */
    rx_tag *begun;            /* by worker: the tag that it is at */
    int64_t *gate, *free;     /* by worker: when it may begin that tag, and is done with what is its so far */
    int64_t *end;             /* by execution */
} run;

static rx_tag tag_of(const rx_model *m, uint64_t i) { return (rx_tag){m->time[i], m->microstep[i]}; }

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* ns from a worker to another. */
static int64_t hop(const run *r, uint32_t from, uint32_t to)
{
    const rx_model *m = r->m;
    return m->machine_of && m->machine_of[from] != m->machine_of[to] ? m->latency : m->hop;
}

/* When worker [other] was done with all of its executions up to a tag: all of that tag before reaction [rank], or none. */
static int64_t passed(const run *r, uint32_t other, look *l, rx_tag tag, uint32_t rank)
{
    for (; l->next < r->n_ran[other]; l->next++) {
        uint64_t i = r->ran[other][l->next];
        rx_tag its = tag_of(r->m, i);
        if (rx__less(tag, its) || (rx__equal(tag, its) && r->m->reaction[i] >= rank)) break;
        l->end = r->end[i];
    }
    return l->end;
}

/* Who comes before whom at one tag, and the delays between workers. */
static void find_ways(run *r)
{
    const rx_model *m = r->m;
    uint32_t W = r->workers;
    for (uint32_t i = 0; i < W * W; i++) r->delays[i] = i / W == i % W ? (rx_tag){0, 0} : rx__forever();
    for (uint32_t to = 0; to < m->n_reactions; to++) {
        for (uint32_t k = m->first_read[to]; k < m->first_read[to + 1]; k++) {
            uint32_t from = m->writer[k];
            rx_tag delay = m->delay[k], *way = &r->delays[r->worker[from] * W + r->worker[to]];
            if (rx__less(delay, *way)) *way = delay;
            if (delay.time || delay.microstep) continue;
            for (uint32_t i = 0; i < W; i++) {
                uint32_t least = i == r->worker[from] ? from + 1 : 0, its = r->last[from * W + i];
                if (its < least) its = least;
                if (its > r->last[to * W + i]) r->last[to * W + i] = its;
            }
        }
    }
    for (uint32_t via = 0; via < W; via++)
        for (uint32_t i = 0; i < W; i++)
            for (uint32_t j = 0; j < W; j++) {
                rx_tag way = rx__plus(r->delays[i * W + via], r->delays[via * W + j]);
                if (rx__less(way, r->delays[i * W + j])) r->delays[i * W + j] = way;
            }
}

/* Nothing that is still to be executed elsewhere can reach this worker before this tag. */
static int64_t may_begin(run *r, uint32_t me, rx_tag tag)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < r->workers; i++) {
        rx_tag delay = r->delays[i * r->workers + me];
        if (i == me || rx__is_forever(delay)) continue;
        int none = !delay.time && !delay.microstep;      /* what comes at this tag itself is waited for where it is read */
        int64_t its = passed(r, i, &r->before[me * r->workers + i], rx__minus(tag, delay), none ? 0 : UINT32_MAX);
        at = later(at, its ? its + hop(r, i, me) : 0);
    }
    return at;
}

static int64_t when_inputs_are_there(run *r, uint64_t i, uint32_t me)
{
    const rx_model *m = r->m;
    uint32_t reaction = m->reaction[i], W = r->workers;
    int64_t at = 0;
    for (uint64_t k = m->first_edge[i]; k < m->first_edge[i + 1]; k++) {
        uint64_t from = m->source[k];
        uint32_t its = r->worker[m->reaction[from]];
        at = later(at, r->end[from] + (its == me ? 0 : hop(r, its, me)));
    }
    if (W == 1 || m->present[i]) return at;
    for (uint32_t other = 0; other < W; other++) {
        uint32_t rank = r->last[reaction * W + other];
        if (other == me || !rank) continue;
        int64_t its = passed(r, other, &r->absent[reaction * W + other], tag_of(m, i), rank);
        at = later(at, its ? its + hop(r, other, me) : 0);
    }
    return at;
}

static int64_t simulate(run *r, int64_t *busy)
{
    const rx_model *m = r->m;
    int64_t makespan = 0;
    for (uint64_t i = 0; i < m->n; i++) {
        uint32_t me = r->worker[m->reaction[i]];
        rx_tag tag = tag_of(m, i);
        if (!r->n_ran[me] || !rx__equal(tag, r->begun[me])) {
            r->begun[me] = tag;
            r->gate[me] = later(may_begin(r, me, tag), m->earliest ? m->earliest[i] : 0);
        }
        int64_t start = later(later(r->free[me], r->gate[me]), when_inputs_are_there(r, i, me));
        r->end[i] = r->free[me] = start + m->cost[i];
        r->ran[me][r->n_ran[me]++] = i;
        busy[me] += m->cost[i];
        makespan = later(makespan, r->end[i]);
    }
    return makespan;
}

int64_t rx_makespan(const rx_model *m, const uint32_t *worker, uint32_t workers, int64_t *busy)
{
    uint64_t W = workers, R = m->n_reactions, n = m->n;
    uint64_t *counts = calloc(W, sizeof *counts);
    uint64_t *places = malloc((n + 1) * sizeof *places);
    run r = {
        .m = m, .worker = worker, .workers = workers, .last = calloc(R * W + 1, sizeof *r.last),
        .delays = calloc(W * W, sizeof *r.delays), .ran = calloc(W, sizeof *r.ran), .n_ran = calloc(W, sizeof *r.n_ran),
        .absent = calloc(R * W + 1, sizeof *r.absent), .before = calloc(W * W, sizeof *r.before),
        .begun = calloc(W, sizeof *r.begun), .gate = calloc(W, sizeof *r.gate), .free = calloc(W, sizeof *r.free),
        .end = malloc((n + 1) * sizeof *r.end),
    };
    int64_t makespan = -1;
    if (counts && places && r.last && r.delays && r.ran && r.n_ran && r.absent && r.before && r.begun && r.gate && r.free && r.end) {
        memset(busy, 0, W * sizeof *busy);
        for (uint64_t i = 0; i < n; i++) counts[worker[m->reaction[i]]]++;
        for (uint64_t w = 0, at = 0; w < W; at += counts[w++]) r.ran[w] = places + at;
        find_ways(&r);
        makespan = simulate(&r, busy);
    }
    free(counts); free(places); free(r.last); free(r.delays); free(r.ran); free(r.n_ran); free(r.absent);
    free(r.before); free(r.begun); free(r.gate); free(r.free); free(r.end);
    return makespan;
}

int64_t rx_critical_path(const rx_model *m, int64_t *end, int64_t *cause)
{
    int64_t last = -1, makespan = 0;
    for (uint64_t i = 0; i < m->n; i++) {
        int64_t start = m->earliest ? m->earliest[i] : 0;
        cause[i] = -1;
        for (uint64_t k = m->first_edge[i]; k < m->first_edge[i + 1]; k++) {
            int64_t there = end[m->source[k]];
            if (there < start || (there == start && cause[i] >= 0)) continue;
            start = there;
            cause[i] = (int64_t)m->source[k];
        }
        end[i] = start + m->cost[i];
        if (last >= 0 && end[i] <= makespan) continue;
        makespan = end[i];
        last = (int64_t)i;
    }
    return last;
}
