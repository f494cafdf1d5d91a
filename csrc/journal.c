/* The journal: what each reaction has read and written, as a bit for each port and a hash for each that it wrote.
 *
 * A worker keeps its entries in the arena, and appends them to the file as one block when there is no room for more, and at
 * the end, or after a second; of a worker that died the caller writes what is left. So nothing is left out, as it may be
 * in a trace, and a file that was cut off is good up to there. When a block cannot be written all workers end their
 * journals, and go on.
 *
 * Typed values are hashed here, where they lie. Of objects, which only Python knows, their doors have a hash from when
 * they were set (python/content.c); so has what was scheduled, what came from outside, and the state of a reactor. */
#include <stdlib.h>

#include "columns.h"
#include "engine.h"
#include "hash.h"
#include "shared.h"

enum {
    COLUMNS = 7,              /* reaction, time, microstep, flags, reads, writes, and all hashes */
    INNER = 24,               /* entries, hashes, entries before, bytes of a number in each column */
    ENTRIES = 1,              /* kind of a block */
    LAST = 63,                /* the bit of all ports from this one on, which have one hash together */
    KEPT_NS = 1000000000      /* entries that are older go into the file with the next one: what a run that is killed leaves */
};

struct rx__journaling {       /* of one worker; its entries are in the arena */
    uint64_t *hashes;         /* by door: of the object that was set there last */
    uint64_t *values;         /* by reactor: of all that it did and wrote */
    rx_journal *kept;         /* NULL: no file is wanted */
    rx_noted *noted;          /* by reaction: of the execution that runs, or has just run */
    int fd;
    int64_t written;          /* when the last block was, by the clock */
};

/* ---- the block of a worker -------------------------------------------------------------------------------- */

static rx_entry *entries_of(rx_journal *kept) { return (rx_entry *)((uint8_t *)kept + RX_JOURNAL_BYTES); }
static uint64_t *hashes_of(rx_journal *kept) { return (uint64_t *)(entries_of(kept) + RX_JOURNAL_ENTRIES); }

typedef struct {
    rx__crcs crcs;
    uint64_t column[RX_JOURNAL_HASHES > RX_JOURNAL_ENTRIES ? RX_JOURNAL_HASHES : RX_JOURNAL_ENTRIES];
    uint8_t out[RX_BLOCK_HEAD + INNER + 8 * ((COLUMNS - 1) * RX_JOURNAL_ENTRIES + RX_JOURNAL_HASHES)];
} block;

static uint32_t packed(block *b, rx_journal *kept)
{
    const rx_entry *e = entries_of(kept);
    uint32_t n = (uint32_t)kept->entries;
    uint8_t *inner = b->out + RX_BLOCK_HEAD, *p = inner + INNER;
    memset(inner, 0, INNER);
    rx__put_bytes(inner, n);
    rx__put_bytes(inner + 4, (uint32_t)kept->hashes);
    memcpy(inner + 8, &kept->before, 8);
    for (int k = 0; k < COLUMNS - 1; k++) {
        int64_t time = 0;
        for (uint32_t i = 0; i < n; i++) {
            switch (k) {
            case 0: b->column[i] = e[i].reaction; break;
            case 1: b->column[i] = rx__folded(e[i].tag.time - time); break;
            case 2: b->column[i] = e[i].tag.microstep; break;
            case 3: b->column[i] = e[i].flags; break;
            case 4: b->column[i] = e[i].reads; break;
            default: b->column[i] = e[i].writes;
            }
            time = e[i].tag.time;
        }
        inner[16 + k] = rx__put_column(b->column, n, &p);
    }
    inner[16 + COLUMNS - 1] = rx__put_column(hashes_of(kept), (uint32_t)kept->hashes, &p);
    return (uint32_t)(p - inner);
}

int rx_write_journal(void *base, uint32_t worker, int fd)
{
    const rx_tables *t = RX_AT(rx_tables, base, rx__image(base)->tables) + worker;
    rx_journal *kept = RX_AT(rx_journal, base, t->journal);
    uint32_t *ended = &rx__image(base)->journal_ended;
    int error = (int)rx__get32(ended);
    if (kept->entries && !error) {
        block *b = malloc(sizeof *b);
        if (b) {
            rx__crc_fill(&b->crcs);
            uint32_t size = packed(b, kept);
            rx__put_head(&b->crcs, b->out, "RXJ1", ENTRIES, worker, size);
            error = rx__write_all(fd, b->out, RX_BLOCK_HEAD + size);
            free(b);
        } else {
            error = ENOMEM;
        }
        if (error) rx__put32(ended, (uint32_t)error);
    }
    kept->before += kept->entries;
    kept->entries = kept->hashes = 0;
    return error;
}

/* ---- what a reaction did ---------------------------------------------------------------------------------- */

int rx__open_journal(rx_worker *w)
{
    if (!w->t->values) return 0;
    struct rx__journaling *j = w->journal = calloc(1, sizeof *j);
    if (!j) return RX_NO_MEMORY;
    j->hashes = RX_AT(uint64_t, w->base, w->t->hashes);
    j->values = RX_AT(uint64_t, w->base, w->t->values);
    j->noted = RX_AT(rx_noted, w->base, w->t->noted);
    j->kept = w->t->journal ? RX_AT(rx_journal, w->base, w->t->journal) : NULL;
    j->fd = -1;
    j->written = rx__clock();
    return 0;
}

void rx__close_journal(rx_worker *w)
{
    if (!w->journal) return;
    if (w->journal->kept && w->journal->fd >= 0) rx_write_journal(w->base, w->index, w->journal->fd);
    free(w->journal);
    w->journal = NULL;
}

void rx_journal_to(rx_worker *w, int fd) { w->journal->fd = fd; }

uint64_t *rx_hash_of(rx_worker *w, uint32_t door) { return w->journal ? w->journal->hashes + door : NULL; }
uint64_t rx_hash(const void *data, uint64_t size) { return rx__hash(data, size); }
uint64_t rx_fold(uint64_t h, uint64_t part) { return rx__fold(h, part); }

rx_noted *rx_noted_now(rx_worker *w)
{
    return w->journal && *w->current >= 0 ? w->journal->noted + *w->current : NULL;
}

void rx__note_scheduled(rx_worker *w, const rx_action *action, int64_t delay)
{
    rx_noted *noted = rx_noted_now(w);
    if (!noted) return;
    noted->flags |= RX_DID_SCHEDULE;
    noted->scheduled = rx__fold(rx__fold(noted->scheduled, action->element), (uint64_t)delay);
}

/* Of a typed value that was written at this tag. What lies between the fields of a record is whatever was there before. */
static uint64_t hash_typed(const rx_worker *w, const rx_source *s)
{
    const uint8_t *at = w->base + s->data + s->slot * s->stride, *end = at + s->bytes;
    if (!s->n_solid) return rx__hash(at, s->bytes);
    uint64_t h = 0;
    for (; at < end; at += s->record)
        for (const uint32_t *part = w->lists + s->solid, *last = part + 2 * s->n_solid; part < last; part += 2)
            h = rx__fold(h, rx__hash(at + part[0], part[1]));
    return h;
}

static uint64_t presence(const rx_worker *w, uint32_t list, uint32_t n)
{
    uint64_t bits = 0;
    for (uint32_t k = 0; k < n; k++)
        bits |= (uint64_t)(w->cell_of[w->lists[list + k]]->stamp == w->stamp) << (k < LAST ? k : LAST);
    return bits;
}

/* The hashes of the ports that are present: how many; one, of a reaction with many, stands for all from LAST on. */
static uint32_t hash_writes(const rx_worker *w, const rx_reaction *r, uint32_t ports, uint64_t *to, uint64_t *writes)
{
    uint64_t rest = 0;
    uint32_t n = 0;
    for (uint32_t k = 0; k < ports; k++) {
        uint32_t door = w->lists[r->writes + k];
        const rx_cell *cell = w->cell_of[door];
        if (cell->stamp != w->stamp) continue;
        const rx_source *s = cell->source == RX_NONE ? NULL : &w->sources[cell->source];
        uint64_t h = s && s->bytes ? hash_typed(w, s) : w->journal->hashes[door];
        *writes |= 1ull << (k < LAST ? k : LAST);
        if (k < LAST) to[n++] = h;
        else rest = rx__fold(rx__fold(rest, k), h);
    }
    if (*writes >> LAST) to[n++] = rest;
    return n;
}

void rx__journal(rx_worker *w, uint32_t index, int late)
{
    struct rx__journaling *j = w->journal;
    const rx_reaction *r = &w->reactions[index];
    rx_journal *kept = j->kept;
    rx_noted *noted = j->noted + index;
    uint64_t here[LAST + 4], *to = here;
    uint32_t ports = r->n_ports - (r->flags & RX_STOPS ? 1 : 0), flags = noted->flags | (late ? RX_DID_MISS : 0);
    if (ports < r->n_ports && w->cell_of[w->lists[r->writes + ports]]->stamp == w->stamp) flags |= RX_DID_STOP;
    rx_entry entry = {w->tag, r->global, flags, presence(w, r->reads, r->n_reads), 0};
    uint32_t n = hash_writes(w, r, ports, to, &entry.writes);
    if (flags & RX_DID_SCHEDULE) to[n++] = noted->scheduled;
    if (flags & RX_DID_HEAR) to[n++] = noted->heard;
    uint64_t *value = &j->values[r->reactor], v = *value;
    v = rx__fold(v, w->tag_word + (r->number + 1) * 0x9E3779B97F4A7C15ull);
    v = rx__fold(rx__fold(rx__fold(v, entry.reads), entry.writes), flags & ~(uint32_t)RX_DID_LAST);
    for (uint32_t i = 0; i < n; i++) v = rx__fold(v, to[i]);
    *value = v;
    if (flags & RX_DID_LAST) to[n++] = noted->state;
    memset(noted, 0, sizeof *noted);
    if (!kept) return;
    int64_t now = rx__clock();
    if (kept->entries == RX_JOURNAL_ENTRIES || kept->hashes + n > RX_JOURNAL_HASHES || now - j->written > KEPT_NS) {
        rx_write_journal(w->base, w->index, j->fd);
        j->written = now;
    }
    memcpy(hashes_of(kept) + kept->hashes, here, n * sizeof *here);
    entries_of(kept)[kept->entries] = entry;
    kept->hashes += n;
    kept->entries++;          /* last: what is there when this worker dies can be read */
}
