#include "arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "shared.h"

/* Not through Python's mmap, which keeps the descriptor open for as long as an array of it is in use. */
void *rx_map(int fd, uint64_t length)
{
    void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return base == MAP_FAILED ? NULL : base;
}

int rx_unmap(void *base, uint64_t length) { return munmap(base, length); }

/* A region for a value that outgrew its slot, behind the image in the same file. The mapping reaches beyond the image,
 * so every process sees it at once. The pages are taken now: a lack of memory is an answer here and never a SIGBUS
 * later. Regions are kept by their slot and used again. */
uint64_t rx_spill(void *base, int fd, uint64_t bytes)
{
    rx_image *image = rx__image(base);
    uint64_t size = (bytes + 4095) & ~4095ull;
    uint64_t offset = rx__get(&image->spill);
    int error;
    do {
        if (size > image->limit - offset) return 0;
    } while (!rx__swap_if(&image->spill, &offset, offset + size));
    do error = posix_fallocate(fd, (off_t)offset, (off_t)size); while (error == EINTR);
    return error ? 0 : offset;
}
