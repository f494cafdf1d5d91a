#include "ring.h"

#include <assert.h>

#include "arena.h"
#include "shared.h"

uint64_t rx_ring_bytes(uint32_t capacity) { return sizeof(rx__ring) + capacity * sizeof(rx__message); }
void rx_ring_init(void *base, uint64_t ring, uint32_t capacity) { RX_AT(rx__ring, base, ring)->capacity = capacity; }

int rx__ring_fits(const rx__ring *ring, uint32_t n) { return ring->tail - rx__get(&ring->head) + n <= ring->capacity; }

void rx__ring_push(rx__ring *ring, rx_tag sent, int64_t clock, uint64_t payload, uint32_t sub)
{
    assert(rx__ring_fits(ring, 1));
    rx__message *m = &ring->messages[ring->tail & (ring->capacity - 1)];
    rx__put_tag(&m->sent, sent);
    m->clock = clock;
    m->payload = payload;
    m->sub = sub;
    rx__put(&ring->tail, ring->tail + 1);
}

int rx__ring_first(rx__ring *ring, rx_tag *sent)
{
    for (;;) {
        uint64_t head = rx__get(&ring->head);
        if (head == rx__get(&ring->tail)) return 0;
        *sent = rx__get_tag(&rx__message_at(ring, head)->sent);
        /* a producer writes over a message only after the consumer has moved on: then what was read may be torn */
        if (rx__get(&ring->head) == head) return 1;
    }
}
