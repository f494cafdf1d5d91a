/* A worker among others: what they see of it, and what it knows of them.
 *
 * Files that include this header share memory with other workers: through lines (a seqlock each), rings (queues of one
 * producer and one consumer), counts of values in use, inboxes, bells. The synchronisation is conservative: no worker
 * begins a tag before it is certain that nothing earlier can still reach it (Chandy and Misra), and the delays of
 * connections are its lookahead. */
#ifndef RX_PEERS_H
#define RX_PEERS_H

#include "engine.h"
#include "ring.h"
#include "shared.h"

typedef struct rx__inbox rx__inbox;

typedef struct {
    rx_worker self;           /* first: a pointer to it is one to all */

    /* what is between it and others */
    rx_line *line;            /* what it publishes */
    rx__ring **in, **out;     /* by worker; NULL where nothing flows */
    rx_tag *delays, *direct;  /* D[i][j], the shortest way; the least offset of a subscription i -> j */
    rx_wait *waits;           /* what must be complete before a reaction runs, as reactions name it */
    rx_wait *stop_waits;      /* and before a tag begins */
    uint64_t *visit_words;    /* ready bits of reactions that are looked at in every tag */
    uint64_t *senders;        /* by reaction: those before it up to the last that sends */
    uint32_t most[RX_MOST_WORKERS];    /* messages that a tag may bring for each worker */
    uint8_t mate[RX_MOST_WORKERS];     /* there is a cycle without delay with this worker */
    int n_mates;              /* how many of them */

    /* what it has published */
    rx_tag head;              /* the tag being executed, else its earliest event */
    uint64_t position;        /* reactions before this one are done at this tag */
    uint64_t sent_to;         /* workers that were sent something since the last rx__wake */
    uint32_t untold;          /* tags that have ended since it last published what was done */

    /* what it knows of others */
    rx_tag bound;             /* own events before or at it may be executed: it never falls */
    rx_tag may[RX_MOST_WORKERS];       /* the least tag at which each worker may still act: never falls */
    rx_tag passed[RX_MOST_WORKERS];    /* as last read: everything before this tag is done there, */
    uint64_t rank[RX_MOST_WORKERS];    /* and at it every reaction before this one */
    rx_tag own[RX_MOST_WORKERS];       /* of the last snapshot: head, unread messages, and what may come from outside */
    rx_tag events[RX_MOST_WORKERS];    /* of these, what is there already */
    int idle_everywhere;      /* in that snapshot no worker had an event, and no ring a message */
    int stop_is_certain;      /* in that snapshot some worker had an event at the stop tag, or was there */
    int knows_starved;        /* it has learnt that the program starves, and when it stops therefore */
    int looked;               /* at others since the rings were last emptied: what they did before may be in there */

    /* links to other machines */
    rx_link *links[RX_MOST_WORKERS];
    uint32_t n_links;
    uint64_t across;          /* workers behind them */
    int to_tell;              /* what it published since it told them last: RX_WORD, or RX_MESSAGE besides */
    int64_t busy;             /* clock since when it did nothing for them */
    int listens;              /* it counts as one who hears */

    /* where it is */
    uint32_t core;            /* as it shows it */
    uint32_t in_the_way;      /* the last so many waits found another worker there */
    uint32_t patience;        /* how many of them before it moves off */

    /* what it waits for */
    rx_tag tag_to_begin;      /* what the last wait for a tag has found */
    const rx_wait *waiting_for;       /* whom a reaction waits for */
    uint32_t waiting;         /* the reaction that waits for them, or for room */
    uint32_t wants;           /* as in rx_bell, for those who wake it */
    uint32_t producer;
    rx_tag want;
    uint64_t want_rank;

    /* the present tag */
    int visiting;             /* something may still come from others */
    uint64_t roomy;           /* workers whose rings have room for those messages */
} rx_peers;

static inline rx_peers *rx__peers(rx_worker *w) { return (rx_peers *)w; }
static inline const rx_peers *rx__peers_of(const rx_worker *w) { return (const rx_peers *)w; }

/* ---- cores.c ---- */

enum { RX_PATIENCE = 4 };

void rx__show_core(rx_worker *w);
int rx__in_the_way(const rx_worker *w);                       /* 1: one that is awake was last seen here, so it does not run */
int rx__make_way(rx_worker *w);                               /* 1: this worker is elsewhere now */
void rx__note_wait(rx_worker *w, int in_the_way);             /* it is over */

/* ---- bell.c ---- */

enum { RX_WORD = 1, RX_MESSAGE = 2 };

void rx__wake(rx_worker *w);                                  /* those whom the last thing that was published concerns */
void rx__changed(rx_worker *w);                               /* virtual time: something that may end a wait */
int rx__all_wait(void *base, uint64_t changes, int64_t *until);       /* all here have looked in vain since then; for nothing before */
uint32_t rx__timekeeper(const rx_image *image);               /* whose bell wakes the thread that looks whether all machines wait */
void rx__ring_bell(void *base, uint32_t worker);
void rx__ring_all(void *base);
int rx__sleep(uint32_t *word, uint32_t value, int64_t ns);    /* while the futex has that value, until it is roused; errno or 0 */
void rx__rouse(uint32_t *word);

/* ---- line.c ---- */

void rx__publish(rx_worker *w, rx_tag head, rx_tag passed, uint64_t rank);
void rx__look_at(rx_worker *w, uint32_t other);

/* ---- inbox.c ---- */

int rx__inbox_drain(rx_worker *w);
int rx__inbox_quiet(const rx__inbox *inbox);
rx__inbox *rx__inbox_of(void *base, uint32_t worker);
void rx__inbox_state(rx_worker *w, uint32_t state);

/* ---- frontier.c ---- */

int rx__snapshot(rx_worker *w);                               /* 0: what is known of other machines is not of one moment */
rx_tag rx__head_with_outside(void *base, uint32_t worker, rx_tag head, rx_tag passed, int64_t clock);
int rx__covered(rx_worker *w, const rx_wait *wait, rx_tag g); /* by what is known; 1 yes */

/* ---- across.c: all do nothing where there is no link ---- */

void rx__end_links(rx_worker *w);
void rx__tell_across(rx_worker *w);
void rx__hear_across(rx_worker *w);
void rx__stop_hearing(rx_worker *w);
void rx__leave_across(rx_worker *w);                          /* tell, and leave it to threads to hear */
void rx__leave_across_if_due(rx_worker *w);                   /* if it was long ago that it told */

/* ---- team.c ---- */

enum { RX_UNTOLD = 16 };      /* so many tags may end before a worker that goes on at once publishes */

void rx__progress(rx_worker *w, uint64_t position);
int64_t rx__next_together(rx_worker *w);                      /* what to run next, or why nothing */

#endif
