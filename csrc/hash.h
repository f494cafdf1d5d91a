/* A hash of content: 64 bits of any bytes, the same on every machine and wherever the bytes lie.
 *
 * Long content goes in stripes of 64 bytes, eight sums side by side, each of which adds the product of the halves of what
 * it reads and, crosswise, that itself, so that no product hides it: compilers make vector instructions of that, as of
 * XXH3, from which the idea is. What is short, and what is left, is folded in by products of 128 bits, as wyhash does. It is
 * no cryptographic hash: it tells what differs by accident, not what somebody made to look the same. */
#ifndef RX_HASH_H
#define RX_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "both targets are; others would read words the other way round");

enum { RX_STRIPE = 64, RX_STRIPES = 16 };    /* bytes of one; how many before the sums are scrambled */

static const uint64_t rx__keys[8] = {        /* the fractional parts of the square roots of the first primes */
    0x6A09E667F3BCC909ull, 0xBB67AE8584CAA73Bull, 0x3C6EF372FE94F82Bull, 0xA54FF53A5F1D36F1ull,
    0x510E527FADE682D1ull, 0x9B05688C2B3E6C1Full, 0x1F83D9ABFB41BD6Bull, 0x5BE0CD19137E2179ull,
};

/* One more part of what is hashed, in its order. */
static inline uint64_t rx__fold(uint64_t h, uint64_t part)
{
    __uint128_t product = (__uint128_t)(h ^ rx__keys[0]) * (part ^ rx__keys[1]);
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ part * 0x9E3779B97F4A7C15ull ^ (h << 23 | h >> 41);
}

static inline uint64_t rx__word_at(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline void rx__add_stripe(uint64_t sums[8], const uint8_t *p)
{
    for (int i = 0; i < 8; i++) {
        uint64_t word = rx__word_at(p + 8 * i), keyed = word ^ rx__keys[i];
        sums[i ^ 1] += word;
        sums[i] += (keyed & 0xFFFFFFFFull) * (keyed >> 32);
    }
}

static inline uint64_t rx__hash(const void *data, size_t size)
{
    const uint8_t *p = data;
    size_t left = size;
    uint64_t h = rx__fold(rx__keys[2], size);
    if (left >= RX_STRIPE) {
        uint64_t sums[8];
        memcpy(sums, rx__keys, sizeof sums);
        for (size_t stripe = 1; left >= RX_STRIPE; stripe++, p += RX_STRIPE, left -= RX_STRIPE) {
            rx__add_stripe(sums, p);
            if (stripe % RX_STRIPES) continue;
            for (int i = 0; i < 8; i++) sums[i] = (sums[i] ^ sums[i] >> 47 ^ rx__keys[i]) * 0x9E3779B1ull;
        }
        for (int i = 0; i < 8; i++) h = rx__fold(h, sums[i]);
    }
    for (; left >= 8; p += 8, left -= 8) h = rx__fold(h, rx__word_at(p));
    uint64_t last = 0;
    if (left) memcpy(&last, p, left);
    h = rx__fold(h, last);
    return h ^ h >> 32;
}

#endif
