/* The trace: what a worker did and what it waited for, span by span, in a ring that is emptied while the program runs.
 *
 * A tag is in there as a whole or not at all: its spans are shown to the reader when it is over, and where the ring has no
 * room for one of them, the tag is left out and counted. What a worker waits for between two tags goes with the later
 * one. */
#include <stddef.h>
#include <string.h>

#include "peers.h"

_Static_assert(sizeof(rx_trace) == RX_TRACE_BYTES, "the ring begins where Python thinks");

static rx_trace *trace_of(const rx_worker *w) { return RX_AT(rx_trace, w->base, w->t->trace); }

static rx_span *place(const rx_worker *w, uint64_t number)
{
    return (rx_span *)((uint8_t *)trace_of(w) + RX_TRACE_BYTES) + (number & (w->t->n_trace - 1));
}

/* 1: there are [n] places more; 0: this tag is left out. */
static int room(rx_worker *w, uint64_t n)
{
    rx_trace *trace = trace_of(w);
    if (w->left_out) {
        w->left_out += n;
        return 0;
    }
    if (w->spanned + n - rx__get(&trace->read) <= w->t->n_trace) return 1;
    w->left_out = w->spanned + n - trace->written;
    w->spanned = trace->written;
    return 0;
}

void rx__show_spans(rx_worker *w)
{
    rx_trace *trace = trace_of(w);
    if (w->left_out) {
        rx__put(&trace->tags_left_out, trace->tags_left_out + 1);
        rx__put(&trace->spans_left_out, trace->spans_left_out + w->left_out);
        w->left_out = 0;
    } else {
        rx__put(&trace->written, w->spanned);
    }
}

/* ---- time ------------------------------------------------------------------------------------------------- */

#ifdef __x86_64__
enum { MEASURE_NS = 1000000, NEAR = 4096, TRIES = 4 };

/* The system's time, and the counter's at the same moment: the nearest of some, since a thread may be interrupted between
 * the two for as long as it pleases others. */
static int64_t both(uint64_t *count)
{
    int64_t found = 0;
    uint64_t nearest = UINT64_MAX;
    for (int i = 0; i < TRIES && nearest > NEAR; i++) {
        uint64_t before = __builtin_ia32_rdtsc();
        int64_t now = rx__clock();
        uint64_t apart = __builtin_ia32_rdtsc() - before;
        if (apart >= nearest) continue;
        nearest = apart;
        found = now;
        *count = before + apart / 2;
    }
    return found;
}

/* Asks the system once in a millisecond, and else counts on from there by the rate of all time until then. */
int64_t rx__moment(rx_worker *w)
{
    if (!w->image->steady || !w->t->trace) return rx__clock();
    rx__counter *c = &w->counter;
    uint64_t count = __builtin_ia32_rdtsc();
    if (count < c->until) return c->ns + (int64_t)((count - c->count) * c->rate >> 32);
    int64_t now = both(&count);
    if (!c->first) {
        c->first = count;
        c->first_ns = now;
        return now;
    }
    if (now - c->first_ns < MEASURE_NS) return now;
    if (c->until) {                                      /* what it has shown never falls */
        int64_t shown = c->ns + (int64_t)((c->until - c->count) * c->rate >> 32);
        if (now < shown) now = shown;
    }
    c->rate = (uint64_t)((double)(now - c->first_ns) / (double)(count - c->first) * 0x1p32);
    c->ns = now;
    c->count = count;
    c->until = count + ((uint64_t)MEASURE_NS << 32) / c->rate;
    return now;
}
#else
int64_t rx__moment(rx_worker *w) { (void)w; return rx__clock(); }
#endif

/* ---- reactions -------------------------------------------------------------------------------------------- */

/* A bit for each of the first 64 doors of a list: its cell is present. */
static uint64_t present(const rx_worker *w, uint32_t list, uint32_t n)
{
    uint64_t bits = 0;
    for (uint32_t k = 0; k < n && k < 64; k++) bits |= (uint64_t)(w->cell_of[w->lists[list + k]]->stamp == w->stamp) << k;
    return bits;
}

void rx__span(rx_worker *w, uint32_t index, int64_t start, int64_t end, int late)
{
    if (!room(w, 1)) return;
    const rx_reaction *r = &w->reactions[index];
    uint32_t ports = r->n_ports - (r->flags & RX_STOPS ? 1 : 0);
    int64_t origin = w->image->start_ns;
    *place(w, w->spanned++) = (rx_span){
        late ? RX_RAN_LATE : RX_RAN_IN_TIME, r->global, w->tag, start - origin, end - origin,
        present(w, r->reads, r->n_reads), present(w, r->writes, ports), w->queue.n + w->soon.n,
    };
}

/* ---- waits ------------------------------------------------------------------------------------------------ */

/* The worker that lets this one go on last, as far as is known; only a trace asks. */
static uint32_t slowest(const rx_worker *w)
{
    if (!w->t->trace) return RX_NONE;
    const rx_peers *p = rx__peers_of(w);
    uint32_t found = RX_NONE;
    rx_tag least = rx__forever();
    for (uint32_t i = 0; i < w->workers; i++) {
        if (i == w->index) continue;
        rx_tag bound = rx__plus(p->may[i], p->delays[i * w->workers + w->index]);
        if (!rx__less(bound, least)) continue;
        least = bound;
        found = i;
    }
    return found;
}

rx__why rx__why_waiting(const rx_worker *w)
{
    const rx_peers *p = rx__peers_of(w);
    if (!w->started) return (rx__why){RX_WAITED_START, RX_NONE, RX_NONE};
    if (w->finished) return (rx__why){RX_WAITED_END, RX_NONE, RX_NONE};
    if (w->until != INT64_MAX) return (rx__why){RX_WAITED_CLOCK, RX_NONE, RX_NONE};
    if (w->solo) return (rx__why){RX_WAITED_OUTSIDE, RX_NONE, RX_NONE};
    uint32_t reaction = w->in_tag ? w->reactions[p->waiting].global : RX_NONE;
    if (p->wants == RX_ANYTHING) return (rx__why){RX_WAITED_ROOM, reaction, RX_NONE};
    if (p->wants == RX_PASSED) return (rx__why){w->in_tag ? RX_WAITED_INPUT : RX_WAITED_TAG, reaction, p->producer};
    return (rx__why){rx__idle(w) ? RX_WAITED_OUTSIDE : RX_WAITED_TAG, RX_NONE, slowest(w)};
}

void rx__span_of_wait(rx_worker *w, rx__why why, int64_t start, int64_t end)
{
    if (!room(w, 1)) return;
    int64_t origin = w->image->start_ns;
    *place(w, w->spanned++) = (rx_span){why.kind, why.reaction, w->tag, start - origin, end - origin, why.worker, 0, w->queue.n};
}

/* ---- what reactions note ---------------------------------------------------------------------------------- */

void rx_note(rx_worker *w, const char *name, int valued, double value)
{
    if (!w->t->trace || !room(w, 2)) return;
    int64_t now = rx__moment(w) - w->image->start_ns;
    uint32_t reaction = *w->current < 0 ? RX_NONE : w->reactions[*w->current].global;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    *place(w, w->spanned++) = (rx_span){valued ? RX_VALUED : RX_NOTED, reaction, w->tag, now, now, bits, 0, 0};
    rx_span *text = place(w, w->spanned++);
    memset(text, 0, sizeof *text);
    text->kind = RX_TEXT;
    memcpy((char *)text + offsetof(rx_span, reaction), name, strnlen(name, RX_NAME_BYTES));
}
