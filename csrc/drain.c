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
#include <unistd.h>

#include "arena.h"
#include "crc.h"
#include "shared.h"

enum {
    EVERY_NS = 2000000,
    COLUMNS = 9,
    MOST = 1 << 15,           /* spans of a block; one more where the last one's name would be in the next */
    HEAD = 16,                /* magic, kind, worker, size, checksum */
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
    uint8_t out[HEAD + INNER + (MOST + 1) * (8 * COLUMNS + RX_NAME_BYTES + 1)];
};

static uint64_t folded(int64_t x) { return (uint64_t)x << 1 ^ (uint64_t)(x >> 63); }

static void put32(uint8_t *to, uint32_t x)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(x >> 8 * i);
}

static const rx_span *span_at(const rx_trace *trace, uint64_t n_trace, uint64_t number)
{
    return (const rx_span *)((const uint8_t *)trace + RX_TRACE_BYTES) + (number & (n_trace - 1));
}

/* A column in as few bytes a number as its greatest takes; how many these are. */
static uint8_t put_column(const uint64_t *column, uint32_t n, uint8_t **to)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; i++) all |= column[i];
    uint8_t width = !all ? 0 : all < 1u << 8 ? 1 : all < 1u << 16 ? 2 : all < 1ull << 32 ? 4 : 8;
    uint8_t *p = *to;
    for (uint32_t i = 0; width && i < n; i++)
        for (uint8_t k = 0; k < width; k++) *p++ = (uint8_t)(column[i] >> 8 * k);
    *to = p;
    return width;
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
        c[2][count] = folded(s->tag.time - time);
        c[3][count] = s->tag.microstep;
        c[4][count] = folded(s->start - end);
        c[5][count] = folded(s->end - s->start);
        c[6][count] = s->reads;
        c[7][count] = s->writes;
        c[8][count] = s->queued;
        time = s->tag.time;
        end = s->end;
        count++;
    }
    uint8_t *inner = d->out + HEAD, *p = inner + INNER;
    memset(inner, 0, INNER);
    for (int k = 0; k < COLUMNS; k++) inner[8 + k] = put_column(c[k], count, &p);
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
    put32(inner, count);
    put32(inner + 4, names);
    return (uint32_t)(p - inner);
}

static void write_all(rx_drain *d, size_t n)
{
    for (size_t done = 0; done < n && !d->error;) {
        ssize_t written = write(d->fd, d->out + done, n - done);
        if (written >= 0) done += (size_t)written;
        else if (errno != EINTR) d->error = errno;
    }
}

static void write_block(rx_drain *d, uint32_t worker, uint32_t size)
{
    memset(d->out, 0, HEAD);
    memcpy(d->out, "RXT1", 4);
    d->out[4] = SPANS;
    d->out[6] = (uint8_t)worker;
    d->out[7] = (uint8_t)(worker >> 8);
    put32(d->out + 8, size);
    put32(d->out + 12, rx__crc(&d->crcs, 0, d->out, HEAD + size));
    write_all(d, HEAD + size);
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
