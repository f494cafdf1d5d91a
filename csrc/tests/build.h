/* How does a test get an image? It declares elements and reactions as reactors_runtime/program.py has them, and `lay_out`
 * makes the tables of them as reactors_runtime/planning/image.py does: the two are to be kept alike. Sizes are bounded by the
 * constants below; what does not fit, or makes no sense, fails by assert. */
#ifndef BUILD_H
#define BUILD_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tag.h"
#include "peers.h"

enum { MOST = 640, MANY = 72, WAYS = 64, DEAD = 2, PATIENCE_S = 120 };
#define ARENA (1ull << 26)

typedef struct { int n, at[MANY]; } list;
#define OF(...) ((list){sizeof((int[]){__VA_ARGS__}) / sizeof(int), {__VA_ARGS__}})
#define NOTHING ((list){0})

static inline void add(list *l, int x)
{
    assert(l->n < MANY);
    l->at[l->n++] = x;
}

static inline int last(const list *l) { return l->at[l->n - 1]; }

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
    int reactor, number, level;
    list triggers, uses, effects;        /* effects: ports, then actions */
    int64_t deadline;
    rx_tag stop;              /* offset of its request to stop; NEVER: it has none */
    int native;               /* rx_next runs it; otherwise whoever calls rx_next */
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
    int ranks[MOST];          /* reactions in the static order: by level, then as declared, reactor by reactor */
    list blocks[8];           /* ports whose slots are rows of one block */
    /* how it runs */
    int workers, placement[MOST];        /* by reactor */
    int processes, keepalive, real_time, virtual_time, few_slots;
    uint32_t ring, inbox;     /* capacities; 0: as usual */
    uint32_t trace;
    uint64_t watched;         /* bit per worker */
    int64_t timeout, spin_ns;
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
static inline int without_delay(const element *e) { return rx__equal(e->offset, AT_ONCE) && !e->physical; }
static inline int stops(const reaction *r) { return r->stop.time >= 0; }

static inline list reads_of(const reaction *r)
{
    list reads = r->triggers;
    for (int k = 0; k < r->uses.n; k++) add(&reads, r->uses.at[k]);
    return reads;
}

static inline int comes_before(const program *p, const reaction *a, const reaction *b)
{
    if (a->reactor == b->reactor && a->number < b->number) return 1;
    list reads = reads_of(b);
    for (int k = 0; k < reads.n; k++)
        for (int i = 0; i < a->effects.n; i++) {
            const element *e = &p->elements[reads.at[k]];
            if (e->kind == PORT && without_delay(e) && e->source == a->effects.at[i]) return 1;
        }
    return 0;
}

/* Levels: the length of the longest chain of reactions before it. */
static inline void find_levels(program *p)
{
    int n = p->n_reactions, moved = 1, *before = calloc((size_t)n * n + 1, sizeof *before);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) before[a * n + b] = a != b && comes_before(p, &p->reactions[a], &p->reactions[b]);
    for (int i = 0; i < n; i++) p->reactions[i].level = 0;
    for (int rounds = 0; moved; rounds++) {
        assert(rounds <= n && "a cycle without a delay");
        moved = 0;
        for (int i = 0; i < n * n; i++) {
            const reaction *a = &p->reactions[i / n];
            reaction *b = &p->reactions[i % n];
            if (before[i] && b->level <= a->level) b->level = a->level + 1, moved = 1;
        }
    }
    free(before);
    int ranked = 0;
    for (int level = 0; ranked < n; level++)
        for (int r = 0; r < p->n_reactors; r++)
            for (int i = 0; i < n; i++)
                if (p->reactions[i].level == level && p->reactions[i].reactor == r) p->ranks[ranked++] = i;
}

/* ---- the plan -------------------------------------------------------------------------------------------- */

typedef struct { rx_tag offset; int physical, worker, cell; uint32_t number; } way;      /* a tap */

typedef struct {
    int element;              /* -1: a request to stop */
    int worker, number, cell, n_ways, in_block;
    list writers;             /* local reactions */
    way ways[WAYS];
    rx_source row;
} source;

typedef struct {
    int n_reactions, reactions[MOST];    /* local -> declared */
    int cell_of[MOST], door_of[MOST], action_of[MOST];       /* by element; -1: none */
    int stop_doors[MOST];     /* by local reaction */
    int n_doors, door_cells[2 * MOST], elements[2 * MOST];   /* by door */
    int n_cells, n_sources, n_actions, physical;
    source *sources[MOST];
    int n_words, word_of[MOST], bit_of[MOST];                /* by local reaction */
    uint32_t first_of_word[MOST];
    rx_reaction rows[MOST];
    uint32_t n_lists, lists[MOST * 12];
    rx_tables *tables;
} part;

typedef struct {
    program *p;
    uint8_t *base;            /* the arena */
    int fd;
    uint64_t top;
    rx_image *image;
    int local[MOST];          /* declared reaction -> local */
    int n_sources;
    source sources[MOST];
    part parts[64];
} build;

static inline source *source_of(build *b, int e)
{
    for (int i = 0; e >= 0 && i < b->n_sources; i++)
        if (b->sources[i].element == e) return &b->sources[i];
    return NULL;
}

static inline source *new_source(build *b, int e, int worker)
{
    assert(b->n_sources < MOST);
    part *part = &b->parts[worker];
    source *s = &b->sources[b->n_sources++];
    *s = (source){.element = e, .worker = worker, .number = part->n_sources, .cell = part->n_cells++};
    part->sources[part->n_sources++] = s;
    return s;
}

static inline void find_sources(build *b)
{
    program *p = b->p;
    for (int i = 0; i < p->n_reactions; i++) {
        part *part = &b->parts[p->placement[p->reactions[p->ranks[i]].reactor]];
        b->local[p->ranks[i]] = part->n_reactions;
        part->reactions[part->n_reactions++] = p->ranks[i];
    }
    for (int worker = 0; worker < p->workers; worker++) {
        part *part = &b->parts[worker];
        part->n_cells = DEAD + 1;
        memset(part->cell_of, -1, sizeof part->cell_of);
        memset(part->door_of, -1, sizeof part->door_of);
        memset(part->action_of, -1, sizeof part->action_of);
        for (int i = 0; i < part->n_reactions; i++) {
            const reaction *r = &p->reactions[part->reactions[i]];
            for (int k = 0; k < r->effects.n; k++) {
                int e = r->effects.at[k];
                if (!is_port(p, e)) continue;
                source *s = source_of(b, e);
                if (!s) {
                    s = new_source(b, e, worker);
                    part->cell_of[e] = s->cell;
                }
                add(&s->writers, i);
            }
            if (!stops(r)) continue;
            source *s = new_source(b, -1, worker);
            add(&s->writers, i);
            for (int other = 0; other < p->workers; other++)
                s->ways[s->n_ways++] = (way){.offset = r->stop, .worker = other, .cell = (int)RX_STOP};
        }
    }
}

/* The cell in which a worker sees an element. */
static inline int cell_of(build *b, int worker, int number)
{
    part *part = &b->parts[worker];
    const element *e = &b->p->elements[number];
    int cell = part->cell_of[number];
    if (cell >= 0) return cell;
    source *s = e->kind == PORT ? source_of(b, e->source) : NULL;
    if (e->kind == STARTUP || e->kind == SHUTDOWN) {
        cell = e->kind == SHUTDOWN;
    } else if (e->kind != PORT) {
        cell = part->n_cells++;
    } else if (!s) {
        cell = DEAD;
    } else if (s->worker == worker && without_delay(e)) {
        cell = s->cell;
    } else {
        for (int i = 0; i < s->n_ways; i++) {
            const way *known = &s->ways[i];
            if (known->worker == worker && rx__equal(known->offset, e->offset) && known->physical == e->physical) cell = known->cell;
        }
        if (cell < 0) {
            assert(s->n_ways < WAYS);
            cell = part->n_cells++;
            s->ways[s->n_ways++] = (way){e->offset, e->physical, worker, cell, 0};
        }
        part->physical |= e->physical;
    }
    return part->cell_of[number] = cell;
}

static inline int new_door(part *part, int cell, int element)
{
    part->door_cells[part->n_doors] = cell;
    part->elements[part->n_doors] = element;
    return part->n_doors++;
}

static inline int door_of(build *b, int worker, int e)
{
    part *part = &b->parts[worker];
    if (part->door_of[e] >= 0) return part->door_of[e];
    part->door_of[e] = new_door(part, cell_of(b, worker, e), e);
    kind kind = b->p->elements[e].kind;
    if (kind == ACTION || kind == PHYSICAL_ACTION) part->action_of[e] = part->n_actions++;
    part->physical |= kind == PHYSICAL_ACTION;
    return part->door_of[e];
}

static inline void list_door(part *part, int door)
{
    assert(part->n_lists < MOST * 12);
    part->lists[part->n_lists++] = (uint32_t)door;
}

static inline void open_reaction(build *b, int worker, int local)
{
    part *part = &b->parts[worker];
    program *p = b->p;
    int declared = part->reactions[local];
    const reaction *r = &p->reactions[declared];
    rx_reaction *row = &part->rows[local];
    list reads = reads_of(r);
    *row = (rx_reaction){.global = (uint32_t)declared, .reactor = (uint32_t)r->reactor, .number = (uint32_t)r->number};
    row->deadline = r->deadline;
    row->flags = (r->deadline != INT64_MAX ? RX_ALONE : 0) | (r->native ? RX_NATIVE : 0) | (stops(r) ? RX_STOPS : 0);
    row->reads = part->n_lists;
    row->n_reads = (uint32_t)reads.n;
    for (int k = 0; k < reads.n; k++) list_door(part, door_of(b, worker, reads.at[k]));
    row->writes = part->n_lists;
    for (int k = 0; k < r->effects.n; k++)
        if (is_port(p, r->effects.at[k])) list_door(part, door_of(b, worker, r->effects.at[k]));
    for (int i = 0; stops(r) && i < part->n_sources; i++) {
        const source *s = part->sources[i];
        if (s->element < 0 && s->writers.at[0] == local) list_door(part, part->stop_doors[local] = new_door(part, s->cell, -1));
    }
    row->n_ports = part->n_lists - row->writes;
    for (int k = 0; k < r->effects.n; k++)
        if (!is_port(p, r->effects.at[k])) list_door(part, door_of(b, worker, r->effects.at[k]));
    row->n_writes = part->n_lists - row->writes;
}

static inline void open_doors(build *b)
{
    program *p = b->p;
    for (int e = 0; e < p->n_elements; e++)    /* an action is there even if only outsiders schedule it */
        if (p->elements[e].kind == PHYSICAL_ACTION) door_of(b, p->placement[p->elements[e].reactor], e);
    for (int worker = 0; worker < p->workers; worker++) {
        part *part = &b->parts[worker];
        for (int i = 0, bit = 64, level = -1; i < part->n_reactions; i++, bit++) {
            const reaction *r = &p->reactions[part->reactions[i]];
            if (r->level != level || bit == 64) {
                part->first_of_word[part->n_words++] = (uint32_t)i;
                bit = 0;
                level = r->level;
            }
            part->word_of[i] = part->n_words - 1;
            part->bit_of[i] = bit;
            open_reaction(b, worker, i);
        }
    }
}

static inline void plan_values(build *b)
{
    const program *p = b->p;
    for (int i = 0; i < b->n_sources; i++) {
        source *s = &b->sources[i];
        if (s->element < 0) continue;
        const element *e = &p->elements[s->element];
        rx_source *row = &s->row;
        int crosses = 0, soon = 1;
        for (int k = 0; k < s->n_ways; k++) {
            const way *way = &s->ways[k];
            crosses |= way->worker != s->worker;
            soon &= !way->physical && way->offset.time == 0 && way->offset.microstep <= 1;
        }
        row->slots = 1;
        if (!e->object) row->bytes = e->bytes;
        if (s->n_ways) row->mode = !e->object || (crosses && p->processes) ? RX_SLOTS : RX_SEQUENCE;
        if (row->mode == RX_SLOTS) row->slots = p->few_slots ? (soon ? 2 : 4) : (soon ? 8 : 16);
    }
    for (int i = 0; i < p->n_blocks; i++) {
        uint32_t slots = 1;
        for (int k = 0; k < p->blocks[i].n; k++) {
            source *s = source_of(b, p->blocks[i].at[k]);
            assert(s && s->row.bytes && !s->in_block);
            s->in_block = 1;
            if (s->row.slots > slots) slots = s->row.slots;
        }
        for (int k = 0; k < p->blocks[i].n && slots > 1; k++) {
            rx_source *row = &source_of(b, p->blocks[i].at[k])->row;
            row->mode = RX_SLOTS;
            row->slots = slots;
        }
    }
}

/* ---- the arena ------------------------------------------------------------------------------------------- */

static inline uint64_t take(build *b, uint64_t bytes, uint64_t align)
{
    uint64_t at = (b->top + align - 1) & ~(align - 1);
    b->top = at + bytes;
    assert(b->top <= ARENA);
    return at;
}

static inline uint64_t keep(build *b, const void *from, uint64_t bytes)
{
    uint64_t at = take(b, bytes, 64);
    if (bytes) memcpy(b->base + at, from, bytes);
    return at;
}

static inline void write_delays(build *b)
{
    int n = b->p->workers;
    rx_tag *least = calloc((size_t)n * n * 2, sizeof *least), *direct = least + n * n;
    for (int i = 0; i < n * n; i++) direct[i] = rx__forever();
    for (int i = 0; i < b->n_sources; i++)
        for (int k = 0; k < b->sources[i].n_ways; k++) {
            const way *way = &b->sources[i].ways[k];
            int pair = b->sources[i].worker * n + way->worker;
            if (b->sources[i].worker != way->worker && !way->physical) direct[pair] = rx__least(direct[pair], way->offset);
        }
    memcpy(least, direct, (size_t)n * n * sizeof *least);
    for (int i = 0; i < n; i++) least[i * n + i] = rx__tag(0, 0);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                least[i * n + j] = rx__least(least[i * n + j], rx__plus(least[i * n + k], least[k * n + j]));
    b->image->delays = keep(b, least, (size_t)n * n * 2 * sizeof *least);
    free(least);
}

static inline void write_values(build *b)
{
    const program *p = b->p;
    for (int i = 0; i < p->n_blocks; i++) {
        uint64_t stride = 0, at = 0;
        for (int k = 0; k < p->blocks[i].n; k++) stride += source_of(b, p->blocks[i].at[k])->row.bytes;
        uint64_t data = take(b, stride * source_of(b, p->blocks[i].at[0])->row.slots, 64);
        for (int k = 0; k < p->blocks[i].n; k++) {
            rx_source *row = &source_of(b, p->blocks[i].at[k])->row;
            row->data = data + at;
            row->stride = stride;
            at += row->bytes;
        }
    }
    for (int i = 0; i < b->n_sources; i++) {
        rx_source *row = &b->sources[i].row;
        if (row->mode == RX_SLOTS) row->refs = take(b, 4 * row->slots, b->sources[i].in_block ? 4 : 64);
        if (b->sources[i].in_block || (!row->bytes && row->mode != RX_SLOTS)) continue;
        row->stride = ((row->bytes ? row->bytes : RX_OBJECT_SLOT) + 63) & ~63ull;
        row->data = take(b, row->stride * row->slots, 64);
    }
}

/* Subscriptions in the order of workers, sources, consumers; the taps of each follow one another in its consumer's. */
static inline void write_subs(build *b)
{
    int n = b->p->workers;
    uint32_t taps[64] = {0}, n_subs = 0;
    rx_sub *subs = calloc(MOST * 4, sizeof *subs);
    uint64_t pairs[64 * 64] = {0};
    for (int worker = 0; worker < n; worker++) {
        part *part = &b->parts[worker];
        for (int i = 0; i < part->n_sources; i++) {
            source *s = part->sources[i];
            s->row.subs = part->n_lists;
            for (int consumer = 0; consumer < n; consumer++) {
                rx_sub sub = {.producer = (uint32_t)worker, .consumer = (uint32_t)consumer, .source = (uint32_t)s->number};
                sub.taps = taps[consumer];
                sub.least = rx__forever();
                for (int k = 0; k < s->n_ways; k++) {
                    if (s->ways[k].worker != consumer) continue;
                    s->ways[k].number = n_subs;
                    sub.n_taps++;
                    taps[consumer]++;
                    if (!s->ways[k].physical) sub.least = rx__least(sub.least, s->ways[k].offset);
                }
                if (!sub.n_taps) continue;
                const rx_source *row = &s->row;
                sub.mode = row->mode, sub.slots = row->slots, sub.data = row->data;
                sub.stride = row->stride, sub.bytes = row->bytes, sub.refs = row->refs;
                if (row->mode == RX_SEQUENCE) sub.released = take(b, 8, 8);
                pairs[worker * n + consumer] += consumer != worker;
                assert(n_subs < MOST * 4);
                list_door(part, (int)n_subs);
                subs[n_subs++] = sub;
            }
            s->row.n_subs = part->n_lists - s->row.subs;
        }
    }
    b->image->subs = keep(b, subs, n_subs * sizeof *subs);
    b->image->n_subs = n_subs;
    free(subs);
    uint64_t *rings = RX_AT(uint64_t, b->base, b->image->rings);
    for (int i = 0; i < n * n; i++) {
        uint32_t capacity = 1024;
        if (!pairs[i]) continue;
        while (capacity < 4 * pairs[i]) capacity *= 2;
        if (b->p->ring) capacity = b->p->ring;
        while (capacity < pairs[i]) capacity *= 2;   /* or what one tag may bring would never fit */
        rings[i] = take(b, rx_ring_bytes(capacity), 128);
        rx_ring_init(b->base, rings[i], capacity);
    }
}

/* The least set of waits for the sources that these elements come from. */
static inline void find_waits(build *b, int worker, const list *reads, rx_wait *waits, uint32_t *n)
{
    uint32_t first = *n;
    for (int k = 0; k < reads->n; k++) {
        const element *e = &b->p->elements[reads->at[k]];
        const source *s = e->kind == PORT ? source_of(b, e->source) : NULL;
        if (!s || s->worker == worker || e->physical) continue;
        rx_wait wait = {e->offset, (uint32_t)s->worker, (uint32_t)last(&s->writers)};
        uint32_t i = first;
        while (i < *n && !(waits[i].producer == wait.producer && rx__equal(waits[i].offset, wait.offset))) i++;
        if (i == *n) waits[(*n)++] = wait;
        else if (waits[i].writer < wait.writer) waits[i].writer = wait.writer;
    }
}

static inline void write_waits(build *b, int worker)
{
    part *part = &b->parts[worker];
    rx_wait *waits = calloc(MOST * 16, sizeof *waits);
    uint32_t n = 0;
    for (int i = 0; i < part->n_reactions; i++) {
        list reads = reads_of(&b->p->reactions[part->reactions[i]]);
        part->rows[i].waits = n;
        find_waits(b, worker, &reads, waits, &n);
        part->rows[i].n_waits = n - part->rows[i].waits;
        assert(n < MOST * 15);
    }
    part->tables->waits = keep(b, waits, n * sizeof *waits);
    n = 0;
    for (int i = 0; i < b->n_sources; i++) {
        const source *s = &b->sources[i];
        if (s->element >= 0 || s->worker == worker) continue;
        waits[n++] = (rx_wait){s->ways[0].offset, (uint32_t)s->worker, (uint32_t)last(&s->writers)};
    }
    part->tables->stop_waits = keep(b, waits, n * sizeof *waits);
    part->tables->n_stop_waits = n;
    free(waits);
}

static inline void write_cells(build *b, int worker)
{
    part *part = &b->parts[worker];
    program *p = b->p;
    rx_cell *cells = calloc((size_t)part->n_cells, sizeof *cells);
    rx_fan *fans = calloc(MOST * 16, sizeof *fans);
    uint32_t n = 0;
    for (int c = 0; c < part->n_cells; c++) {
        cells[c] = (rx_cell){.fan = n, .source = RX_NONE, .tap = RX_NONE, .action = RX_NONE, .mode = RX_NONE};
        for (int i = 0; i < part->n_reactions; i++) {
            const list *triggers = &p->reactions[part->reactions[i]].triggers;
            int triggered = 0;
            for (int k = 0; k < triggers->n; k++) triggered |= cell_of(b, worker, triggers->at[k]) == c;
            if (!triggered) continue;
            if (n == cells[c].fan || fans[n - 1].word != (uint32_t)part->word_of[i]) fans[n++].word = (uint32_t)part->word_of[i];
            fans[n - 1].mask |= 1ull << part->bit_of[i];
            assert(n < MOST * 16);
        }
        cells[c].n_fan = n - cells[c].fan;
    }
    for (int i = 0; i < part->n_sources; i++) {
        const source *s = part->sources[i];
        if (s->element < 0 || s->row.mode != RX_PLAIN || s->row.bytes) cells[s->cell].source = (uint32_t)s->number;
    }
    rx_timer timers[MOST];
    rx_action actions[MOST];
    uint32_t n_timers = 0;
    for (int door = 0; door < part->n_doors; door++) {
        int e = part->elements[door], cell = part->door_cells[door];
        if (e < 0) continue;
        const element *one = &p->elements[e];
        if (one->kind == TIMER) timers[n_timers++] = (rx_timer){one->first, (uint32_t)cell, 0};
        if (one->period) cells[cell].period = one->period;
        if (part->action_of[e] < 0) continue;
        cells[cell].action = (uint32_t)part->action_of[e];
        actions[part->action_of[e]] =
            (rx_action){one->min_delay, -1, {-1, 0}, (uint32_t)cell, (uint32_t)door, one->kind == PHYSICAL_ACTION, 0, RX_DEFER, 0};
    }
    uint32_t n_taps = 0;
    rx_tap *taps = calloc(MOST * 4, sizeof *taps);
    for (uint32_t sub = 0; sub < b->image->n_subs; sub++)
        for (int i = 0; i < b->n_sources; i++)
            for (int k = 0; k < b->sources[i].n_ways; k++) {
                const way *way = &b->sources[i].ways[k];
                if (way->number != sub || way->worker != worker) continue;
                if (way->cell != (int)RX_STOP) cells[way->cell].tap = n_taps;
                taps[n_taps++] = (rx_tap){way->offset, 0, (uint32_t)way->cell, (uint32_t)way->physical, sub, RX_NONE, 0, 0, 0, {0, 0}};
                assert(n_taps < MOST * 4);
            }
    rx_tables *t = part->tables;
    t->n_timers = n_timers;
    t->n_actions = (uint32_t)part->n_actions;
    t->taps = keep(b, taps, n_taps * sizeof *taps);
    t->timers = keep(b, timers, n_timers * sizeof *timers);
    t->actions = keep(b, actions, (size_t)part->n_actions * sizeof *actions);
    t->fans = keep(b, fans, n * sizeof *fans);
    t->cells = keep(b, cells, (size_t)part->n_cells * sizeof *cells);
    free(cells), free(fans), free(taps);
}

static inline void write_part(build *b, int worker)
{
    part *part = &b->parts[worker];
    rx_tables *t = part->tables = RX_AT(rx_tables, b->base, b->image->tables) + worker;
    rx_source sources[MOST];
    uint64_t visits[MOST] = {0};
    int64_t nothing = -1;
    uint64_t n_doors = (uint64_t)part->n_doors, n_reactions = (uint64_t)part->n_reactions;
    take(b, 0, 128);          /* nothing of two workers on one cache line */
    write_waits(b, worker);
    write_cells(b, worker);
    for (int i = 0; i < part->n_sources; i++) {
        const source *s = part->sources[i];
        sources[i] = s->row;
        sources[i].cell = (uint32_t)s->cell;
        sources[i].writer = (uint32_t)last(&s->writers);
        sources[i].writers = (uint32_t)s->writers.n;
    }
    for (int i = 0; i < part->n_reactions; i++)
        if (part->rows[i].n_waits) visits[part->word_of[i]] |= 1ull << part->bit_of[i];
    t->n_reactions = (uint32_t)n_reactions;
    t->n_words = (uint32_t)part->n_words;
    t->n_cells = (uint32_t)part->n_cells;
    t->n_doors = (uint32_t)n_doors;
    t->n_sources = (uint32_t)part->n_sources;
    t->reactions = keep(b, part->rows, n_reactions * sizeof *part->rows);
    t->lists = keep(b, part->lists, part->n_lists * sizeof *part->lists);
    t->sources = keep(b, sources, (size_t)part->n_sources * sizeof *sources);
    t->first_of_word = keep(b, part->first_of_word, (size_t)part->n_words * 4);
    t->visit_words = keep(b, visits, (size_t)part->n_words * 8);
    t->door_cells = keep(b, part->door_cells, n_doors * 4);
    t->doors = take(b, n_doors, 64);
    t->where = take(b, n_doors * 8, 64);
    t->low = take(b, n_doors * 8, 64);
    t->batch = take(b, n_reactions * 4, 64);
    t->stats = take(b, n_reactions * sizeof(rx_stats), 64);
    t->now = take(b, sizeof(rx_tag), 64);
    t->current = keep(b, &nothing, 8);
    t->n_trace = b->p->trace;
    if (t->n_trace) t->trace = take(b, 64 + t->n_trace * sizeof(rx_span), 64);
    t->shutdown = 1;
    t->physical = (uint32_t)part->physical;
    t->inbox_capacity = b->p->inbox ? b->p->inbox : 1024;
    int hears = 0;
    for (int e = 0; e < b->p->n_elements; e++) hears |= b->p->elements[e].kind == PHYSICAL_ACTION && part->action_of[e] >= 0;
    if (!hears) return;
    t->inbox = take(b, rx_inbox_bytes(t->inbox_capacity), 64);
    rx_inbox_init(b->base, t->inbox, t->inbox_capacity);
}

static inline build *lay_out(program *p)
{
    build *b = calloc(1, sizeof *b);
    int n = p->workers;
    b->p = p;
    b->fd = memfd_create("reactors test", MFD_CLOEXEC);
    assert(b->fd >= 0 && !ftruncate(b->fd, ARENA));
    b->base = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
    assert(b->base != MAP_FAILED);
    b->image = rx__image(b->base);
    find_levels(p);
    find_sources(b);
    open_doors(b);
    plan_values(b);
    rx_image *image = b->image;
    take(b, sizeof *image, 64);
    image->workers = (uint32_t)n;
    image->fast = !p->real_time && !p->virtual_time;
    image->virtual_time = (uint32_t)p->virtual_time;
    image->changes = 1;
    image->keepalive = (uint32_t)p->keepalive;
    image->spin_ns = p->spin_ns;
    image->longest_sleep_ns = p->longest_sleep_ns ? p->longest_sleep_ns : 1000 * PATIENCE_S * 1000000000ll;
    image->max_microsteps = p->max_microsteps;
    image->timeout.time = p->timeout;
    image->n_reactors = (uint32_t)p->n_reactors;
    image->tables = take(b, (uint64_t)n * sizeof(rx_tables), 64);
    image->lines = take(b, (uint64_t)n * sizeof(rx_line), 64);
    image->bells = take(b, (uint64_t)n * sizeof(rx_bell), 64);
    image->rings = take(b, (uint64_t)n * (uint64_t)n * 8, 64);
    image->digests = take(b, (uint64_t)p->n_reactors * 8, 64);
    for (int i = 0; i < n; i++) rx__line(b->base, (uint32_t)i)->passed.time = -1;
    write_delays(b);
    write_values(b);
    write_subs(b);
    for (int i = 0; i < n; i++) write_part(b, i);
    image->size = image->spill = take(b, 0, 4096);
    image->limit = ARENA;
    return b;
}

static inline void discard(build *b)
{
    munmap(b->base, ARENA);
    close(b->fd);
    free(b);
}

#endif
