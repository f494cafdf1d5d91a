/* The checksum of zlib and of PNG, eight bytes at a time. */
#ifndef RX_CRC_H
#define RX_CRC_H

#include <stddef.h>
#include <stdint.h>

typedef struct { uint32_t of[8][256]; } rx__crcs;

static inline void rx__crc_fill(rx__crcs *t)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        t->of[0][i] = c;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++) t->of[k][i] = t->of[0][t->of[k - 1][i] & 255] ^ (t->of[k - 1][i] >> 8);
}

/* Of what has the checksum [c] and then these bytes; begin with 0. */
static inline uint32_t rx__crc(const rx__crcs *t, uint32_t c, const void *data, size_t n)
{
    const uint8_t *p = data;
    c = ~c;
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low = c ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        c = t->of[7][low & 255] ^ t->of[6][low >> 8 & 255] ^ t->of[5][low >> 16 & 255] ^ t->of[4][low >> 24] ^
            t->of[3][p[4]] ^ t->of[2][p[5]] ^ t->of[1][p[6]] ^ t->of[0][p[7]];
    }
    for (; n; n--, p++) c = t->of[0][(c ^ *p) & 255] ^ (c >> 8);
    return ~c;
}

#endif
