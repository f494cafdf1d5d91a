/* Random programs, and where their reactors may be: for tests that compare what they mean here
 * and there. */
#ifndef RANDOM_H
#define RANDOM_H

#include "run.h"

static uint64_t dice_state;

static inline uint64_t dice(uint64_t n)         /* below n */
{
    dice_state = mixed(dice_state + 0x9E3779B97F4A7C15ull, 0x632BE59BD9B4E019ull);
    return dice_state % n;
}

static inline int yes(uint64_t percent) { return dice(100) < percent; }
#define ONE_OF(...) ((int64_t[]){__VA_ARGS__}[dice(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))])

static inline rx_tag some_delay(void)
{
    int64_t time = ONE_OF(0, 0, 0, 1, 2, 5, 20);
    return rx__tag(time, time ? (uint64_t)ONE_OF(0, 0, 0, 1) : (uint64_t)ONE_OF(1, 1, 1, 2, 3));
}

/* An input of [r] from any port that there is. Without a delay it takes only ports that no later reaction writes, which
 * [read] then rules out: so the order of declaration is one that every tag may follow. */
static inline int some_input(program *p, int r, const list *ports, unsigned char *read)
{
    int port = ports->at[dice((uint64_t)ports->n)];
    if (yes(35)) return input(p, r, port, some_delay());
    read[port] = 1;
    return input(p, r, port, AT_ONCE);
}

static inline void add_reaction(program *p, int r, const list *ports, unsigned char *read, int ends)
{
    list triggers = NOTHING, uses = NOTHING, effects = NOTHING;
    for (int n = 1 + (int)dice(3); n; n--)
        if (yes(60)) add(&triggers, some_input(p, r, ports, read));
    for (int e = 0; e < p->n_elements; e++) {
        const element *one = &p->elements[e];
        if (one->reactor != r) continue;
        if ((one->kind == TIMER || one->kind == ACTION) && yes(40)) add(&triggers, e);
        if (one->kind == STARTUP && yes(25)) add(&triggers, e);
        if (one->kind == SHUTDOWN && yes(15)) add(&triggers, e);
    }
    for (int n = (int)dice(3); n; n--)
        if (yes(50)) add(&uses, some_input(p, r, ports, read));
    for (int kind = PORT; kind <= ACTION; kind++)               /* ports come first */
        for (int e = 0; e < p->n_elements; e++) {
            const element *one = &p->elements[e];
            if (one->reactor != r || one->kind != (unsigned)kind || one->kind == TIMER) continue;
            if (one->kind == PORT && (one->source != e || read[e])) continue;
            if (yes(70)) add(&effects, e);
        }
    if (!triggers.n) add(&triggers, p->startup[r]);
    int number = react(p, r, triggers, uses, effects, NULL, NULL);
    if (ends && yes(12)) p->reactions[number].stop = yes(60) ? rx__tag(0, 1) : rx__tag(ONE_OF(1, 4, 30), 0);
    p->reactions[number].native = yes(60) ? 1 + yes(30) : 0;
    if (yes(15)) p->reactions[number].deadline = yes(60) ? 0 : INT64_MAX - 1;
}

static inline program *random_program(uint64_t seed)
{
    program *p = new_program();
    unsigned char read[MOST] = {0};
    list ports = NOTHING;
    dice_state = seed;
    int reactors = 2 + (int)dice(9), ends = yes(40), timed = yes(50), left = 0, todo[MOST];
    for (int r = 0; r < reactors; r++) {
        reactor_on(p, 0);
        for (int n = 1 + (int)dice(2); n; n--) {
            uint64_t bytes = (uint64_t)ONE_OF(8, 8, 8, 64, 200, 1000);
            add(&ports, yes(25) ? object_output(p, r, bytes) : output(p, r, bytes));
        }
        for (int n = (int)dice(3); n; n--) timer(p, r, ONE_OF(0, 0, 1, 3, 7), timed ? ONE_OF(0, 1, 2, 3, 7, 10) : 0);
        for (int n = (int)dice(2); n; n--) action(p, r, ONE_OF(0, 0, 1, 4));
        todo[r] = 1 + (int)dice(4);
        left += todo[r];
    }
    if (yes(30)) {                       /* ports of one size side by side */
        list block = NOTHING;
        for (int k = 0; k < ports.n; k++)
            if (!p->elements[ports.at[k]].object && p->elements[ports.at[k]].bytes == 8) add(&block, ports.at[k]);
        p->blocks[0] = block;
        p->n_blocks = block.n > 1;
    }
    for (; left; left--) {
        int r;
        do r = (int)dice((uint64_t)reactors); while (!todo[r]);
        todo[r]--;
        add_reaction(p, r, &ports, read, ends);
    }
    for (int i = 0; i < p->n_blocks; i++) {                     /* only what a reaction writes has a place in a block */
        list block = NOTHING;
        for (int k = 0; k < p->blocks[i].n; k++)
            for (int n = 0; n < p->n_reactions; n++) {
                const list *effects = &p->reactions[n].effects;
                int writes = 0;
                for (int j = 0; j < effects->n; j++) writes |= effects->at[j] == p->blocks[i].at[k];
                if (!writes) continue;
                add(&block, p->blocks[i].at[k]);
                break;
            }
        p->blocks[i] = block;
        if (block.n < 2) p->n_blocks = 0;
    }
    if (timed || yes(20)) p->timeout = ONE_OF(0, 3, 20, 60);
    p->few_slots = yes(30);
    return p;
}

static inline void place(program *p, int workers)
{
    int mixed = yes(50);
    p->workers = workers;
    for (int r = 0; r < p->n_reactors; r++) p->placement[r] = mixed ? (int)dice((uint64_t)workers) : r * workers / p->n_reactors;
    p->ring = yes(40) ? (uint32_t)ONE_OF(1, 2, 4, 16) : 0;
    p->spin_ns = yes(50) ? 0 : ONE_OF(1000, 20000);
    p->virtual_time = yes(25);
}

#endif
