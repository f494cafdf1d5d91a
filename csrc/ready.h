/* The ready set of one worker: one bit a reaction, in rank order, a summary bit for each word that is not empty.
 * Every group of equal rank (deadline, need of others, level) begins a word of its own, so one word may be run as one
 * batch. Within a tag the sweep only goes up: what a reaction triggers has a higher rank. */
#ifndef RX_READY_H
#define RX_READY_H

#include <stdint.h>

typedef struct {
    uint64_t *words, *summary;
    uint32_t n_summary;
    uint32_t at;              /* summary words before this one are empty */
} rx_ready;

static inline void rx__ready_add(rx_ready *r, uint32_t word, uint64_t mask)
{
    r->words[word] |= mask;
    r->summary[word >> 6] |= 1ull << (word & 63);
}

/* The first word that is not empty, or -1. */
static inline int64_t rx__ready_first(rx_ready *r)
{
    for (; r->at < r->n_summary; r->at++)
        if (r->summary[r->at]) return (int64_t)r->at * 64 + __builtin_ctzll(r->summary[r->at]);
    return -1;
}

/* Takes all of a word: what is triggered while its reactions run has a higher rank, and so lies in a later one. */
static inline uint64_t rx__ready_take(rx_ready *r, uint32_t word)
{
    uint64_t all = r->words[word];
    r->words[word] = 0;
    r->summary[word >> 6] &= ~(1ull << (word & 63));
    return all;
}

static inline void rx__ready_remove(rx_ready *r, uint32_t word, uint64_t mask)
{
    r->words[word] &= ~mask;
    if (!r->words[word]) r->summary[word >> 6] &= ~(1ull << (word & 63));
}

#endif
