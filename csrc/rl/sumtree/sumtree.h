/* Which slots shall be sampled, in proportion to priorities that change all the time?
 *
 * A K-ary sum tree after "Parallel Actors and Learners" (Zhang, Kuppannagari, Prasanna; HiPC 2021): the leaves are the
 * priorities of slots, each inner node is the sum of its K children, the root the sum of all. It lies in one block that
 * the caller provides, which begins with the struct below and holds no pointer: in shared memory any process uses it by
 * casting the address where it mapped the block. Every operation is one call for a batch.
 *
 * Guarantees
 *
 * Order. The sum of a row of siblings is taken over adjacent pairs, ((0+1)+(2+3))+..., whatever the processor; a write
 *   sums whole rows again and adds no differences. So the inner nodes are a function of the leaves, bit for bit, with no
 *   trace of their history: nothing drifts, and a tree whose leaves are restored continues bit for bit.
 * Finding. Slot i owns the masses from the sum of the slots before it up to that plus its own priority, as far as the
 *   stored sums are exact (for whole numbers up to 2^24 in float32, up to 2^53 in float64, they are). A subtree whose
 *   sum is 0 is never entered, so rounding never leads to a slot of priority 0, nor past the last one. Masses are
 *   float64 all the way down in either kind of tree: float32 would never reach some slots of a big one.
 * All or nothing. A write with a slot out of range, or with a priority that is negative, NaN or not finite as the
 *   tree's type, changes nothing.
 * Concurrency. Any number of threads and processes may call anything at any time, but for rx_sumtree_init; there is no
 *   lock, and no caller waits for another.
 *   - A leaf holds the value that was stored there last. When no thread writes, each inner node equals, bit for bit, the
 *     sum of its row: no write is ever lost. While others write, sums may lack what is being written.
 *   - What a thread wrote before it called rx_sumtree_set is seen by any thread that got the priority so set, from
 *     rx_sumtree_sample, _find or _get. What it writes after rx_sumtree_set returned comes after the priorities set.
 *     So lazy writing works: priority 0, then the row, then the true priority; and who samples looks whether the slot
 *     has been claimed again once the row is copied.
 *   - A slot sampled had a priority above 0 when it was looked at, and that is the priority returned.
 *   - A process that dies in the middle of a write leaves sums above some leaves old. A sampler that is led to a
 *     priority 0 by such sums repairs the path; any later write to the same rows, or rx_sumtree_rebuild, repairs the rest.
 *
 * Why no write is lost: a writer stores children, makes a sequentially consistent fence, sums the row and stores the
 * parent, makes another fence and sums the row again, until the sum is what it stored. Let A be who stored a parent
 * last. If A's last look at the row missed a child stored by B, then A's fence came before B's, hence B, which stores
 * the parent after its fence, stored it later than A: so A was not the last. The second look is spared where the
 * counter of writes, incremented atomically before the first store, shows that there was no other writer since: a writer that
 * comes after that look stores the parents later. */
#ifndef RX_SUMTREE_H
#define RX_SUMTREE_H

#include "rl.h"      /* declares the operations */

#define RX_SUMTREE_LEVELS 33

/* Level 0 is that of the leaves, level [levels] that of the root alone. Rows of K siblings begin at multiples of their
 * size, up to 64 bytes: 16 float32 fill one cache line. A level is padded to whole rows with zeros, not to a power of K. */
struct rx_sumtree {
    uint64_t magic;                          /* written last: it is there once the block is a tree */
    uint64_t size;                           /* of the block, in bytes */
    uint64_t capacity;                       /* slots */
    uint32_t fanout, shift;                  /* K and its logarithm */
    uint32_t real_bytes;                     /* 4: float32, 8: float64 */
    uint32_t minima;                         /* 1: also keeps the least positive priority of each row */
    uint32_t levels, pad;
    uint64_t entries[RX_SUMTREE_LEVELS];     /* of each level, padding included */
    uint64_t sums[RX_SUMTREE_LEVELS];        /* where each level begins, in bytes from here */
    uint64_t least[RX_SUMTREE_LEVELS];       /* the same for the minima, level 0 being the leaves; 0 in a node: none */
    _Alignas(64) uint64_t writes;            /* low half: writers at work; high half: writes begun, modulo 2^32 */
};

#endif
