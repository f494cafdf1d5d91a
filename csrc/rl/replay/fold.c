/* What does a step return over the n steps that begin with it?
 *
 * The rows of a stream wait in a queue until n steps are there or the episode ends; then the first observation and
 * action, the discounted sum of the rewards, and where the last step led become one row. Its discount, gamma to the
 * number of steps, is what the value of the last observation counts for, unless the episode terminated. */
#include <string.h>

#include "replay.h"

static void overlay(const rx_replay_fold *a, const uint64_t *offsets, const uint64_t *bytes, const uint8_t *roles, int last_only,
                    const void *const *from, const uint64_t *strides, int64_t i, uint8_t *row)
{
    for (uint32_t f = 0; f < a->n_fields; f++)
        if (f != a->discount && (roles[f] || !last_only))
            memcpy(row + offsets[f], (const uint8_t *)from[f] + (uint64_t)i * strides[f], bytes[f]);
}

int64_t rx_replay_fold_rows(const rx_replay_fold *a, const uint64_t *offsets, const uint64_t *bytes, const uint8_t *roles, int64_t n,
                            const void *const *from, const uint64_t *strides, const int32_t *streams, uint8_t *pending, double *returns,
                            uint32_t *counts, uint8_t *out, int32_t *out_streams)
{
    int64_t made = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t stream = streams ? (uint64_t)streams[i] : 0;
        uint8_t *queue = pending + stream * a->n * a->row_bytes;
        double *sums = returns + stream * a->n;
        uint32_t waiting = counts[stream];
        overlay(a, offsets, bytes, roles, 0, from, strides, i, queue + waiting * a->row_bytes);
        sums[waiting++] = 0;
        float reward;
        memcpy(&reward, (const uint8_t *)from[a->reward] + (uint64_t)i * strides[a->reward], 4);
        double factor = 1;
        for (uint32_t j = waiting; j-- > 0; factor *= a->gamma) sums[j] += factor * (double)reward;
        int over = *((const uint8_t *)from[a->terminated] + (uint64_t)i * strides[a->terminated]) ||
                   *((const uint8_t *)from[a->truncated] + (uint64_t)i * strides[a->truncated]);
        uint32_t leaving = over ? waiting : waiting == a->n ? 1 : 0;
        for (uint32_t j = 0; j < leaving; j++) {
            uint8_t *row = out + (uint64_t)made * a->row_bytes;
            memcpy(row, queue + j * a->row_bytes, a->row_bytes);
            overlay(a, offsets, bytes, roles, 1, from, strides, i, row);
            double end = 1;
            for (uint32_t step = j; step < waiting; step++) end *= a->gamma;
            float sum = (float)sums[j], discount = (float)end;
            memcpy(row + offsets[a->reward], &sum, 4);
            memcpy(row + offsets[a->discount], &discount, 4);
            out_streams[made++] = (int32_t)stream;
        }
        counts[stream] = waiting - leaving;
        if (leaving && waiting > leaving) {
            memmove(queue, queue + leaving * a->row_bytes, (waiting - leaving) * a->row_bytes);
            memmove(sums, sums + leaving, (waiting - leaving) * sizeof *sums);
        }
    }
    return made;
}
