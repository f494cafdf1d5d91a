/* The file of a trace: a thread that empties the rings of all workers into it while the program runs.
 *
 * It is the caller's, and no interpreter's: it never waits for a GIL. Spans become columns, each as differences where the
 * next is near the last, in as few bytes a number as the greatest takes: some fifteen bytes a span instead of 64. A block of
 * them has a checksum (reactors/tracing/blocks.py), so that a file that was cut off is good up to there. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "columns.h"
#include "shared.h"

enum {
    EVERY_NS = 2000000,
    COLUMNS = 9,
    MOST = 1 << 15,           /* spans of a block; one more where the last one's name would be in the next */
    INNER = 20,               /* spans, bytes of names, bytes of a number in each column */
    SPANS = 1                 /* kind of a block */
};

struct rx_drain {
    void *base;
    int fd, error;            /* errno of what could not be written: nothing more is */
    uint32_t stop;
    pthread_t thread;
    rx__crcs crcs;
    uint64_t columns[COLUMNS][MOST + 1];
    uint8_t out[RX_BLOCK_HEAD + INNER + (MOST + 1) * (8 * COLUMNS + RX_NAME_BYTES + 1)];
};

static const rx_span *span_at(const rx_trace *trace, uint64_t n_trace, uint64_t number)
{
    return (const rx_span *)((const uint8_t *)trace + RX_TRACE_BYTES) + (number & (n_trace - 1));
}

/* Packs [n] spans from number [first] on behind the head of a block; how many bytes that are. */
static uint32_t packed(rx_drain *d, const rx_trace *trace, uint64_t n_trace, uint64_t first, uint32_t n)
{
    uint64_t (*c)[MOST + 1] = d->columns;
    uint32_t count = 0, names = 0;
    int64_t time = 0, end = 0;
    for (uint32_t i = 0; i < n; i++) {
        const rx_span *s = span_at(trace, n_trace, first + i);
        if (s->kind == RX_TEXT) continue;
        c[0][count] = s->kind;
        c[1][count] = (uint32_t)(s->reaction + 1);
        c[2][count] = rx__folded(s->tag.time - time);
        c[3][count] = s->tag.microstep;
        c[4][count] = rx__folded(s->start - end);
        c[5][count] = rx__folded(s->end - s->start);
        c[6][count] = s->reads;
        c[7][count] = s->writes;
        c[8][count] = s->queued;
        time = s->tag.time;
        end = s->end;
        count++;
    }
    uint8_t *inner = d->out + RX_BLOCK_HEAD, *p = inner + INNER;
    memset(inner, 0, INNER);
    for (int k = 0; k < COLUMNS; k++) inner[8 + k] = rx__put_column(c[k], count, &p);
    for (uint32_t i = 0; i < n && count < n; i++) {
        const rx_span *s = span_at(trace, n_trace, first + i);
        if (s->kind != RX_TEXT) continue;
        const char *name = (const char *)s + offsetof(rx_span, reaction);
        uint32_t length = (uint32_t)strnlen(name, RX_NAME_BYTES);
        memcpy(p, name, length);
        p[length] = 0;
        p += length + 1;
        names += length + 1;
    }
    rx__put_bytes(inner, count);
    rx__put_bytes(inner + 4, names);
    return (uint32_t)(p - inner);
}

static void write_block(rx_drain *d, uint32_t worker, uint32_t size)
{
    if (d->error) return;
    rx__put_head(&d->crcs, d->out, "RXT1", SPANS, worker, size);
    d->error = rx__write_all(d->fd, d->out, RX_BLOCK_HEAD + size);
}

static void drain_worker(rx_drain *d, uint32_t worker)
{
    const rx_tables *t = RX_AT(rx_tables, d->base, rx__image(d->base)->tables) + worker;
    rx_trace *trace = RX_AT(rx_trace, d->base, t->trace);
    uint64_t written = rx__get(&trace->written), done = trace->read;
    while (done < written && !d->error) {
        uint32_t n = written - done < MOST ? (uint32_t)(written - done) : MOST;
        uint32_t last = span_at(trace, t->n_trace, done + n - 1)->kind;
        if (last == RX_NOTED || last == RX_VALUED) n++;      /* its name is the next span */
        write_block(d, worker, packed(d, trace, t->n_trace, done, n));
        done += n;
        rx__put(&trace->read, done);
    }
}

static void *run(void *given)
{
    rx_drain *d = given;
    int last;
    do {
        last = (int)rx__get32(&d->stop);             /* asked before, so that nothing is left behind */
        for (uint32_t i = 0; i < rx__image(d->base)->workers; i++) drain_worker(d, i);
        if (!last) nanosleep(&(struct timespec){0, EVERY_NS}, NULL);
    } while (!last);
    return NULL;
}

rx_drain *rx_drain_start(void *base, int fd)
{
    rx_drain *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->base = base;
    d->fd = fd;
    rx__crc_fill(&d->crcs);
    int error = pthread_create(&d->thread, NULL, run, d);
    if (!error) return d;
    free(d);
    errno = error;
    return NULL;
}

int rx_drain_stop(rx_drain *d)
{
    rx__put32_fenced(&d->stop, 1);
    pthread_join(d->thread, NULL);
    int error = d->error;
    free(d);
    return error;
}
