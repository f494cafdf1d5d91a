/* What goes into files: numbers in as few bytes as they take, and blocks with a checksum (reactors/tracing/blocks.py). */
#ifndef RX_COLUMNS_H
#define RX_COLUMNS_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "crc.h"

enum { RX_BLOCK_HEAD = 16 };  /* magic, kind, worker, size, checksum */

static inline uint64_t rx__folded(int64_t x) { return (uint64_t)x << 1 ^ (uint64_t)(x >> 63); }

static inline void rx__put_bytes(uint8_t *to, uint32_t x)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(x >> 8 * i);
}

/* A column in as few bytes a number as its greatest takes; how many these are. */
static inline uint8_t rx__put_column(const uint64_t *column, uint32_t n, uint8_t **to)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; i++) all |= column[i];
    uint8_t width = !all ? 0 : all < 1u << 8 ? 1 : all < 1u << 16 ? 2 : all < 1ull << 32 ? 4 : 8;
    uint8_t *p = *to;
    for (uint32_t i = 0; width && i < n; i++)
        for (uint8_t k = 0; k < width; k++) *p++ = (uint8_t)(column[i] >> 8 * k);
    *to = p;
    return width;
}

/* The head of a block before its content, which begins RX_BLOCK_HEAD bytes after it. */
static inline void rx__put_head(const rx__crcs *crcs, uint8_t *block, const char *magic, uint8_t kind, uint32_t worker, uint32_t size)
{
    memset(block, 0, RX_BLOCK_HEAD);
    memcpy(block, magic, 4);
    block[4] = kind;
    block[6] = (uint8_t)worker;
    block[7] = (uint8_t)(worker >> 8);
    rx__put_bytes(block + 8, size);
    rx__put_bytes(block + 12, rx__crc(crcs, 0, block, RX_BLOCK_HEAD + size));
}

/* 0, or errno. */
static inline int rx__write_all(int fd, const uint8_t *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t written = write(fd, data + done, n - done);
        if (written >= 0) done += (size_t)written;
        else if (errno != EINTR) return errno;
    }
    return 0;
}

#endif
