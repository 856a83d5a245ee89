#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spool_internal.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels answer EINVAL and fault page by page */
#endif

static char zeros[256u << 10]; /* takes no memory: nobody writes here */

/* Room on the disk, and pages of zeros in memory: a page of reserved room that is only mapped is read before it is
 * written, which costs several times as much. Where they cannot be written, they are read. */
int spool_reserve_pages(int fd, uint64_t offset, size_t size)
{
    int error;
    do {
        error = posix_fallocate(fd, (off_t)offset, (off_t)size);
    } while (error == EINTR);
    for (uint64_t done = 0; error == 0 && done < size;) {
        size_t part = size - done < sizeof zeros ? size - done : sizeof zeros;
        ssize_t written = pwrite(fd, zeros, part, (off_t)(offset + done));
        if (written <= 0)
            break;
        done += (uint64_t)written;
    }
    return error;
}

/* Room that was reserved may be none: a file system that copies what is written (btrfs) looks for more then, also under a
 * quota. What would be a SIGBUS in the program is told here. */
void *spool_map_pages(int fd, uint64_t offset, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (memory == MAP_FAILED || madvise(memory, size, MADV_POPULATE_WRITE) == 0 || errno != EFAULT)
        return memory;
    munmap(memory, size);
    errno = ENOSPC;
    return MAP_FAILED;
}
