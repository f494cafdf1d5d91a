#include "arena.h"

#include <errno.h>
#include <fcntl.h>

#include "shared.h"

/* A region for a value that outgrew its slot, behind the image in the same file. The mapping reaches beyond the image,
 * so every process sees it at once. The pages are taken now: a lack of memory is an answer here and never a SIGBUS
 * later. Regions are kept by their slot and used again. */
uint64_t rx_spill(void *base, int fd, uint64_t bytes)
{
    rx_image *image = rx__image(base);
    uint64_t size = (bytes + 4095) & ~4095ull;
    uint64_t offset = rx__add(&image->spill, size);
    int error;
    if (offset + size > image->limit) return 0;
    do error = posix_fallocate(fd, (off_t)offset, (off_t)size); while (error == EINTR);
    return error ? 0 : offset;
}
