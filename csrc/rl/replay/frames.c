/* How does an observation of several frames cost one?
 *
 * A stream has a ring of frames beside its rows. What follows an observation shares all but its last frame with it, and
 * the next observation is what followed the last one: so a step adds one frame. Whatever does not continue what is there, a new
 * episode above all, has all of its frames kept; nothing is assumed about how stacks are filled up, they are compared.
 * Rows whose frames are overwritten are given up first. One thread at a time may do this for a stream. */
#include <string.h>
#include <unistd.h>

#include "replay.h"

static uint8_t *frame_at(const rx_replay *r, uint64_t stream, uint64_t number)
{
    const rx_replay_shape *a = &r->shape;
    return r->base + a->frames + (stream * a->n_frames + number % a->n_frames) * a->frame_bytes;
}

static uint64_t first_frame(const rx_replay *r, uint64_t slot)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t k = 0; k < r->n_fields; k++)
        if (r->fields[k].sampled != r->fields[k].bytes) {
            uint64_t last;
            memcpy(&last, rx__field_at(r, &r->fields[k], slot), 8);
            least = last < least ? last : least;
        }
    return least + 1 - r->shape.stack;
}

/* Rows that need frame [number] or one before it are gone from now on. */
static int give_up(rx_replay *r, uint64_t stream, uint64_t number)
{
    rx__stream *s = &r->streams[stream];
    uint64_t next, oldest = rx__oldest(r, stream, &next);
    for (; oldest < next; oldest++) {
        uint64_t slot = stream * r->share + oldest % r->share;
        if (rx__get(&rx__row_at(r, slot)->word) >> RX__NUMBER != oldest + 1) continue;      /* never written */
        if (first_frame(r, slot) > number) break;
        rx__put(&s->oldest, oldest + 1);
        int ours = rx__claim(r, slot, oldest, 1);
        if (ours < 0) return ours;
        if (ours) rx__let_row_go(r, slot);
    }
    rx__put(&s->oldest, oldest);
    return 0;
}

static int keep(rx_replay *r, uint64_t stream, const uint8_t *frames, uint64_t n)
{
    rx__stream *s = &r->streams[stream];
    for (uint64_t i = 0; i < n; i++) {
        uint64_t number = rx__get(&s->frames);
        if (number >= r->shape.n_frames) {
            int failed = give_up(r, stream, number - r->shape.n_frames);
            if (failed) return failed;
        }
        rx__copy_in(frame_at(r, stream, number), frames + i * r->shape.frame_bytes, r->shape.frame_bytes);
        rx__put(&s->frames, number + 1);
    }
    return 0;
}

/* Whether the latest [n] frames of a stream are these. */
static int are_there(const rx_replay *r, uint64_t stream, const uint8_t *frames, uint64_t n)
{
    uint64_t written = r->streams[stream].frames;
    if (written < n) return 0;
    for (uint64_t i = n; i-- > 0;)      /* from the last, which says most */
        if (memcmp(frame_at(r, stream, written - n + i), frames + i * r->shape.frame_bytes, r->shape.frame_bytes)) return 0;
    return 1;
}

int64_t rx_replay_frames(rx_replay *r, int64_t n, const int32_t *streams, const uint8_t *obs, uint64_t obs_stride, const uint8_t *next,
                         uint64_t next_stride, uint64_t *obs_frames, uint64_t *next_frames)
{
    uint64_t k = r->shape.stack, bytes = r->shape.frame_bytes;
    rx__put(&r->process, (uint64_t)getpid());
    for (int64_t i = 0; i < n; i++, obs += obs_stride, next += next_stride) {
        uint64_t stream = streams ? (uint64_t)streams[i] : 0;
        int failed = 0;
        if (!are_there(r, stream, obs, k)) failed = keep(r, stream, obs, k);
        if (failed) return failed;
        obs_frames[i] = r->streams[stream].frames - 1;
        int goes_on = !memcmp(next, obs + bytes, (k - 1) * bytes);
        failed = goes_on ? keep(r, stream, next + (k - 1) * bytes, 1) : keep(r, stream, next, k);
        if (failed) return failed;
        next_frames[i] = r->streams[stream].frames - 1;
    }
    return n;
}
