/* A link to another machine, which has the same image in an arena of its own: what those know who use it.
 *
 * Workers there have lines and rings here like those of this machine, only that the one who hears from there writes them, in the
 * order in which it hears of them: first messages, then the state that counts them as sent. Rings to workers there are full
 * of what their machine has not acknowledged, so a message on its way is an unread one. A state is that of all workers of its
 * machine at one moment.
 *
 * Two threads use a link, and the workers of this machine, in processes of their own: a worker that is about to wait tells
 * what it did, and one that looks on instead of sleeping hears what there is. What they have in common lies in the arena, so
 * each goes on where the one before has stopped, in the middle of a value if need be. The threads are for what no worker
 * does: to tell while a socket is full, to hear while all workers are busy or asleep, to be heard of in silence. */
#ifndef RX_LINK_H
#define RX_LINK_H

#include <pthread.h>

#include "arena.h"
#include "frames.h"
#include "peers.h"
#include "ring.h"
#include "shared.h"

typedef struct { uint32_t producer, consumer; } rx__pair;

typedef struct {              /* a value that came over the link, in a slot here */
    uint32_t sub, slot;
    uint32_t count;           /* messages that brought it; 0: it is not here */
} rx__held;

typedef struct {              /* in the arena, followed by the arrays that rx_link points to */
    /* of who tells, by the lock */
    pthread_mutex_t telling;
    uint32_t untold;          /* there is something to tell that may be newer than the last look; who unlocks asks */
    uint32_t looked;          /* the state is that of a look of which not all is in the outbox yet */
    uint64_t begin, end;      /* bytes of the outbox that are yet to be sent, */
    uint64_t direct, direct_left;      /* and behind them a value, from where it lies in the arena */
    uint32_t full;            /* the socket did not take them all */
    uint64_t frames[RX_F_BYE + 1];     /* told so far, by kind */
    int64_t now;              /* virtual time: the clock, as it was told last */

    /* of who hears, by the lock */
    pthread_mutex_t hearing;
    uint64_t first, last;     /* bytes of the inbox that are yet to be understood */
    rx__frame frame;          /* the last one that was; its body is in `body` */
    uint64_t into, into_left; /* the rest of its value: where it goes in the arena, and how much that is */
    uint32_t ready;           /* all workers there were at the start line */

    /* who hears */
    uint32_t listeners;       /* workers that look on */
    uint32_t quiet;           /* futex; 1: one did so since the thread was last called, which sleeps */
    int64_t heard;            /* clock when something came */

    /* of both, by the lock: values from there that are in use here */
    pthread_mutex_t holding;
    uint32_t n_in_use;

    uint32_t ending;          /* all workers here have ended */
    uint32_t said_bye;        /* all workers there have ended, too */
    uint32_t over;            /* what was wrong, or RX_LINKED */
} rx__shared;

struct rx_link {
    void *base;
    rx_image *image;
    int fd, socket;
    uint32_t machine;         /* the other one */
    uint32_t bell;            /* a worker there, whose bell wakes the thread that tells */
    rx__crcs crcs;
    int64_t silence;          /* ns after which the other machine counts as lost */

    /* what both machines know alike; by number, each list in the order of workers */
    uint32_t n_mine, n_theirs;
    uint32_t mine[RX_MOST_WORKERS], theirs[RX_MOST_WORKERS];
    rx__pair *out, *in;       /* rings from here to there, and back */
    rx__pair *sent, *heard;   /* rings from here to third machines, from there to them; */
    rx__pair *taken, *gave;   /* rings from any other machine to here, and to there */
    uint32_t n_out, n_in, n_sent, n_heard, n_taken, n_gave;
    uint32_t *slots_of;       /* by subscription: where the slots of its source begin in what is kept for each slot */
    uint32_t n_slots;
    uint32_t state_size, their_state_size;
    uint32_t quiet_size;
    uint32_t room;            /* the greatest body that may come */

    /* in the arena */
    rx__shared *shared;
    uint64_t *told;           /* by ring out: messages sent, which those who hear read */
    uint64_t *tails;          /* and how many there were at the last look */
    rx_tag *carried;          /* by slot: of which tag the value is that was sent last */
    uint8_t *state, *last;    /* bodies: the present one, and the one that was sent last */
    uint8_t *quiet, *last_quiet;      /* virtual time: bodies, likewise */
    uint8_t *outbox, *inbox;
    uint64_t outbox_room, inbox_room;
    uint8_t *body;            /* of what was heard last */
    uint32_t *lent;           /* by slot: messages that took its value there and are not released yet */
    rx__held *held;           /* by slot */
    uint32_t *in_use;

    /* of who has opened it */
    pthread_t telling, hearing;
    uint32_t started;         /* threads, a bit each */
};

/* ---- linked.c ---- */

enum { RX_DIRECT = 1 << 14 }; /* values of so many bytes and more are sent from where they are */

rx_link *rx__link_made(void *base, int fd, uint32_t machine, int socket);    /* shared with others if there is such a link; NULL: no memory */
void rx__link_freed(rx_link *l);
int rx__is_mine(const rx_link *l, uint32_t worker);
rx__ring *rx__ring_between(const rx_link *l, uint32_t producer, uint32_t consumer);    /* where something flows */
int rx__lock(rx_link *l, pthread_mutex_t *lock);
int rx__try_lock(rx_link *l, pthread_mutex_t *lock);          /* 0: another has it */
int rx__is_up(const rx_link *l);                              /* nothing is wrong with it */
void rx__link_over(rx_link *l, uint32_t why);                 /* unless it is over already */
void rx__start_together(rx_link *l);                          /* machine 0: once all workers of all machines are at the start line */
void rx__start_with_first(rx_link *l, int64_t start_ns);      /* others: machine 0 has begun then, by its clock */

/* ---- quiet.c: virtual time ---- */

rx_traffic *rx__traffic(const rx_link *l, uint32_t machine, uint32_t other);
void rx__begin_to_hear(rx_link *l);                           /* a frame that is counted, */
void rx__have_heard(rx_link *l);                              /* and it is written down */
int rx__is_quiet(rx_link *l, uint64_t changes);               /* 1: nothing goes on on this machine; it is in `quiet`, then */
int rx__note_quiet(rx_link *l, const rx__f_quiet *said);      /* 0: that cannot be */
void rx__jump(rx_link *l, uint64_t changes);                  /* machine 0: the clock moves on if nothing goes on anywhere */

/* ---- tell.c, hear.c; what the threads return means nothing ---- */

int rx__tell_now(rx_link *l);                                 /* all that is new, but as much as the socket takes */
void *rx__tell(void *link);
void rx__hear_now(rx_link *l);                                /* all that is there */
void rx__listen(rx_link *l);                                  /* a worker looks on, so the thread need not hear */
void rx__call_thread(rx_link *l);                             /* it has to, if no worker does */
void *rx__hear(void *link);

#endif
