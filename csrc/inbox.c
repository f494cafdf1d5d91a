/* Where physical actions enter: any thread of any process may send, the owning worker takes.
 *
 * A sender takes the lock, which is its announcement, reads the clock, appends, and lets go. Others who want to know
 * how early this worker may still act read the clock first and then see whether the inbox is locked or not empty:
 * if neither, whatever comes later has a later time than their reading. */
#include <sched.h>
#include <string.h>

#include "lock.h"
#include "peers.h"

#define INLINE_BYTES 472
#define LEAST_REGION 12                  /* a page */

typedef struct {
    int64_t time;
    uint64_t value;
    uint32_t action, pad;
    uint64_t size, region;    /* of a value from another process; where it is, if it does not fit here */
    uint8_t bytes[INLINE_BYTES];
} entry;

struct rx__inbox {
    uint32_t lock, open;      /* open: 0 before the start and after the stop */
    uint64_t head, tail;
    uint32_t capacity, pad;
    uint64_t free[64];        /* by the logarithm of their size: the first of the regions that hold no value, each of which names the next */
    entry entries[];
};

uint64_t rx_inbox_bytes(uint32_t capacity) { return sizeof(rx__inbox) + capacity * sizeof(entry); }

void rx_inbox_init(void *base, uint64_t offset, uint32_t capacity)
{
    RX_AT(rx__inbox, base, offset)->capacity = capacity;
}

rx__inbox *rx__inbox_of(void *base, uint32_t worker)
{
    rx_tables *t = RX_AT(rx_tables, base, rx__image(base)->tables) + worker;
    return t->inbox ? RX_AT(rx__inbox, base, t->inbox) : NULL;
}

int rx__inbox_quiet(const rx__inbox *inbox)
{
    return !rx__get32(&inbox->lock) && rx__get(&inbox->head) == rx__get(&inbox->tail);
}

/* Held for a clock reading and two stores, or a copy. 0: who held it may have died, and the run is over. */
static int lock(const rx_image *image, rx__inbox *inbox)
{
    for (uint32_t spins = 1; !rx__swap_if32(&inbox->lock, 0, 1); spins++) {
        if (rx__get32(&image->abort)) return 0;
        void *held = spins % 1024 || !rx__let_go ? NULL : rx__let_go();      /* who ends the run may need it */
        sched_yield();
        if (held) rx__take_back(held);
    }
    return 1;
}

void rx__inbox_state(rx_worker *w, uint32_t open)
{
    rx__inbox *inbox = rx__inbox_of(w->base, w->index);
    if (!inbox || !lock(w->image, inbox)) return;
    rx__put32(&inbox->open, open);
    rx__put32(&inbox->lock, 0);
}

/* Values that do not fit into an entry lie in regions, which all entries share: there are as many as were ever needed at
 * the same time. The lock is held. */
static uint32_t class_of(uint64_t size)
{
    uint32_t bits = 64 - (uint32_t)__builtin_clzll(size - 1);
    return bits > LEAST_REGION ? bits : LEAST_REGION;
}

static uint64_t take_region(void *base, int fd, rx__inbox *inbox, uint64_t size)
{
    uint32_t class = class_of(size);
    uint64_t region = class < 63 ? inbox->free[class] : 0;
    if (region) inbox->free[class] = *RX_AT(uint64_t, base, region);
    else if (class < 63) region = rx_spill(base, fd, 1ull << class);
    return region;
}

static void give_region(void *base, rx__inbox *inbox, const entry *e)
{
    uint32_t class = class_of(e->size);
    *RX_AT(uint64_t, base, e->region) = inbox->free[class];
    inbox->free[class] = e->region;
}

static int put_bytes(void *base, int fd, rx__inbox *inbox, entry *e, const void *data, uint64_t size)
{
    int large = size > INLINE_BYTES;
    e->size = size;
    e->region = large ? take_region(base, fd, inbox, size) : 0;
    if (large && !e->region) return 0;
    memcpy(large ? (uint8_t *)base + e->region : e->bytes, data, size);
    return 1;
}

int rx_send(void *base, int fd, uint32_t worker, uint32_t action, int64_t delay, uint64_t value, const void *data, uint64_t size)
{
    rx_image *image = rx__image(base);
    if (image->replaying) return 1;                  /* what came of it then will come now, and nothing else */
    rx__inbox *inbox = rx__inbox_of(base, worker);
    rx_tables *t = RX_AT(rx_tables, base, image->tables) + worker;
    int64_t min_delay = RX_AT(rx_action, base, t->actions)[action].min_delay;
    if (!lock(image, inbox)) return 0;
    rx__settle();                                    /* who still sees no lock has read the clock before this worker does */
    int open = (int)rx__get32(&inbox->open) && !rx__get32(&image->abort);
    uint64_t tail = rx__get(&inbox->tail);
    int full = tail - rx__get(&inbox->head) == inbox->capacity;
    if (open && !full) {
        entry *e = &inbox->entries[tail % inbox->capacity];
        int64_t now = image->virtual_time ? rx__virtual_now(image, worker) : rx__clock() - image->start_ns;
        e->time = rx__add_ns(now, rx__add_ns(min_delay, delay));
        e->value = value ? value | RX_SENT : 0;
        e->action = action;
        e->size = 0;
        if (size && !put_bytes(base, fd, inbox, e, data, size)) open = -1;
        else rx__put(&inbox->tail, tail + 1);
    }
    rx__put32(&inbox->lock, 0);
    if (open > 0 && image->virtual_time) rx__add(&image->changes, 1);
    if (open > 0) rx__ring_bell(base, worker);
    if (open < 0) rx__ring_all(base);                /* they may have seen the lock, and no other worker will wake them */
    return open > 0 && full ? RX_FULL : open;
}

void rx_take_sent(rx_worker *w) { rx__inbox_drain(w); }

int rx__inbox_drain(rx_worker *w)
{
    rx__inbox *inbox = rx__inbox_of(w->base, w->index);
    if (!inbox) return 0;
    uint64_t head = inbox->head, tail = rx__get(&inbox->tail);
    if (head == tail) return 0;
    rx_tag soonest = rx__next_microstep(w->tag);
    for (uint64_t i = head; i != tail; i++) {
        const entry *e = &inbox->entries[i % inbox->capacity];
        uint64_t value = e->value, size = e->size;
        if (size) value = rx__copy(size > INLINE_BYTES ? w->base + e->region : e->bytes, size, RX_PICKLED);
        if (size && !value) w->error = RX_NO_MEMORY;
        if (size > INLINE_BYTES && lock(w->image, inbox)) {
            give_region(w->base, inbox, e);
            rx__put32(&inbox->lock, 0);
        }
        rx__accept(w, e->action, rx__greatest(rx__tag(e->time, 0), soonest), value);
    }
    /* as for a ring: first the lower head, then the inbox is quiet, which others may have waited for */
    int seen = !w->solo && !w->in_tag;
    rx_peers *p = rx__peers(w);
    if (seen) rx__publish(w, rx__least(p->head, rx__own_next(w)), p->line->passed, p->line->rank);
    rx__put(&inbox->head, tail);
    if (seen) rx__publish(w, p->head, p->line->passed, p->line->rank);
    return (int)(tail - head);
}
