/* How is a built program run? Every worker is a thread, or a forked process, with the pull loop of reactors_runtime/engine.py.
 * A reaction is a C function with the signature of a native one; where it is not native, the loop here gives it its doors.
 *
 * `look` is a reaction for programs whose only purpose is to be compared: it chains hashes of the tags and values that it
 * saw, and what it writes, and whether, depends on them alone. Nothing here waits forever: a run that does not end
 * says where its workers are, and fails. */
#ifndef RUN_H
#define RUN_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "build.h"
#include "clock.h"
#include "shared.h"

enum { KEPT = 4096 };

/* What the threads of one process know of objects: the values of a source by their numbers. */
typedef struct { uint8_t *values; uint64_t forgotten; } store;

typedef struct run run;

typedef struct {
    run *run;
    int worker;
    rx_worker *core;
    pthread_t thread;
    pid_t process;
    int64_t result;           /* of the last rx_next that gave nothing to do, before any failure was dealt with */
    uint64_t looks;           /* of a watched one: how often it looked around while it waited */
} runner;

typedef struct {              /* what a reaction has seen so far */
    const program *p;
    const reaction *reaction;
    uint64_t hash, count;
    uint64_t budget;          /* it writes nothing from then on: feedback ends */
    uint64_t often;           /* in a hundred times it writes what it may */
} seen;

struct run {
    int placement[MOST];      /* the program's then */
    program *p;
    build *b;
    seen *seen;               /* by declared reaction; shared by processes */
    store *stores;            /* by source */
    runner runners[64];
    struct { uint32_t machine; int socket; } links[8];           /* which workers use */
    int n_links;
};

static _Thread_local runner *me;         /* the worker whose thread this is */

static inline rx_tag now(void) { return me->core->tag; }

/* ---- values ---------------------------------------------------------------------------------------------- */

static inline uint64_t mixed(uint64_t h, uint64_t x)
{
    uint64_t y = (h ^ x) * 0x9FB21C651E98DF25ull;
    return y ^ (y >> 32);
}

/* A value fills its bytes with words that belong together: what is torn, or was written over, is noticed. */
static inline void fill(void *to, uint64_t bytes, uint64_t value)
{
    for (uint64_t i = 0; i < bytes / 8; i++) ((uint64_t *)to)[i] = value + i;
}

static inline uint64_t filled(const void *from, uint64_t bytes)
{
    const uint64_t *words = from;
    for (uint64_t i = 1; i < bytes / 8; i++) assert(words[i] == words[0] + i);
    return words[0];
}

static inline store *store_of(run *r, const source *s) { return &r->stores[s - r->b->sources]; }

static inline rx_record *record_at(run *r, const source *s, uint64_t slot)
{
    return RX_AT(rx_record, r->b->base, s->row.data + slot * s->row.stride);
}

/* The value at a door that is present. */
static inline void *value_at(runner *m, uint32_t door)
{
    rx_worker *w = m->core;
    const rx_cell *cell = w->cell_of[door];
    int number = m->run->b->parts[m->worker].elements[door];
    const element *e = &m->run->p->elements[number];
    if (e->kind != PORT) return NULL;
    if (!e->object) return rx__value(w, cell, cell->tap);
    source *s = source_of(m->run->b, e->source);
    uint64_t where = w->where[door];
    if (s->row.mode == RX_PLAIN) return store_of(m->run, s)->values;
    if (s->row.mode == RX_SEQUENCE) return store_of(m->run, s)->values + where % KEPT * e->bytes;
    if (where & RX_OUTSIDE) {
        rx_copy *copy = rx__copy_at(where);
        assert(copy->size == e->bytes);
        return copy + 1;
    }
    rx_record *record = record_at(m->run, s, where);
    assert(record->size == e->bytes);
    return e->bytes > RX_OBJECT_SLOT - sizeof *record ? m->run->b->base + record->spill : (uint8_t *)(record + 1);
}

/* Where to write the value of a door. */
static inline void *slot_at(runner *m, uint32_t door)
{
    rx_worker *w = m->core;
    run *r = m->run;
    int number = r->b->parts[m->worker].elements[door];
    if (number < 0) return NULL;         /* a request to stop */
    source *s = source_of(r->b, number);
    const element *e = &r->p->elements[number];
    uint64_t where = s->row.mode == RX_PLAIN ? 0 : w->where[door];
    if (!e->object) return r->b->base + s->row.data + where * s->row.stride;
    store *store = store_of(r, s);
    if (s->row.mode == RX_PLAIN) return store->values;
    if (s->row.mode == RX_SEQUENCE) {
        uint64_t low = w->low[door];
        assert(where < low + KEPT);
        for (; store->forgotten < low; store->forgotten++)      /* a reader that still looks there finds this */
            memset(store->values + store->forgotten % KEPT * e->bytes, 0xEE, e->bytes);
        return store->values + where % KEPT * e->bytes;
    }
    rx_record *record = record_at(r, s, where);
    record->size = e->bytes;
    if (e->bytes <= RX_OBJECT_SLOT - sizeof *record) return record + 1;
    if (record->capacity < e->bytes) {
        record->spill = rx_spill(r->b->base, r->b->fd, e->bytes);
        record->capacity = e->bytes;
        assert(record->spill);
    }
    return r->b->base + record->spill;
}

/* ---- the pull loop --------------------------------------------------------------------------------------- */

/* Runs a reaction as rx_next would if it were native. */
static inline void pull(runner *m, uint32_t local, int late)
{
    rx_worker *w = m->core;
    const rx_reaction *r = &w->reactions[local];
    const reaction *declared = &m->run->p->reactions[m->run->b->parts[m->worker].reactions[local]];
    const uint32_t *reads = w->lists + r->reads, *writes = w->lists + r->writes, n = r->n_reads;
    void *data[2 * MANY] = {0};
    unsigned char present[2 * MANY] = {0};
    *w->current = local;
    for (uint32_t k = 0; k < n; k++) {
        assert(w->doors[reads[k]] & RX_OPEN);
        present[k] = (w->doors[reads[k]] & RX_PRESENT) != 0;
        if (present[k]) data[k] = value_at(m, reads[k]);
    }
    for (uint32_t k = 0; k < r->n_writes; k++) {
        assert(w->doors[writes[k]] & RX_WRITABLE);
        if (k >= r->n_ports) continue;
        present[n + k] = (w->doors[writes[k]] & RX_PRESENT) != 0;
        data[n + k] = slot_at(m, writes[k]);
    }
    (late ? declared->late : declared->function)(data, present, declared->state);
    for (uint32_t k = 0; k < r->n_writes; k++) {
        if (!present[n + k]) continue;
        if (k < r->n_ports) w->doors[writes[k]] |= RX_PRESENT;
        else rx_schedule(w, w->cell_of[writes[k]]->action, 0, 0);
    }
}

/* Runs what rx_next has given; 0: it was nothing to run. */
static inline int pull_all(runner *m, int64_t given)
{
    uint32_t n = m->core->t->n_reactions;
    if (given < 0) return 0;
    pull(m, (uint32_t)given % n, given >= n);
    return 1;
}

static inline void open_worker(runner *m)
{
    program *p = m->run->p;
    const part *part = &m->run->b->parts[m->worker];
    m->core = rx_open(m->run->b->base, (uint32_t)m->worker);
    assert(m->core);
    for (int i = 0; i < part->n_reactions; i++) {
        reaction *r = &p->reactions[part->reactions[i]];
        uint32_t late = (uint32_t)(part->n_reactions + i);
        if (r->native) rx_set_native(m->core, (uint32_t)i, (uint64_t)(uintptr_t)r->function, (uint64_t)(uintptr_t)r->state);
        if (r->native == 1) rx_set_native(m->core, late, (uint64_t)(uintptr_t)r->late, (uint64_t)(uintptr_t)r->state);
    }
    for (int i = 0; i < m->run->n_links; i++)
        assert(!rx_use_link(m->core, m->run->b->fd, m->run->links[i].machine, m->run->links[i].socket));
    me = m;
}

/* Whether rx_next gave something to run, or a look around, and is to be called again. */
static inline int go_on(runner *m, int64_t given)
{
    const uint64_t *numbers;
    if (given == RX_INTERRUPTED) rx__put(&m->looks, m->looks + 1);
    if (given == RX_UNNEEDED) assert(rx_unneeded(m->core, &numbers));
    return given == RX_INTERRUPTED || given == RX_UNNEEDED || pull_all(m, given);
}

static inline void *work(void *argument)
{
    runner *m = argument;
    open_worker(m);
    int64_t given = rx_start(m->core);
    if (m->run->p->watched >> m->worker & 1) rx_watch(m->core);
    while (given == 0) {
        do given = rx_next(m->core); while (go_on(m, given));
        m->result = given;
        if (given == RX_RUNAWAY) given = 0;
    }
    m->result = given;
    if (given != RX_DONE) {              /* a worker failed: shutdown reactions, and that is all */
        rx_abort(m->run->b->base, RX_E_ABORTED);
        rx_fail(m->core);
        do given = rx_next(m->core); while (go_on(m, given));
        assert(given == RX_DONE);
    }
    rx_close(m->core);
    return NULL;
}

/* ---- runs ------------------------------------------------------------------------------------------------ */

static inline void *shared_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(memory != MAP_FAILED);
    return memory;
}

static inline run *new_run(program *p)
{
    run *r = calloc(1, sizeof *r);
    r->p = p;
    r->b = lay_out(p);
    memcpy(r->placement, p->placement, sizeof r->placement);
    r->stores = calloc(MOST, sizeof *r->stores);
    for (int i = 0; i < r->b->n_sources; i++) {
        int e = r->b->sources[i].element;
        if (e >= 0 && p->elements[e].object) r->stores[i].values = calloc(KEPT, p->elements[e].bytes);
    }
    for (int i = 0; i < p->workers; i++) r->runners[i] = (runner){.run = r, .worker = i};
    return r;
}

static inline void end_run(run *r)
{
    for (int i = 0; i < MOST; i++) free(r->stores[i].values);
    free(r->stores);
    if (r->seen) munmap(r->seen, MOST * sizeof *r->seen);
    discard(r->b);
    free(r);
}

static inline void give_up(const run *r)
{
    for (uint32_t i = 0; i < r->b->image->workers; i++) {
        const rx_line *line = rx__line(r->b->base, i);
        rx_tag head = rx__get_tag(&line->head), passed = rx__get_tag(&line->passed);
        fprintf(stderr, "worker %u: head (%lld, %llu), passed (%lld, %llu) to rank %lld, idle %llu\n", i, (long long)head.time,
                (unsigned long long)head.microstep, (long long)passed.time, (unsigned long long)passed.microstep,
                (long long)rx__get(&line->rank), (unsigned long long)rx__get(&line->idle));
    }
    fprintf(stderr, "the run does not end\n");
    abort();
}

static inline struct timespec in_seconds(int s)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += s;
    return t;
}

static inline void start_threads(run *r)
{
    for (int i = 0; i < r->p->workers; i++) assert(!pthread_create(&r->runners[i].thread, NULL, work, &r->runners[i]));
}

static inline void join_threads(run *r)
{
    struct timespec end = in_seconds(PATIENCE_S);
    for (int i = 0; i < r->p->workers; i++)
        if (pthread_timedjoin_np(r->runners[i].thread, NULL, &end)) give_up(r);
}

static inline void start_processes(run *r)
{
    for (int i = 0; i < r->p->workers; i++) {
        r->runners[i].process = fork();
        assert(r->runners[i].process >= 0);
        if (r->runners[i].process) continue;
        work(&r->runners[i]);
        _exit(r->runners[i].result == RX_DONE ? 0 : 1);
    }
}

static inline void join_processes(run *r)
{
    int64_t end = rx__clock() + PATIENCE_S * 1000000000ll;
    for (int i = 0; i < r->p->workers; i++) {
        int status, ended;
        while (!(ended = waitpid(r->runners[i].process, &status, WNOHANG)) && rx__clock() < end) usleep(500);
        if (!ended) {
            for (int k = i; k < r->p->workers; k++) kill(r->runners[k].process, SIGKILL);
            give_up(r);
        }
        assert(ended == r->runners[i].process && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        r->runners[i].result = RX_DONE;
    }
}

/* To its end. Threads, or processes if the program says so. */
static inline void go(run *r)
{
    if (r->p->processes) start_processes(r), join_processes(r);
    else start_threads(r), join_threads(r);
}

static inline uint64_t digest_of(const run *r, int reactor)
{
    int worker = r->placement[reactor], number = 0;
    for (int i = 0; i < reactor; i++) number += r->placement[i] == worker;
    const rx_tables *tables = RX_AT(rx_tables, r->b->base, r->b->image->tables) + worker;
    return RX_AT(uint64_t, r->b->base, tables->digests)[number];
}

/* ---- a reaction to compare by ---------------------------------------------------------------------------- */

static inline void dawdle(void)          /* so that the workers meet in many ways */
{
    static _Thread_local uint32_t dice = 1;
    dice = dice * 1664525u + 1013904223u;
    if (dice >> 27 == 0) sched_yield();
    for (uint32_t i = dice >> 28 == 1 ? dice >> 18 & 255 : 0; i; i--) rx__pause();
}

static inline void look(void **data, unsigned char *present, void *state)
{
    seen *s = state;
    const program *p = s->p;
    const reaction *r = s->reaction;
    list reads = reads_of(r);
    uint64_t h = mixed(mixed(s->hash, (uint64_t)now().time), now().microstep);
    for (int k = 0; k < reads.n; k++) {
        if (!present[k]) continue;
        h = mixed(h, (uint64_t)k + 1);
        if (is_port(p, reads.at[k])) h = mixed(h, filled(data[k], p->elements[reads.at[k]].bytes));
    }
    s->hash = h;
    s->count++;
    dawdle();
    if (s->count > s->budget) return;
    int n_ports = 0;
    for (int k = 0; k < r->effects.n; k++) n_ports += is_port(p, r->effects.at[k]);
    for (int k = 0; k < r->effects.n; k++) {
        uint64_t dice = mixed(h, 1000 + (uint64_t)k);
        int door = reads.n + k + (k >= n_ports && stops(r));
        if (dice % 100 >= s->often) continue;
        if (k < n_ports) fill(data[door], p->elements[r->effects.at[k]].bytes, dice);
        present[door] = 1;
    }
    if (stops(r) && mixed(h, 999) % 100 < s->often / 4) present[reads.n + n_ports] = 1;
}

static inline void look_late(void **data, unsigned char *present, void *state)
{
    seen *s = state;
    s->hash = ~s->hash;
    look(data, present, state);
}

static inline int touches_objects(const program *p, const reaction *r)
{
    list touched = reads_of(r);
    int any = 0;
    for (int k = 0; k < r->effects.n; k++) add(&touched, r->effects.at[k]);
    for (int k = 0; k < touched.n; k++) any |= p->elements[touched.at[k]].object;
    return any;
}

/* A new run of a program whose reactions have no function of their own: they look. A native one knows no objects. */
static inline run *new_looking_run(program *p, uint64_t budget, uint64_t often)
{
    for (int i = 0; i < p->n_reactions; i++)
        if (touches_objects(p, &p->reactions[i])) p->reactions[i].native = 0;
    run *r = new_run(p);
    r->seen = shared_memory(MOST * sizeof *r->seen);
    for (int i = 0; i < p->n_reactions; i++) {
        reaction *one = &p->reactions[i];
        r->seen[i] = (seen){.p = p, .reaction = one, .budget = budget, .often = often};
        one->function = look;
        one->late = look_late;
        one->state = &r->seen[i];
    }
    return r;
}

/* 1: every reaction saw the same in both, in the same order. */
static inline int saw_the_same(const run *a, const run *b)
{
    int same = 1;
    for (int i = 0; i < a->p->n_reactions; i++)
        if (a->seen[i].hash != b->seen[i].hash || a->seen[i].count != b->seen[i].count) {
            fprintf(stderr, "reaction %d of reactor %d ran %llu times and %llu times\n", i, a->p->reactions[i].reactor,
                    (unsigned long long)a->seen[i].count, (unsigned long long)b->seen[i].count);
            same = 0;
        }
    for (int i = 0; i < a->p->n_reactors; i++) same &= digest_of(a, i) == digest_of(b, i);
    return same;
}

/* A run whose only worker is this thread. */
static inline runner *opened(program *p)
{
    run *r = new_run(p);
    open_worker(&r->runners[0]);
    assert(rx_start(r->runners[0].core) == 0);
    return &r->runners[0];
}

static inline runner *by_hand(program *p)
{
    for (int i = 0; i < p->n_reactions; i++) p->reactions[i].native = 0;
    return opened(p);
}

static inline void end_by_hand(runner *m)
{
    program *p = m->run->p;
    rx_close(m->core);
    end_run(m->run);
    free(p);
}

#endif
