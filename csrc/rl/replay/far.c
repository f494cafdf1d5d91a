/* How do images by the hundred get out, as fast as memory gives them?
 *
 * They fit no cache, so that stores go past it: that spares reading first what is overwritten. What is left is waiting for
 * rows that lie anywhere. One core has room for some tens of lines that are on their way, and fills it only if they are
 * asked for ahead, beyond the end of a page, where the processor does not look by itself, and beyond the end of a row; a row
 * is copied in parts side by side, so that the pages are looked up side by side as well. */
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "replay.h"

#define FAR 4096        /* bytes from which on this pays */
#define PARTS 4
#define AHEAD 1024      /* bytes of each part */

#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
static inline void copy_line(uint8_t *to, const uint8_t *from)
{
    __m128i a = _mm_loadu_si128((const __m128i *)from), b = _mm_loadu_si128((const __m128i *)(from + 16));
    __m128i c = _mm_loadu_si128((const __m128i *)(from + 32)), d = _mm_loadu_si128((const __m128i *)(from + 48));
    _mm_stream_si128((__m128i *)to, a);
    _mm_stream_si128((__m128i *)(to + 16), b);
    _mm_stream_si128((__m128i *)(to + 32), c);
    _mm_stream_si128((__m128i *)(to + 48), d);
}

void rx__copy_far(void *into, const void *source, size_t bytes, const void *after)
{
    uint8_t *to = into;
    const uint8_t *from = source, *next = after;
    if (bytes < FAR) {
        memcpy(to, from, bytes);
        return;
    }
    size_t head = -(uintptr_t)to & 63, part = (bytes - head) / (64 * PARTS) * 64;
    memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (size_t at = 0; at < part; at += 64)
        for (size_t i = 0; i < PARTS * part; i += part) {
            __builtin_prefetch(at + AHEAD < part ? from + i + at + AHEAD : next + i + at + AHEAD - part);
            copy_line(to + i + at, from + i + at);
        }
    memcpy(to + PARTS * part, from + PARTS * part, bytes - PARTS * part);
    _mm_sfence();
}
#else
void rx__copy_far(void *to, const void *from, size_t bytes, const void *after)
{
    (void)after;
    rx__copy_out(to, from, bytes);
}
#endif
