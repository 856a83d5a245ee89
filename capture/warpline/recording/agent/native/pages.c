#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "spool_internal.h"

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
