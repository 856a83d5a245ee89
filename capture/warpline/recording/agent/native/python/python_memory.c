#define _GNU_SOURCE
#include "python_memory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose.h"
#include "python_layout.h"
#include "sandbox.h"
#include "spool.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2 /* Linux 5.9 */
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define PIPE_BYTES (60u << 10)

__thread bool python_reads_own __attribute__((tls_model("initial-exec")));
/* Writing to a pipe fails if the memory cannot be read, like process_vm_readv, which takes three times as long. */
static __thread int pipe_ends[2] __attribute__((tls_model("initial-exec")));
static __thread bool has_pipe __attribute__((tls_model("initial-exec")));

/* Empties the pipe again. */
static bool copy_through_pipe(const struct iovec *to, int to_count, const struct iovec *from, int count, size_t size)
{
    long written = syscall(SYS_writev, (long)pipe_ends[1], from, (long)count);
    return written > 0 && syscall(SYS_readv, (long)pipe_ends[0], to, (long)to_count) == written &&
           (size_t)written == size;
}

long python_copy(const struct iovec *to, int to_count, const struct iovec *from, int count, size_t size)
{
    if (wl_is_confined() && !wl_is_own_thread)
        return -1;
    if (has_pipe && size <= PIPE_BYTES && copy_through_pipe(to, to_count, from, count, size))
        return (long)size;
    /* Also returns how many bytes were read. */
    return syscall(SYS_process_vm_readv, (long)wl_process, to, (long)to_count, from, (long)count, 0L);
}

bool python_read(void *to, uintptr_t from, size_t size)
{
    if (python_reads_own || (from - (uintptr_t)python.runtime < python.runtime_size &&
                             python.runtime_size - (from - (uintptr_t)python.runtime) >= size)) {
        memcpy(to, (const void *)from, size);
        return true;
    }
    struct iovec local = {to, size}, remote = {(void *)from, size};
    return python_copy(&local, 1, &remote, 1, size) == (long)size;
}

static long read_all(struct iovec *local, const struct python_place *places, int count)
{
    struct iovec remote[8];
    for (int i = 0; i < count; i++) {
        remote[i] = (struct iovec){(void *)places[i].from, places[i].size};
        local->iov_len += places[i].size;
    }
    return python_copy(local, 1, remote, count, local->iov_len);
}

bool python_read_places(void *to, const struct python_place *places, int count)
{
    struct iovec local = {to, 0};
    return read_all(&local, places, count) == (long)local.iov_len;
}

size_t python_read_most(void *to, const struct python_place *places, int count)
{
    struct iovec local = {to, 0};
    long size = read_all(&local, places, count);
    return size > 0 ? (size_t)size : 0;
}

void python_memory_read_often(void)
{
    if (syscall(SYS_close_range, 0L, (long)~0u, (long)CLOSE_RANGE_UNSHARE) != 0)
        return;
    has_pipe = pipe2(pipe_ends, O_NONBLOCK | O_CLOEXEC) == 0;
}
