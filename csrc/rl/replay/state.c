/* What may a buffer take over from elsewhere, a file or another process, whatever made it?
 *
 * Rows and their positions in episodes may be any bytes: they are copied and compared. What leads to places in memory is
 * looked at here, once, before it is used: the numbers of rows and frames, and the priorities, whose sums are never
 * taken over but made again. */
#include <math.h>
#include <string.h>

#include "replay.h"

#define NUMBERS (1ull << 39)      /* rows of a stream: half of what a word has room for */
#define FRAMES (1ull << 62)

_Static_assert(offsetof(rx__replay_header, greatest) == RX_REPLAY_GREATEST, "as api.inc has it");
_Static_assert(offsetof(rx__replay_header, late) == RX_REPLAY_COUNTERS, "as api.inc has it");
_Static_assert(RX__NUMBER == RX_REPLAY_NUMBER, "as api.inc has it");

typedef struct { uint64_t next, oldest, frames, step; } stream;

static int is_greatest(uint64_t word)
{
    uint32_t bits = (uint32_t)word;
    float p;
    memcpy(&p, &bits, 4);
    return word == bits && p > 0 && isfinite(p);
}

static int has_frames(const rx_replay_shape *shape, const rx_replay_state *s, const stream *of, uint64_t slot)
{
    for (int k = 0; k < 2; k++) {
        if (!s->last[k]) continue;
        uint64_t end = s->last[k][slot] + 1;
        if (end < shape->stack || end > of->frames || end - shape->stack + shape->n_frames < of->frames) return 0;
    }
    return 1;
}

int rx_replay_check(const rx_replay_shape *shape, const rx_replay_state *s)
{
    const stream *streams = (const stream *)s->streams;
    if (!is_greatest(*s->greatest)) return 1;
    for (uint64_t i = 0; i < shape->streams; i++)
        if (streams[i].next > NUMBERS || streams[i].oldest > streams[i].next || streams[i].frames > FRAMES) return 2;
    for (uint64_t slot = 0; slot < shape->streams * shape->share; slot++) {
        const stream *of = &streams[slot / shape->share];
        uint64_t word = s->words[slot], number = (word >> RX__NUMBER) - 1;
        int is_there = word >> RX__NUMBER != 0;
        if (is_there ? number >= of->next || number % shape->share != slot % shape->share : word != 0) return 3;
        if (s->priorities) {
            float p = s->priorities[slot];
            if (!(p >= 0 && isfinite(p)) || (p > 0 && !is_there)) return 4;
        }
        if (is_there && !(word & RX__WRITING) && number >= of->oldest && !has_frames(shape, s, of, slot)) return 5;
    }
    return 0;
}

void rx_replay_settle(rx_replay *r)
{
    for (uint64_t slot = 0; slot < r->n_streams * r->share; slot++) {
        uint64_t *word = &rx__row_at(r, slot)->word, there = rx__get(word);
        if (there & RX__WRITING) rx__let_row_go(r, slot);
        else rx__put(word, there >> RX__NUMBER << RX__NUMBER);
    }
    if (r->tree) rx_sumtree_rebuild(r->tree);
}
