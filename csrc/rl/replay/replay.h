/* How do many actors put rows into a buffer from which others sample, all at once and without a lock?
 *
 * A buffer is one block of memory, usually shared by processes: a header, a table of streams, a tree of priorities, and
 * rows. A *row* is a transition. Its small fields lie together in one record, which begins with the row's word, so that
 * drawing a row costs as few cold cache lines as can be; a large field has an array of its own. Where each field lies is
 * the caller's decision (rx_replay_field). Slots are divided among *streams*, the environments that rows come from: a
 * stream has `share` slots in a row and fills them in a ring. The k-th row of stream s has the index k * streams + s for ever,
 * and lies in slot s * share + k % share until that is used again.
 *
 * Guarantees, whatever the number of threads and processes
 *
 * - Who inserts takes numbers with one atomic addition. Of two rows for one slot the later number stays.
 * - A row that was sampled is whole, and is the one whose index came with it: the word of its slot is read before and
 *   after the row is copied (a sequence lock), and if it changed, or says that a thread is writing, another row is drawn.
 * - While a row is written its priority is 0, so that it is hardly drawn at all (lazy writing, as in "Parallel Actors and
 *   Learners"); its true priority is in the tree before the word says that it is complete.
 * - An update of a priority reaches the row that it was meant for or none: it holds the word while it changes the tree,
 *   and who wants to overwrite the row waits so long. Updates of rows that are gone are counted in `late`.
 * - No thread waits for ever: what a process was writing when it died is taken over; others may be waited for, up to
 *   RX_REPLAY_PATIENCE_NS. Updates do not wait.
 * - Numbers within a stream follow the order of insertion, and the position in the episode is right, if one thread at a
 *   time inserts into that stream. Frames (frames.c) and sequences need that.
 *
 * What one thread does alone depends on its arguments only. */
#ifndef RX_REPLAY_H
#define RX_REPLAY_H

#include "atomic.h"
#include "sumtree/sumtree.h"

#define RX_REPLAY_MAGIC 0x79616c7065727872ull      /* "rxreplay" */
#define RX_REPLAY_PATIENCE_NS 10000000000ll
#define RX_REPLAY_TRIES 100000                     /* draws of one row before we count those that there are */
#define RX_REPLAY_COUNTS 100                       /* times that we count the rows that end a sequence, while others are written */
#define RX_REPLAY_CHUNK 64                         /* rows that are written, copied or updated together */

/* The first bytes of a record. [word]: from the top, 40 bits of the number of the row plus 1 (0: no row), 23 bits, and 1
 * bit that says a thread is writing; the 23 bits are the writer's process, or how many are changing the priority. */
typedef struct {
    uint64_t word;
    uint32_t step;      /* position in its episode */
    uint32_t unused;
} rx__row;

#define RX__WRITING 1ull
#define RX__HELD 2ull
#define RX__BUSY 2           /* of rx__claim: another thread has the row */
#define RX__NUMBER 24      /* where the number begins */

typedef struct {
    _Alignas(64) uint64_t next;      /* number of the next row */
    uint64_t oldest;                 /* rows before this one are gone, their frames having been overwritten */
    uint64_t frames;                 /* frames written */
    uint64_t step;                   /* position of the next row in its episode */
} rx__stream;

typedef struct {
    uint64_t magic;                            /* written last */
    uint64_t bytes;                            /* of the block */
    _Alignas(64) uint64_t greatest;            /* the bits of the greatest priority so far, a positive float */
    _Alignas(64) uint64_t late;                /* updates of rows that were gone */
    uint64_t again;                            /* rows that changed while they were copied */
    uint64_t taken_over;                       /* slots whose writer had died */
} rx__replay_header;

/* One process's view, which its threads may share. */
struct rx_replay {
    uint8_t *base;
    rx__replay_header *header;
    rx__stream *streams;
    rx_sumtree *tree;                /* NULL: rows are drawn uniformly */
    uint8_t *records;
    uint64_t stride;                 /* of a record */
    uint64_t n_streams, share;       /* slots of each */
    uint64_t process;                /* who we are: a child may have been forked */
    uint32_t n_fields, terminated, truncated;      /* which fields say that an episode ends; RX_REPLAY_NO_FIELD: none */
    uint64_t sampled_bytes;          /* of one row, all fields */
    rx_replay_shape shape;
    rx_replay_field fields[];
};

static inline rx__row *rx__row_at(const rx_replay *r, uint64_t slot) { return (rx__row *)(r->records + slot * r->stride); }
static inline uint8_t *rx__field_at(const rx_replay *r, const rx_replay_field *f, uint64_t slot) { return r->base + f->offset + slot * f->stride; }

/* The first row of a stream that is there, its number; [next] the number after its last. */
static inline uint64_t rx__oldest(const rx_replay *r, uint64_t stream, uint64_t *next)
{
    const rx__stream *s = &r->streams[stream];
    uint64_t first = rx__get(&s->oldest);
    *next = rx__get(&s->next);
    return *next > r->share && *next - r->share > first ? *next - r->share : first;
}

void rx__copy_in(void *to, const void *from, size_t bytes);       /* into memory that others may be reading */
void rx__copy_out(void *to, const void *from, size_t bytes);      /* out of memory that others may be writing */
void rx__copy_far(void *to, const void *from, size_t bytes, const void *after);      /* the same; [after] is copied from next */
int rx__claim(rx_replay *r, uint64_t slot, uint64_t number, int may_wait);      /* 1: ours to write; 0: a later row is there; RX__BUSY; or an error */
void rx__let_row_go(rx_replay *r, uint64_t slot);                 /* a row that we claimed is gone */
void rx__powers(int64_t n, const float *x, float add, float exponent, float *out);

#endif
