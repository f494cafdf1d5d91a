/* A link to another machine, which has the same image in an arena of its own: what each of its two threads knows.
 *
 * Workers there have lines and rings here like those of this machine, only that a thread writes them, in the order in
 * which it hears of them: first messages, then the state that counts them as sent. Rings to workers there are full of what
 * their machine has not acknowledged, so a message on its way is an unread one. A state is that of all workers of its
 * machine at one moment. */
#ifndef RX_LINK_H
#define RX_LINK_H

#include <pthread.h>

#include "arena.h"
#include "frames.h"
#include "ring.h"
#include "shared.h"

typedef struct { uint32_t producer, consumer; } rx__pair;

typedef struct {              /* a value that came over the link, in a slot here */
    uint32_t sub, slot;
    uint32_t count;           /* messages that brought it; 0: it is not here */
} rx__held;

typedef struct { uint8_t *bytes; uint64_t n, room; } rx__buffer;

struct rx_link {
    void *base;
    rx_image *image;
    int fd, socket;
    uint32_t machine;         /* the other one */
    uint32_t bell;            /* a worker there, whose bell wakes the thread that tells */
    rx__crcs crcs;

    /* what both machines know alike; by number, each list in the order of workers */
    uint32_t n_mine, n_theirs;
    uint32_t mine[RX_MOST_WORKERS], theirs[RX_MOST_WORKERS];
    rx__pair *out, *in;       /* rings from here to there, and back */
    rx__pair *sent, *heard;   /* rings from here to third machines, from there to them; */
    rx__pair *taken, *gave;   /* rings from any other machine to here, and to there */
    uint32_t n_out, n_in, n_sent, n_heard, n_taken, n_gave;
    uint32_t *slots_of;       /* by subscription: where the slots of its source begin in what is kept for each slot */
    uint32_t n_slots;

    /* of the thread that tells */
    pthread_t telling;
    rx__buffer buffer;        /* frames that are yet to be sent */
    uint64_t *told;           /* by ring out: messages sent, which the thread that hears reads */
    uint64_t *tails;          /* and how many there were when it looked */
    rx_tag *carried;          /* by slot: of which tag the value is that was sent last */
    uint8_t *state, *last;    /* bodies: the present one, and the one that was sent last */
    uint32_t state_size, their_state_size;
    int any_sent;

    /* of the thread that hears */
    pthread_t hearing;
    uint8_t *body;
    uint32_t room;            /* the greatest body that may come */

    /* of both: by slot, messages that took its value there and are not released yet */
    uint32_t *lent;

    /* of both, under the lock: values from there that are in use here */
    pthread_mutex_t lock;
    rx__held *held;           /* by slot */
    uint32_t *in_use, n_in_use;

    uint32_t ending;          /* all workers here have ended */
    uint32_t said_bye;        /* all workers there have ended, too */
    uint32_t over;            /* what was wrong, or RX_LINKED */
    uint32_t started;         /* threads, a bit each */
};

/* ---- linked.c ---- */

int rx__is_mine(const rx_link *l, uint32_t worker);
rx__ring *rx__ring_between(const rx_link *l, uint32_t producer, uint32_t consumer);    /* where something flows */
void rx__link_over(rx_link *l, uint32_t why);                 /* unless it is over already */
void rx__start_together(rx_link *l);                          /* machine 0: once all workers of all machines are at the start line */
void rx__start_with_first(rx_link *l, int64_t start_ns);      /* others: machine 0 has begun then, by its clock */

/* ---- tell.c, hear.c: the threads; what they return means nothing ---- */

void *rx__tell(void *link);
void *rx__hear(void *link);

#endif
