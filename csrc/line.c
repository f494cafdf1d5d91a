/* What a worker publishes about itself: a seqlock, whose version is odd while it is being written. It takes the place of
 * the null messages of Chandy and Misra: to read a line costs nothing where a message would wake its receiver. */
#include "peers.h"

void rx__publish(rx_worker *w, rx_tag head, rx_tag passed, uint64_t rank)
{
    rx_peers *p = rx__peers(w);
    rx_line *line = p->line;
    uint64_t version = line->version;
    rx__put(&line->version, version + 1);
    rx__put_tag(&line->head, head);
    rx__put_tag(&line->passed, passed);
    rx__put(&line->rank, rank);
    rx__put(&line->idle, w->in_tag ? RX_BUSY : rx__idleness(w));
    rx__put_fenced(&line->version, version + 2);
    p->head = head;
    rx__wake(w);
}

void rx__look_at(rx_worker *w, uint32_t other)
{
    rx_peers *p = rx__peers(w);
    const rx_line *line = rx__line(w->base, other);
    for (;;) {
        uint64_t version = rx__get(&line->version);
        rx_tag passed = rx__get_tag(&line->passed);
        uint64_t rank = rx__get(&line->rank);
        if (!(version & 1) && rx__get(&line->version) == version) {
            p->passed[other] = passed;
            p->rank[other] = rank;
            p->looked = 1;
            return;
        }
        if (rx__get32(&w->image->abort)) return;
        rx__pause();
    }
}
