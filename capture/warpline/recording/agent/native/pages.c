#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spool_internal.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels answer EINVAL and fault page by page */
#endif

static char zeros[256u << 10]; /* takes no memory: never written */

/* Allocates disk space and fills the pages with zeros: a page that is only allocated and mapped is read before its
 * first write, which costs several times as much. If writing fails, the pages are read instead. */
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

/* Disk space that was allocated can still be missing: copy-on-write file systems (btrfs) need more, also under a
 * quota. Touching the pages here returns an error where the program would get SIGBUS. */
void *spool_map_pages(int fd, uint64_t offset, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (memory == MAP_FAILED || madvise(memory, size, MADV_POPULATE_WRITE) == 0 || errno != EFAULT)
        return memory;
    munmap(memory, size);
    errno = ENOSPC;
    return MAP_FAILED;
}
