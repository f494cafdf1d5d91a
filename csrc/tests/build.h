/* How does a test get an image? It declares elements and reactions as reactors_runtime/program.py has them; images.py, which runs
 * beside it, makes the image of them as for any program. What is smaller than a real run would have it, so that it is
 * full sooner, is made so afterwards. Sizes are bounded by the constants below; what does not fit fails by assert. */
#ifndef BUILD_H
#define BUILD_H

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tag.h"
#include "peers.h"

enum { MOST = 640, MANY = 72, PATIENCE_S = 120 };
#define ARENA (1ull << 26)

typedef struct { int n, at[MANY]; } list;
#define OF(...) ((list){sizeof((int[]){__VA_ARGS__}) / sizeof(int), {__VA_ARGS__}})
#define NOTHING ((list){0})

static inline void add(list *l, int x)
{
    assert(l->n < MANY);
    l->at[l->n++] = x;
}

/* ---- declaring ------------------------------------------------------------------------------------------- */

typedef enum { PORT, TIMER, ACTION, PHYSICAL_ACTION, STARTUP, SHUTDOWN } kind;

typedef struct {
    kind kind;
    int reactor;
    int source;               /* PORT: the element that drives it; itself if a reaction writes it */
    rx_tag offset;            /* of the way from there */
    int physical;
    int object;               /* PORT: its values are objects of `bytes` bytes, of which the core knows nothing */
    uint64_t bytes;
    int64_t first, period, min_delay;
} element;

typedef struct {
    int reactor, number;
    list triggers, uses, effects;        /* effects: ports, then actions */
    int64_t deadline;
    rx_tag stop;              /* offset of its request to stop; NEVER: it has none */
    int native;               /* rx_next runs it, if 2 only in time; otherwise the caller of rx_next */
    rx__native function, late;
    void *state;
} reaction;

#define NEVER rx__tag(-1, 0)
#define AT_ONCE rx__tag(0, 0)

typedef struct {
    int n_reactors, n_elements, n_reactions, n_blocks;
    int startup[MOST], shutdown[MOST];   /* elements, by reactor */
    element elements[MOST];
    reaction reactions[MOST];
    list blocks[8];           /* ports whose slots are rows of one block */
    /* how it runs */
    int workers, placement[MOST];        /* by reactor */
    int processes, keepalive, real_time, virtual_time, few_slots;
    int machines, machine_of[RX_MOST_WORKERS];       /* 0: one; by worker */
    int machine;              /* of the image that is laid out next */
    uint32_t ring, inbox;     /* capacities; 0: as usual */
    uint32_t trace;
    uint32_t journal;         /* values are hashed, and a journal is kept */
    uint64_t watched;         /* bit per worker */
    int64_t timeout, spin_ns;
    int apart;                /* workers leave the links to their threads */
    int narrow;               /* sockets take little at once */
    int64_t longest_sleep_ns; /* 0: longer than any test waits, so that a lost wake-up is a run that does not end */
    uint64_t max_microsteps;
} program;

static inline program *new_program(void)
{
    program *p = calloc(1, sizeof *p);
    assert(p);
    p->workers = 1;
    p->timeout = RX_FOREVER_NS;
    return p;
}

static inline int add_element(program *p, element e)
{
    assert(p->n_elements < MOST);
    p->elements[p->n_elements] = e;
    return p->n_elements++;
}

static inline int reactor_on(program *p, int worker)
{
    int r = p->n_reactors++;
    p->placement[r] = worker;
    p->startup[r] = add_element(p, (element){.kind = STARTUP, .reactor = r});
    p->shutdown[r] = add_element(p, (element){.kind = SHUTDOWN, .reactor = r});
    return r;
}

static inline int output(program *p, int r, uint64_t bytes)
{
    return add_element(p, (element){.kind = PORT, .reactor = r, .source = p->n_elements, .bytes = bytes});
}

static inline int object_output(program *p, int r, uint64_t bytes)
{
    return add_element(p, (element){.kind = PORT, .reactor = r, .source = p->n_elements, .bytes = bytes, .object = 1});
}

/* An input of [r] that [source] drives, [offset] later. */
static inline int input(program *p, int r, int source, rx_tag offset)
{
    element e = p->elements[source];
    e.reactor = r;
    e.offset = offset;
    return add_element(p, e);
}

static inline int physical_input(program *p, int r, int source, int64_t delay)
{
    int i = input(p, r, source, rx__tag(delay, 0));
    p->elements[i].physical = 1;
    return i;
}

static inline int timer(program *p, int r, int64_t first, int64_t period)
{
    return add_element(p, (element){.kind = TIMER, .reactor = r, .first = first, .period = period});
}

static inline int action(program *p, int r, int64_t min_delay)
{
    return add_element(p, (element){.kind = ACTION, .reactor = r, .min_delay = min_delay});
}

static inline int physical_action(program *p, int r, int64_t min_delay)
{
    return add_element(p, (element){.kind = PHYSICAL_ACTION, .reactor = r, .min_delay = min_delay});
}

/* A native reaction, until `native` is taken back. Reactions of a reactor run in the order of their declaration. */
static inline int react(program *p, int r, list triggers, list uses, list effects, rx__native function, void *state)
{
    int number = 0;
    for (int i = 0; i < p->n_reactions; i++) number += p->reactions[i].reactor == r;
    assert(p->n_reactions < MOST);
    p->reactions[p->n_reactions] = (reaction){
        .reactor = r, .number = number, .triggers = triggers, .uses = uses, .effects = effects, .deadline = INT64_MAX,
        .stop = NEVER, .native = 1, .function = function, .state = state,
    };
    return p->n_reactions++;
}

static inline int is_port(const program *p, int e) { return p->elements[e].kind == PORT; }
static inline int stops(const reaction *r) { return r->stop.time >= 0; }

static inline list reads_of(const reaction *r)
{
    list reads = r->triggers;
    for (int k = 0; k < r->uses.n; k++) add(&reads, r->uses.at[k]);
    return reads;
}

/* ---- the image ------------------------------------------------------------------------------------------- */

typedef struct {
    int element, worker, number;
    rx_source row;            /* as it was at first */
} source;

typedef struct {
    int n_reactions, reactions[MOST];    /* local -> declared */
    int door_of[MOST];        /* by element; -1: none */
    int elements[2 * MOST];   /* by door; -1: a request to stop */
} part;

typedef struct {
    program *p;
    uint8_t *base;            /* the arena */
    int fd;
    rx_image *image;
    int n_sources;
    source sources[MOST];
    part parts[RX_MOST_WORKERS];
} build;

static inline source *source_of(build *b, int e)
{
    for (int i = 0; e >= 0 && i < b->n_sources; i++)
        if (b->sources[i].element == e) return &b->sources[i];
    return NULL;
}

/* What images.py reads and what it answers. */
typedef struct { FILE *to, *from; } planner;

static inline planner *the_planner(void)
{
    static planner p;
    if (p.to) return &p;
    int to[2], from[2];
    pid_t pid;
    char *command[] = {RX_PYTHON, RX_IMAGES, NULL};
    posix_spawn_file_actions_t actions;
    assert(!pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    assert(!posix_spawn(&pid, RX_PYTHON, &actions, NULL, command, environ) && "make build comes first");
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]), close(from[1]);
    p = (planner){fdopen(to[1], "w"), fdopen(from[0], "r")};
    return &p;
}

static inline void put(FILE *to, const char *name, int64_t x) { fprintf(to, " %s=%lld", name, (long long)x); }

#define PUT(to, from, name) put(to, #name, (int64_t)(from)->name)

/* A comma behind each, and one if there is none. */
static inline void put_all(FILE *to, const char *name, const int *numbers, int n)
{
    fprintf(to, " %s=%s", name, n ? "" : ",");
    for (int i = 0; i < n; i++) fprintf(to, "%d,", numbers[i]);
}

#define PUT_LIST(to, from, name) put_all(to, #name, (from)->name.at, (from)->name.n)

static inline void put_tag(FILE *to, const char *name, rx_tag g)
{
    fprintf(to, " %s=%lld,%llu,", name, (long long)g.time, (unsigned long long)g.microstep);
}

/* Lines of names with numbers, as images.py takes them. */
static inline void declare(const program *p, int fd, FILE *to)
{
    for (const element *e = p->elements; e < p->elements + p->n_elements; e++) {
        fprintf(to, "element");
        PUT(to, e, kind), PUT(to, e, reactor), PUT(to, e, source), PUT(to, e, physical), PUT(to, e, object), PUT(to, e, bytes);
        PUT(to, e, first), PUT(to, e, period), PUT(to, e, min_delay), put_tag(to, "offset", e->offset);
        fprintf(to, "\n");
    }
    for (const reaction *r = p->reactions; r < p->reactions + p->n_reactions; r++) {
        fprintf(to, "reaction");
        PUT(to, r, reactor), PUT(to, r, number), PUT(to, r, deadline), PUT(to, r, native), put_tag(to, "stop", r->stop);
        PUT_LIST(to, r, triggers), PUT_LIST(to, r, uses), PUT_LIST(to, r, effects);
        fprintf(to, "\n");
    }
    for (const list *block = p->blocks; block < p->blocks + p->n_blocks; block++) {
        fprintf(to, "block");
        put_all(to, "ports", block->at, block->n);
        fprintf(to, "\n");
    }
    fprintf(to, "image");
    put(to, "process", getpid()), put(to, "descriptor", fd), put_all(to, "placement", p->placement, p->n_reactors);
    PUT(to, p, workers), PUT(to, p, real_time), PUT(to, p, virtual_time), PUT(to, p, keepalive);
    put(to, "processes", p->processes || p->machines), PUT(to, p, machine);
    put_all(to, "machine_of", p->machine_of, p->machines ? p->workers : 0);
    PUT(to, p, timeout), PUT(to, p, spin_ns), PUT(to, p, trace), PUT(to, p, journal), PUT(to, p, max_microsteps);
    fprintf(to, "\n");
    fflush(to);
}

static inline void name_door(part *part, uint32_t door, int element)
{
    assert(door < 2 * MOST);
    part->elements[door] = element;
    if (element >= 0) part->door_of[element] = (int)door;
}

/* Which declared reaction, element and source each of a worker's is. */
static inline void recognise(build *b, int worker, const int *declared)
{
    program *p = b->p;
    part *part = &b->parts[worker];
    const rx_tables *t = RX_AT(rx_tables, b->base, b->image->tables) + worker;
    const uint32_t *lists = RX_AT(uint32_t, b->base, t->lists), *door_cells = RX_AT(uint32_t, b->base, t->door_cells);
    const rx_action *actions = RX_AT(rx_action, b->base, t->actions);
    const rx_source *sources = RX_AT(rx_source, b->base, t->sources);
    memset(part->door_of, -1, sizeof part->door_of);
    part->n_reactions = (int)t->n_reactions;
    for (uint32_t i = 0; i < t->n_reactions; i++) {
        const rx_reaction *row = RX_AT(rx_reaction, b->base, t->reactions) + i;
        const reaction *r = &p->reactions[part->reactions[i] = declared[row->global]];
        list touched = reads_of(r);
        for (int k = 0; k < r->effects.n; k++)
            if (is_port(p, r->effects.at[k])) add(&touched, r->effects.at[k]);
        if (stops(r)) add(&touched, -1);
        for (int k = 0; k < r->effects.n; k++)
            if (!is_port(p, r->effects.at[k])) add(&touched, r->effects.at[k]);
        assert(row->writes == row->reads + row->n_reads && (int)(row->n_reads + row->n_writes) == touched.n);
        for (int k = 0; k < touched.n; k++) name_door(part, lists[row->reads + (uint32_t)k], touched.at[k]);
    }
    for (uint32_t i = 0; i < t->n_actions; i++) name_door(part, actions[i].door, (int)actions[i].element);
    for (uint32_t i = 0; i < t->n_sources; i++)
        for (uint32_t door = 0; door < t->n_doors; door++) {
            int e = part->elements[door];
            if (door_cells[door] != sources[i].cell || (e >= 0 && (p->elements[e].source != e || source_of(b, e)))) continue;
            assert(b->n_sources < MOST);
            b->sources[b->n_sources++] = (source){e, worker, (int)i, sources[i]};
        }
}

static inline uint32_t fewer(uint32_t slots) { return slots > 8 ? slots / 4 : slots > 2 ? 2 : slots; }

static inline void have_few_slots(build *b)
{
    rx_sub *subs = RX_AT(rx_sub, b->base, b->image->subs);
    for (uint32_t i = 0; i < b->image->n_subs; i++) subs[i].slots = fewer(subs[i].slots);
    for (int worker = 0; worker < b->p->workers; worker++) {
        const rx_tables *t = RX_AT(rx_tables, b->base, b->image->tables) + worker;
        rx_source *sources = RX_AT(rx_source, b->base, t->sources);
        for (uint32_t i = 0; i < t->n_sources; i++) sources[i].slots = fewer(sources[i].slots);
    }
}

/* Rings of so few messages, or of what one tag may bring: else that would never fit. */
static inline void have_small_rings(build *b)
{
    uint64_t *rings = RX_AT(uint64_t, b->base, b->image->rings);
    const rx_sub *subs = RX_AT(rx_sub, b->base, b->image->subs);
    uint32_t n = b->image->workers;
    for (uint32_t i = 0; i < n * n; i++) {
        uint32_t pairs = 0, capacity = b->p->ring;
        if (!rings[i]) continue;
        for (uint32_t k = 0; k < b->image->n_subs; k++) pairs += subs[k].producer == i / n && subs[k].consumer == i % n;
        while (capacity < pairs) capacity *= 2;
        memset(b->base + rings[i], 0, rx_ring_bytes(capacity));
        rx_ring_init(b->base, rings[i], capacity);
    }
}

static inline void have_small_inboxes(build *b)
{
    for (int worker = 0; worker < b->p->workers; worker++) {
        rx_tables *t = RX_AT(rx_tables, b->base, b->image->tables) + worker;
        if (t->inbox) rx_inbox_init(b->base, t->inbox, b->p->inbox);
    }
}

static inline build *lay_out(program *p)
{
    build *b = calloc(1, sizeof *b);
    planner *planner = the_planner();
    int declared[MOST];
    b->p = p;
    b->fd = memfd_create("reactors test", MFD_CLOEXEC);
    assert(b->fd >= 0 && !ftruncate(b->fd, ARENA));
    b->base = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
    assert(b->base != MAP_FAILED);
    declare(p, b->fd, planner->to);
    for (int i = 0; i < p->n_reactions; i++) assert(fscanf(planner->from, "%d", &declared[i]) == 1);
    int end = 0;
    assert(fscanf(planner->from, "%d", &end) == 1 && end == -1);
    b->image = rx__image(b->base);
    b->image->longest_sleep_ns = p->longest_sleep_ns ? p->longest_sleep_ns : 1000 * PATIENCE_S * 1000000000ll;
    if (p->few_slots) have_few_slots(b);
    if (p->ring) have_small_rings(b);
    if (p->inbox) have_small_inboxes(b);
    for (int worker = 0; worker < p->workers; worker++) recognise(b, worker, declared);
    return b;
}

static inline void discard(build *b)
{
    munmap(b->base, ARENA);
    close(b->fd);
    free(b);
}

#endif
