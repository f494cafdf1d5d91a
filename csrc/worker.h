/* One worker: the sequential engine of its part of the program. Everything here is private to the worker, whose
 * thread alone touches it; what others see of it is its rx_line, its rings, its slots and its inbox. */
#ifndef RX_WORKER_H
#define RX_WORKER_H

#include "arena.h"
#include "clock.h"
#include "queue.h"
#include "ready.h"
#include "shared.h"

#define RX_MAX_WORKERS 64

typedef struct rx__ring rx__ring;
typedef struct rx__inbox rx__inbox;
typedef void (*rx__native)(void **data, unsigned char *present, void *state);

typedef struct {              /* a native reaction: what it is called with, triggers and uses first, then effects */
    rx__native function;
    void *state;
    void **data;
    unsigned char *present;
    rx_cell **cells;
    uint8_t *moves;           /* the value is not always at the same place */
} rx__call;

typedef struct {              /* virtual time: when what is under way to a tap was sent, in that order */
    int64_t *items;
    uint32_t first, n, capacity, pad;
    int64_t shown;            /* of what was present last */
} rx__clocks;

typedef struct { uint64_t payload; uint32_t tap, pad; } rx__hold;   /* tap RX_NONE: a value of an action */

struct rx_worker {
    /* the image */
    uint8_t *base;
    rx_image *image;
    rx_tables *t;
    rx_line *line;
    rx_bell *bell;
    rx_reaction *reactions;
    rx_cell *cells;
    rx_fan *fans;
    uint32_t *lists, *first_of_word, *batch;
    rx_cell **cell_of;        /* by door */
    rx_source *sources;
    rx_sub *subs;
    rx_tap *taps;
    rx_wait *waits, *stop_waits;
    rx_action *actions;
    uint8_t *doors;
    uint64_t *where, *low, *digests, *visit_words;
    rx_stats *stats;
    rx_tag *now;
    int64_t *current;
    uint32_t index, workers;

    /* the present tag */
    rx_tag tag;               /* being executed if in_tag, else the last one executed */
    uint64_t stamp;           /* count of tags: a cell with this stamp is present */
    uint64_t tag_word;        /* its part of the digest */
    int in_tag, started, finished, failed;
    int solo;                 /* the only worker: no line, no ring, no atomic */
    rx_ready ready;
    uint64_t *triggered;      /* ready bits that mean to run, not only to look */
    uint32_t n_batch;
    uint64_t *partial;        /* the digest of a batch's inputs */
    uint64_t position;        /* reactions before this one are done at this tag */

    /* what is pending */
    rx_heap heap;
    rx_soons soon, soon_next; /* the next microstep of `tag` */
    uint64_t order;
    rx_tag stop;              /* the stop tag as far as known; only falls */
    uint64_t beyond;          /* events that were to happen after it */
    rx__hold *holds;          /* values in use at this tag, given back at its end */
    uint32_t n_holds, holds_capacity;
    uint32_t *unsent;         /* sources with several writers, written, not sent yet */
    uint32_t n_unsent;
    uint64_t *free_values;    /* values of actions: numbers that are free */
    uint32_t n_free, free_capacity;
    uint64_t values;
    int error;                /* RX_NO_MEMORY, reported by rx_next */

    /* modes */
    rx_mode *modes;
    rx_machine *machines;
    uint64_t *enabled;        /* by ready word: reactions of no mode, or of active ones; NULL: there are no modes */
    rx_heap aside;            /* events of modes that are not active, in any order; their tags are what is left of their delays */
    uint32_t *renewed;        /* modes entered by reset that the caller has not heard of */
    uint32_t n_renewed;
    int switching;            /* some reactor wants another mode */

    /* whoever calls */
    int pausing;              /* wants rx_next to return when this tag is over */
    int watched;              /* wants to look around now and then, even if there is nothing to run */

    /* the others */
    rx__ring **in, **out;     /* by worker; NULL where nothing flows */
    rx_tag *delays, *direct;  /* D[i][j]; least offset of a subscription i -> j */
    rx_tag head;              /* as published */
    rx_tag bound;             /* own events before or at it may be executed: it never falls */
    rx_tag may[RX_MAX_WORKERS];       /* the least tag at which each worker may still act: never falls */
    rx_tag passed[RX_MAX_WORKERS];    /* as last read */
    uint64_t rank[RX_MAX_WORKERS];
    rx_tag own[RX_MAX_WORKERS];       /* of the last snapshot: head, unread messages, and what may come from outside */
    rx_tag events[RX_MAX_WORKERS];    /* of these, what is there already */
    uint8_t mate[RX_MAX_WORKERS];
    rx_tag tag_to_begin;
    int n_mates, idle_everywhere, stop_is_certain, knows_starved;
    int looked;               /* at others since the rings were last emptied: what they did before may be in there */
    int visiting;             /* at this tag something may still come from others */
    uint64_t *sends;          /* by reaction: the workers that get something that it writes */
    uint64_t *senders;        /* by reaction: those before it up to the last that sends */
    uint8_t *needs_room;      /* by reaction: it sends, or writes into one of several slots */
    uint32_t most[RX_MAX_WORKERS];    /* messages that a tag may bring for each worker */
    uint64_t roomy;           /* workers whose rings have room for those of this tag */
    const rx_wait *waiting_for;
    uint32_t wants;           /* as in rx_bell: what it waits for */
    rx_tag want;
    uint64_t want_rank;
    uint64_t sent_to;         /* workers that were sent something since the last rx__wake */
    uint32_t wants_room;      /* the reaction that waits for it */

    /* time */
    int64_t clock;            /* last reading, since the start */
    rx__clocks *clocks;       /* by tap; NULL: all workers have the same clock */
    uint32_t n_clocks;
    uint32_t injected;        /* so many of what is known to come from outside has come, */
    uint32_t replayed;        /* so many of what was recorded, */
    uint32_t coming;          /* and so many of both are yet to come */
    int record;               /* where to record what comes from outside; -1: nowhere */
    int64_t spin;             /* how long to spin now: between a sixteenth of image->spin_ns and all of it */
    int64_t until;            /* what is waited for, since the start; INT64_MAX: nothing */
    int64_t dispatched;       /* when the reaction being timed began; 0: not timed */
    int32_t until_sample;
    uint32_t dice;
    uint8_t *heavy;           /* reactions worth timing each time, each a batch of its own */
    rx__call *calls;          /* native reactions, by reaction; NULL: none */
    uint64_t runaway;         /* microstep at which to complain next */
};

/* Nothing is pending, not even beyond the stop tag: else it would matter when this worker heard of the stop. */
static inline int rx__idle(const rx_worker *w)
{
    return !w->heap.n && !w->soon.n && !w->beyond && !w->coming;
}

/* Physical time, ns since the start. */
static inline int64_t rx__now(const rx_worker *w)
{
    if (!w->image->virtual_time) return rx__clock() - w->image->start_ns;
    int64_t now = (int64_t)rx__get((const uint64_t *)&w->image->now);
    int64_t slept = (int64_t)rx__get((const uint64_t *)&w->bell->slept);
    return now > slept ? now : slept;
}

static inline uint64_t rx__mix(uint64_t h, uint64_t x)
{
    uint64_t y = (h ^ x) * 0x9FB21C651E98DF25ull;
    return y ^ (y >> 32);
}

static inline void rx__trigger(rx_worker *w, const rx_cell *cell)
{
    for (const rx_fan *f = w->fans + cell->fan, *end = f + cell->n_fan; f < end; f++) {
        uint64_t mask = w->enabled ? f->mask & w->enabled[f->word] : f->mask;
        if (!mask) continue;
        rx__ready_add(&w->ready, f->word, mask);
        w->triggered[f->word] |= mask;
    }
}

/* Heavy ones are timed each time, and a batch would blur that. */
static inline int rx__must_be_alone(const rx_worker *w, uint32_t index)
{
    return w->heavy[index] || w->t->trace || (w->reactions[index].flags & RX_ALONE);
}

/* One in about sixteen light reactions is measured; the steps are uneven, so that no rhythm hides anything. */
static inline int rx__sample_now(rx_worker *w)
{
    if (--w->until_sample > 0) return 0;
    w->dice = w->dice * 1664525u + 1013904223u;
    w->until_sample = 9 + (int32_t)(w->dice >> 28);
    return 1;
}

/* In fast mode nobody waits for physical time - but a program that lives on events from outside does not run ahead
 * to its timeout while there is nothing else to do. */
static inline int rx__need_not_wait(const rx_worker *w)
{
    return w->image->fast && (w->image->replaying || !(w->image->keepalive && rx__idle(w)));
}

/* worker.c */
int64_t rx__stopped(rx_worker *w);
int rx__aside(rx_worker *w);                                  /* between two tags: RX_RENEWED, RX_PAUSED or 0 */
int rx__runaway(rx_worker *w);                                /* 1: time has stood still for too long */

/* solo.c, team.c: what to run next, or why nothing */
int64_t rx__next_alone(rx_worker *w);
int64_t rx__next_together(rx_worker *w);
void rx__progress(rx_worker *w, uint64_t position);

/* events.c */
void rx__queue(rx_worker *w, rx_tag tag, uint32_t cell, uint64_t payload);
void rx__forget(rx_worker *w, uint32_t cell, uint64_t payload);   /* of an event that will not happen */
void rx__deliver(rx_worker *w, uint32_t cell, rx_tag nominal, uint64_t payload);
rx_tag rx__own_next(const rx_worker *w);
void rx__start_events(rx_worker *w);
void rx__start_tag(rx_worker *w, rx_tag g);
void rx__end_tag(rx_worker *w);
void rx__schedule(rx_worker *w, uint32_t action, int64_t delay, uint64_t payload);
int rx__inject(rx_worker *w);
int rx__accept(rx_worker *w, uint32_t action, rx_tag tag, uint64_t payload);     /* 0: the payload is not kept */

/* record.c */
void rx__log_action(rx_worker *w, const rx_cell *cell);
void rx__log_arrival(rx_worker *w, const rx_tap *tap, rx_tag arrival);
void rx__log_late(rx_worker *w, uint32_t reaction);
int rx__next_replayed(rx_worker *w, uint32_t *cell, uint64_t *payload);      /* 1: an event of this tag */
int rx__was_late(rx_worker *w, uint32_t reaction);

/* modes.c */
void rx__start_modes(rx_worker *w);
void rx__switch_modes(rx_worker *w);
void rx__shut_modes(rx_worker *w);

/* reaction.c */
int rx__find_room(rx_worker *w, uint32_t index);              /* for what it may write and send; 0: there is none yet */
int rx__room_now(rx_worker *w);                               /* asks again */
int64_t rx__dispatch(rx_worker *w, uint32_t index, int timed);
void rx__dispatch_with_others(rx_worker *w, uint32_t index);  /* in a batch */
void rx__run_native(rx_worker *w, const rx_reaction *r, uint32_t index);
void rx__end_call(rx__call *call);
void rx__shut_doors(rx_worker *w, const rx_reaction *r);
int rx__finish(rx_worker *w);                                 /* 1: something was written that others wait for */

/* channel.c */
void rx__show_clock(rx_worker *w, uint32_t tap);              /* of the next thing that was sent there */
uint64_t rx__copy(const void *from, uint64_t bytes);          /* payload of a copy outside the ring; 0: no memory */
void rx__commit(rx_worker *w, uint32_t source, int64_t clock); /* written when the clock showed that; virtual time only */
int rx__drain(rx_worker *w);                                  /* messages taken */
void rx__release(rx_worker *w, uint32_t tap, uint64_t payload);
int rx__room(rx_worker *w, rx_source *s);                     /* 1: the next value has a slot */
int rx__rings_have_room(rx_worker *w, uint64_t consumers);    /* 1: all that this tag may bring for them fits */
void *rx__value(rx_worker *w, const rx_cell *cell, uint32_t tap);
int rx__ring_first(rx__ring *ring, rx_tag *sent);             /* 0: nothing unread */

/* frontier.c */
void rx__publish(rx_worker *w, rx_tag head, rx_tag passed, uint64_t rank);
void rx__snapshot(rx_worker *w);
int rx__covered(rx_worker *w, const rx_wait *wait, rx_tag g); /* by what is known; 1 yes */
void rx__look_at(rx_worker *w, uint32_t other);

/* park.c */
int rx__wait(rx_worker *w, int (*done)(rx_worker *w));        /* what done returned, or RX_ABORTED, RX_INTERRUPTED */
void rx__wake(rx_worker *w);
void rx__changed(rx_worker *w);                               /* virtual time: something that may end a wait */
void rx__ring_bell(void *base, uint32_t worker);
void rx__ring_all(void *base);

/* inbox.c */
int rx__inbox_drain(rx_worker *w);
int rx__inbox_quiet(const rx__inbox *inbox);
rx__inbox *rx__inbox_of(void *base, uint32_t worker);
void rx__inbox_state(rx_worker *w, uint32_t state);

#endif
