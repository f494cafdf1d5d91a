/* A program that hears from outside on every second worker, and the threads that send to it. One reactor counts what all
 * of them heard, at the tag at which they heard it, and stops when it has all. */
#ifndef OUTSIDE_H
#define OUTSIDE_H

#include "run.h"

enum { SENDERS = 4, EACH = 100 };

typedef struct { run *run; uint32_t worker; pthread_t thread; } sender;

typedef struct { int inputs; uint64_t n; rx_tag last; } ear;

static inline void *send_each(void *argument)
{
    const sender *s = argument;
    for (int sent = 0; sent < EACH;) {
        sent += rx_send(s->run->b->base, s->run->b->fd, s->worker, 0, 0, 1, NULL, 0) == 1;
        sched_yield();
    }
    return NULL;
}

static inline void hear(void **data, unsigned char *present, void *state)
{
    ear *e = state;
    assert(rx__less(e->last, now()));
    e->last = now();
    for (int k = 0; k < e->inputs; k++)
        if (present[k]) e->n += filled(data[k], 8);
    present[e->inputs] = e->n == SENDERS * EACH;     /* all are here: stop */
}

static inline void pass_on(void **data, unsigned char *present, void *state)
{
    (void)state;
    fill(data[1], 8, 1);
    present[1] = 1;
}

static inline void ignore(void **data, unsigned char *present, void *state) { (void)data, (void)present, (void)state; }

static inline program *outside_program(int workers, ear *e)
{
    program *p = new_program();
    int last = 0;
    list all = NOTHING;
    *e = (ear){.inputs = workers, .last = {-1, 0}};
    for (int k = 0; k < workers; k++) {
        int r = reactor_on(p, k), out = output(p, r, 8);
        react(p, r, OF(k % 2 ? physical_action(p, r, 0) : timer(p, r, 0, 0)), NOTHING, OF(out), k % 2 ? pass_on : ignore, NULL);
        add(&all, out);
        last = r;
    }
    for (int k = 0; k < workers; k++) all.at[k] = input(p, last, all.at[k], AT_ONCE);
    react(p, last, all, NOTHING, NOTHING, hear, e);
    p->reactions[p->n_reactions - 1].stop = rx__tag(0, 1);
    p->workers = workers;
    p->keepalive = 1;
    p->inbox = 8;
    return p;
}

static inline void start_sending(sender *s, run *r, uint32_t worker)
{
    *s = (sender){.run = r, .worker = worker};
    assert(!pthread_create(&s->thread, NULL, send_each, s));
}

#endif
