/* The messages from one worker to another: a ring buffer of one producer and one consumer (SPSC), without a lock.
 *
 * A message says: this source had a value at this tag; it is in that slot. Its receiver knows where the value goes
 * and how late. */
#ifndef RX_RING_H
#define RX_RING_H

#include "reactors.h"

typedef struct {
    rx_tag sent;
    int64_t clock;            /* what the sender's showed: virtual time only */
    uint64_t payload;
    uint32_t sub, pad;
} rx__message;

typedef struct {              /* each index on a line of its own */
    uint64_t head, pad1[15];  /* the consumer's */
    uint64_t tail, pad2[15];  /* the producer's */
    uint32_t capacity, pad;   /* a power of two */
    uint64_t pad3[7];
    rx__message messages[];
} rx__ring;

int rx__ring_fits(const rx__ring *ring, uint32_t n);          /* asked by the producer; it stays true until it pushes */
void rx__ring_push(rx__ring *ring, rx_tag sent, int64_t clock, uint64_t payload, uint32_t sub);
int rx__ring_first(rx__ring *ring, rx_tag *sent);             /* asked by anyone; 0: nothing unread */

static inline const rx__message *rx__message_at(const rx__ring *ring, uint64_t number)
{
    return &ring->messages[number & (ring->capacity - 1)];
}

#endif
