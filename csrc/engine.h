/* A worker by itself: the sequential engine of its part of the program, one discrete-event simulator.
 *
 * All of it is private to the worker, whose thread alone touches it, and no file that includes this header alone has an
 * atomic operation in it: queue, ready set, pending events, modes, tags, reactions and the loop of a worker that is alone
 * (solo.c). What other workers see of it, and what it knows of them, is in peers.h. Functions are declared below file by
 * file, the lowest first; a file calls its own and those before it (csrc/tests/layers.py sees to that). */
#ifndef RX_ENGINE_H
#define RX_ENGINE_H

#include "arena.h"
#include "clock.h"
#include "queue.h"
#include "ready.h"
#include "tag.h"

typedef void (*rx__native)(void **data, unsigned char *present, void *state);

typedef struct { rx__native function; void *state; } rx__code;

typedef struct {              /* a native reaction: what it is called with, triggers and uses first, then effects */
    rx__code code, late;      /* what runs, and what if the deadline is missed; NULL: not a C function */
    void **data;              /* one block of memory, with the three that follow */
    rx_cell **cells;
    unsigned char *present;
    uint8_t *moves;           /* the value is not always at the same place */
    uint32_t n_reads, ports, all;        /* where its ports and its actions begin, and how many there are of all */
    int plain;                /* nothing moves, nothing that it writes travels */
} rx__call;

typedef struct {              /* virtual time: when what is under way to a tap was sent, in that order */
    int64_t *items;
    uint32_t first, n, capacity, pad;
    int64_t shown;            /* of what was present last */
} rx__clocks;

typedef struct {              /* the processor's counter, as a clock for spans */
    uint64_t first;           /* what it was when it was looked at first; 0: it was not yet */
    int64_t first_ns;         /* the clock then */
    uint64_t count, until;    /* the last time that the clock was asked, and when it is to be again */
    int64_t ns;               /* the clock then */
    uint64_t rate;            /* ns a count, times 2^32 */
} rx__counter;

struct rx_worker {
    /* where the image has what is this worker's */
    uint8_t *base;            /* the arena, as this process maps it */
    rx_image *image;          /* its first bytes */
    rx_tables *t;             /* counts and offsets of what follows */
    rx_bell *bell;            /* its totals, and what others ring */
    rx_reaction *reactions;   /* in rank order */
    rx_cell *cells;           /* what is present or absent at a tag */
    rx_fan *fans;             /* bits of the ready set, as cells name them */
    uint32_t *lists;          /* numbers of doors and subscriptions, as reactions and sources name them */
    uint32_t *first_of_word;  /* by ready word: the reaction of its first bit */
    rx_source *sources;       /* ports whose values travel */
    rx_sub *subs;             /* subscriptions, those of all workers */
    rx_tap *taps;             /* where values arrive here */
    rx_action *actions;       /* what reactions schedule */
    rx_mode *modes;           /* outer ones first */
    rx_modal *modals;       /* modal reactors */
    uint8_t *doors;           /* what the caller sees of a cell: open, present, writable */
    uint64_t *where, *low;    /* by door: where its value is, and before which number values may be forgotten */
    rx_stats *stats;          /* by reaction */
    uint64_t *digests;        /* by reactor */
    rx_tag *now;              /* the caller's copy of `tag` */
    int64_t *current;         /* the reaction being executed, -1 none */
    uint32_t index, workers;  /* which of how many it is */
    int solo;                 /* it is the only one */

    /* the present tag */
    rx_tag tag;               /* being executed if in_tag, else the last one executed */
    uint64_t stamp;           /* count of tags: a cell with this stamp is present */
    uint64_t tag_word;        /* its part of the digest */
    int in_tag;               /* between its beginning and its end */
    int started;              /* rx_start has returned */
    int finished;             /* the stop tag is over */
    int failed;               /* only shutdown reactions still run */
    rx_ready ready;           /* reactions that are yet to run at this tag, or to be looked at */
    uint64_t *triggered;      /* ready bits that mean to run, not only to look */
    uint64_t *enabled;        /* by ready word: reactions of no mode, or of active ones; NULL: there are no modes */
    uint32_t *batch;          /* bodies that are due next to each other, of one level, */
    uint32_t n_batch, at;     /* so many, of which the caller has this one; only its doors are open */
    uint64_t inputs;          /* its part of the digest until it is over */
    int sent;                 /* one of the batch has written what others wait for */
    uint64_t *left;           /* ready bits that a failure leaves */
    uint32_t tags_alone;      /* tags since the caller was there */
    rx_cell **cell_of;        /* by door */
    uint32_t *holds;          /* cells whose values are given back at the end of this tag, or after the last reaction that reads them */
    uint32_t n_holds;
    uint8_t *held;            /* by cell: 1 until then */
    uint32_t *unsent;         /* sources with several writers, written, not sent yet */
    uint32_t n_unsent;

    /* what is pending */
    rx_queue queue;           /* events, by tag */
    rx_soons soon, soon_next; /* those of the next microstep of `tag`, and the list that is used next */
    rx_tag stop;              /* the stop tag as far as known; only falls */
    uint64_t beyond;          /* events that were to happen after it */
    uint64_t *free_values;    /* values of actions: numbers that are free */
    uint32_t n_free, free_capacity;
    uint64_t values;          /* the greatest such number so far */
    uint64_t *unneeded;       /* numbers of values that were sent and that no event needs any more */
    uint32_t n_unneeded, unneeded_capacity;
    uint32_t injected;        /* so many of what is known to come from outside has come, */
    uint32_t replayed;        /* so many of what was recorded, */
    uint32_t coming;          /* and so many of both are yet to come */
    uint64_t runaway;         /* microstep at which to complain next */
    int error;                /* RX_NO_MEMORY, reported by rx_next */

    /* modes */
    rx_queue aside;           /* events of modes that are not active; their tags are what is left of their delays */
    uint32_t *renewed;        /* modes entered by reset that the caller has not heard of */
    uint32_t n_renewed;
    int switching;            /* some reactor wants another mode */

    /* reactions, by number */
    uint64_t *sends;          /* the workers that get something that it writes, a bit each */
    uint8_t *needs_room;      /* it sends, or writes into one of several slots */
    uint8_t *reads_last;      /* it is the last that can read some value that lies in a slot */
    uint32_t *last_reader;    /* by cell: the last reaction that can read its value, if that lies in a slot; else RX_NONE */
    uint8_t *heavy;           /* worth timing each time, each a batch of its own; RX_LONG: it took long the last time */
    rx__call *calls;          /* native ones */

    /* time */
    int64_t clock;            /* last reading, since the start */
    int64_t until;            /* what is waited for, since the start; INT64_MAX: nothing */
    int64_t spin;             /* how long to spin now: between a sixteenth of image->spin_ns and all of it */
    int64_t dispatched;       /* when the reaction began that is timed or traced; 0: neither */
    int32_t until_sample;     /* reactions before one is timed again */
    uint32_t dice;            /* which one that will be */
    rx__clocks *clocks;       /* by tap; NULL: all workers have the same clock */
    uint32_t n_clocks;

    /* the caller */
    int pausing;              /* wants rx_next to return when this tag is over; RX_DUE: it is */
    int watched;              /* wants to look around now and then, even if there is nothing to run */
    int record;               /* where to record what comes from outside; -1: nowhere */
    struct rx__journaling *journal;    /* NULL: what is written is not hashed */

    /* the trace */
    uint64_t spanned;         /* spans in the ring, those of the present tag too */
    uint64_t left_out;        /* of the present tag, because there was no room for all of it */
    rx__counter counter;
};

/* Nothing is pending, not even beyond the stop tag: else it would matter when this worker heard of the stop. */
static inline int rx__idle(const rx_worker *w)
{
    return !w->queue.n && !w->soon.n && !w->beyond && !w->coming;
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

/* A message and an action's value are given back when their event is over. */
static inline int rx__given_back(const rx_cell *cell, uint64_t payload) { return cell->tap != RX_NONE || payload; }

static inline rx_copy *rx__copy_at(uint64_t payload) { return (rx_copy *)(uintptr_t)(payload & ~RX_OUTSIDE); }

enum { RX_LONG = 2, RX_DUE = 2 };

#define RX_LONG_NS 200000      /* other machines, and threads of links, are to know of what takes longer */

/* Heavy ones are timed each time, and a batch would blur that. */
static inline int rx__must_be_alone(const rx_worker *w, uint32_t index)
{
    return w->heavy[index] || (w->reactions[index].flags & RX_ALONE);
}

/* One in about sixteen light reactions is measured; the steps are uneven, so that no rhythm hides anything. */
static inline int rx__sample_now(rx_worker *w)
{
    if (--w->until_sample > 0) return 0;
    w->dice = w->dice * 1664525u + 1013904223u;
    w->until_sample = 9 + (int32_t)(w->dice >> 28);
    return 1;
}

enum { MANY_UNNEEDED = 64 };   /* which may be large, and to fetch them costs a return to the caller */

static inline int rx__many_unneeded(const rx_worker *w) { return w->n_unneeded >= MANY_UNNEEDED ? RX_UNNEEDED : 0; }

/* In fast mode no worker waits for physical time - but a program that lives on events from outside does not run ahead
 * to its timeout while there is nothing else to do. */
static inline int rx__need_not_wait(const rx_worker *w)
{
    return w->image->fast && (w->image->replaying || !(w->image->keepalive && rx__idle(w)));
}

/* ---- clocks.c: virtual time ---- */

int64_t rx__virtual_now(const rx_image *image, uint32_t worker);              /* ns since the start */
void rx__sleep_until(rx_worker *w, int64_t time);             /* its clock shows that, unless it is later already */
void rx__note_clock(rx_worker *w, uint32_t tap, int64_t clock);               /* of something that is sent there */
void rx__show_clock(rx_worker *w, uint32_t tap);              /* of the next thing that was */

/* Physical time, ns since the start. */
static inline int64_t rx__now(const rx_worker *w)
{
    return w->image->virtual_time ? rx__virtual_now(w->image, w->index) : rx__clock() - w->image->start_ns;
}

/* ---- spans.c ---- */

int64_t rx__moment(rx_worker *w);                             /* the clock, in a trace a cheaper one */

typedef struct { uint32_t kind, reaction, worker; } rx__why;  /* RX_WAITED_..., who waits, for whom; or RX_NONE */

void rx__span(rx_worker *w, uint32_t index, int64_t start, int64_t end, int late);
rx__why rx__why_waiting(const rx_worker *w);
void rx__span_of_wait(rx_worker *w, rx__why why, int64_t start, int64_t end);
void rx__show_spans(rx_worker *w);                            /* the tag is over */

/* ---- values.c ---- */

int rx__room(rx_worker *w, rx_source *s);                     /* 1: the next value has a slot */
uint64_t rx__copy(const void *from, uint64_t bytes, uint64_t kind); /* payload of a copy outside the slots; 0: no memory */
uint64_t rx__move_out(rx_worker *w, const rx_sub *sub, uint64_t slot);        /* likewise, and the slot is given back; [slot] if 0 */
void rx__free_copy(uint64_t payload);                         /* if it is one */
void rx__share(rx_worker *w, const rx_sub *sub, uint64_t payload);            /* all of its taps need the value */
uint64_t rx__carried(rx_worker *w, rx_source *s);             /* payload of what was written, for all subscriptions */
uint64_t rx__lowest_needed(const rx_worker *w, const rx_source *s);           /* RX_SEQUENCE */
void *rx__value(rx_worker *w, const rx_cell *cell, uint32_t tap);
void rx__release(rx_worker *w, uint32_t tap, uint64_t payload);
void rx__give_back(rx_worker *w, uint32_t cell);              /* what it holds, if it has not been given back yet */

/* ---- record.c ---- */

void rx__log_action(rx_worker *w, const rx_cell *cell);
void rx__log_arrival(rx_worker *w, const rx_tap *tap, rx_tag arrival);
void rx__log_late(rx_worker *w, uint32_t reaction);
int rx__next_replayed(rx_worker *w, uint32_t *cell, uint64_t *payload);       /* 1: an event of this tag */
int rx__was_late(rx_worker *w, uint32_t reaction);

/* ---- journal.c ---- */

int rx__open_journal(rx_worker *w);                           /* RX_NO_MEMORY or 0 */
void rx__close_journal(rx_worker *w);
void rx__journal(rx_worker *w, uint32_t index, int late);     /* a reaction has run, and what it wrote is there */
void rx__note_scheduled(rx_worker *w, const rx_action *action, int64_t delay);

/* ---- pending.c ---- */

rx_tag rx__own_next(const rx_worker *w);
uint64_t rx__idleness(const rx_worker *w);                    /* between two tags: RX_BUSY, RX_IDLE, RX_EXPECTS */
void rx__forget(rx_worker *w, uint32_t cell, uint64_t payload);               /* of an event that will not happen */
int rx__queue(rx_worker *w, rx_tag tag, uint32_t cell, uint64_t payload);      /* 0: the payload is not kept */
int rx__accept(rx_worker *w, uint32_t action, rx_tag tag, uint64_t payload);  /* 0: the payload is not kept */
void rx__schedule(rx_worker *w, uint32_t action, int64_t delay, uint64_t payload);
int rx__inject(rx_worker *w);

/* ---- modes.c ---- */

void rx__start_modes(rx_worker *w);
void rx__switch_modes(rx_worker *w);
void rx__shut_modes(rx_worker *w);

/* ---- tags.c ---- */

void rx__start_events(rx_worker *w);
void rx__deliver(rx_worker *w, uint32_t cell, rx_tag nominal, uint64_t payload);
void rx__start_tag(rx_worker *w, rx_tag g);
void rx__end_tag(rx_worker *w);
int rx__aside(rx_worker *w);                                  /* between two tags: RX_RENEWED, RX_PAUSED or 0 */
int rx__runaway(rx_worker *w);                                /* 1: time has stood still for too long */

/* ---- park.c, bell.c: waiting, and waking others ---- */

int rx__wait(rx_worker *w, int (*done)(rx_worker *));         /* what done returned, or RX_ABORTED, RX_INTERRUPTED */
int rx__aborted(const rx_worker *w);

/* ---- channel.c: to and from other workers, and this one ---- */

int rx__rings_have_room(rx_worker *w, uint64_t consumers);    /* 1: all that this tag may bring for them fits */
void rx__commit(rx_worker *w, uint32_t source, int64_t clock);        /* written when the clock showed that; virtual time only */
void rx__commit_before(rx_worker *w, uint64_t position);      /* what waited for writers before that reaction */
int rx__drain(rx_worker *w);                                  /* what has come is taken: how many */
void rx__leave_tag(rx_worker *w);

/* ---- reaction.c ---- */

int rx__find_slots(rx_worker *w, uint32_t index);             /* for what it may write, that none reads any more; 0: not for all */
int rx__find_room(rx_worker *w, uint32_t index);              /* for what it may write and send; 0: there is none yet */
int64_t rx__dispatch(rx_worker *w, uint32_t index, int timed);        /* what to run, or RX_RAN: it was native */
int64_t rx__dispatch_batch(rx_worker *w);                     /* the first of those in w->batch */
int64_t rx__enter(rx_worker *w);                              /* opens the doors of one that is due */
void rx__run_native(rx_worker *w, const rx_reaction *r, uint32_t index);
int rx__run_unheard(rx_worker *w, uint32_t index);            /* after a failure: what it sets goes nowhere; 0: it is not native */
void rx__end_call(rx__call *call);
void rx__shut_doors(rx_worker *w, const rx_reaction *r);
int64_t rx__finish(rx_worker *w);                             /* what ran is over: the next of its batch, or RX_RAN */

/* ---- solo.c ---- */

int64_t rx__next_alone(rx_worker *w);                         /* what to run next, or why nothing */

#endif
