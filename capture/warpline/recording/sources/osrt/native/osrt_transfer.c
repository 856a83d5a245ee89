/* Less common ways to read, write, close and wait: vectors at an offset, from descriptor to descriptor, many messages
 * or descriptors at once, file locks, System V semaphores. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 32 /* the plain names, not their 64-bit twins */
#undef _FORTIFY_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "osrt_measure.h"

/* Newer than the oldest C library this is built against. */
ssize_t preadv2(int, const struct iovec *, int, off_t, int);
ssize_t preadv64v2(int, const struct iovec *, int, off64_t, int);
ssize_t pwritev2(int, const struct iovec *, int, off_t, int);
ssize_t pwritev64v2(int, const struct iovec *, int, off64_t, int);
ssize_t copy_file_range(int, off64_t *, int, off64_t *, size_t, unsigned int);
int epoll_pwait2(int, struct epoll_event *, int, const struct timespec *, const sigset_t *);
int fcntl64(int, int, ...);
int close_range(unsigned int, unsigned int, int);
void closefrom(int);
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/* A program that looks the function up finds ours. */
#define WHERE_THERE_IS(name)                \
    do {                                    \
        if (UNLIKELY(REAL(name) == NULL)) { \
            errno = ENOSYS;                 \
            return -1;                      \
        }                                   \
    } while (0)

EXPORT ssize_t preadv(int fd, const struct iovec *parts, int count, off_t at)
{
    ON_DESCRIPTOR(OSRT_PREAD, fd, REAL(preadv)(fd, parts, count, at));
}

EXPORT ssize_t preadv64(int fd, const struct iovec *parts, int count, off64_t at)
{
    ON_DESCRIPTOR(OSRT_PREAD, fd, REAL(preadv64)(fd, parts, count, at));
}

EXPORT ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t at, int flags)
{
    WHERE_THERE_IS(preadv2);
    ON_DESCRIPTOR(OSRT_PREAD, fd, REAL(preadv2)(fd, parts, count, at, flags));
}

EXPORT ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off64_t at, int flags)
{
    WHERE_THERE_IS(preadv64v2);
    ON_DESCRIPTOR(OSRT_PREAD, fd, REAL(preadv64v2)(fd, parts, count, at, flags));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    ON_DESCRIPTOR(OSRT_PWRITE, fd, REAL(pwritev)(fd, parts, count, at));
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    ON_DESCRIPTOR(OSRT_PWRITE, fd, REAL(pwritev64)(fd, parts, count, at));
}

EXPORT ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t at, int flags)
{
    WHERE_THERE_IS(pwritev2);
    ON_DESCRIPTOR(OSRT_PWRITE, fd, REAL(pwritev2)(fd, parts, count, at, flags));
}

EXPORT ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t at, int flags)
{
    WHERE_THERE_IS(pwritev64v2);
    ON_DESCRIPTOR(OSRT_PWRITE, fd, REAL(pwritev64v2)(fd, parts, count, at, flags));
}

EXPORT ssize_t __pread_chk(int fd, void *to, size_t size, off_t at, size_t room)
{
    ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
    ON_DESCRIPTOR(OSRT_PREAD, fd, REAL(__pread_chk)(fd, to, size, at, room));
}

EXPORT ssize_t __pread64_chk(int fd, void *to, size_t size, off64_t at, size_t room)
{
    ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
    ON_DESCRIPTOR(OSRT_PREAD, fd, REAL(__pread64_chk)(fd, to, size, at, room));
}

EXPORT ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags)
{
    ssize_t __recv_chk(int, void *, size_t, size_t, int);
    ON_DESCRIPTOR(OSRT_RECV, fd, REAL(__recv_chk)(fd, to, size, room, flags));
}

EXPORT ssize_t __recvfrom_chk(int fd, void *to, size_t size, size_t room, int flags, __SOCKADDR_ARG from,
                              socklen_t *length)
{
    ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, __SOCKADDR_ARG, socklen_t *);
    ON_DESCRIPTOR(OSRT_RECV, fd, REAL(__recvfrom_chk)(fd, to, size, room, flags, from, length));
}

EXPORT int __poll_chk(struct pollfd *descriptors, nfds_t count, int timeout, size_t room)
{
    int __poll_chk(struct pollfd *, nfds_t, int, size_t);
    if (timeout == 0)
        return REAL(__poll_chk)(descriptors, count, timeout, room);
    MEASURE(OSRT_POLL, count == 1 ? descriptors->fd : -1, count, NULL,
            REAL(__poll_chk)(descriptors, count, timeout, room));
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags, struct timespec *timeout)
{
    ON_DESCRIPTOR(OSRT_RECV, fd, REAL(recvmmsg)(fd, messages, count, flags, timeout));
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags)
{
    ON_DESCRIPTOR(OSRT_SEND, fd, REAL(sendmmsg)(fd, messages, count, flags));
}

/* Mostly from a file into a socket: the other end takes long. */
EXPORT ssize_t sendfile(int to, int from, off_t *at, size_t size)
{
    ON_DESCRIPTOR(OSRT_SEND, to, REAL(sendfile)(to, from, at, size));
}

EXPORT ssize_t sendfile64(int to, int from, off64_t *at, size_t size)
{
    ON_DESCRIPTOR(OSRT_SEND, to, REAL(sendfile64)(to, from, at, size));
}

EXPORT ssize_t splice(int from, off64_t *from_at, int to, off64_t *to_at, size_t size, unsigned int flags)
{
    ON_DESCRIPTOR(OSRT_READ, from, REAL(splice)(from, from_at, to, to_at, size, flags));
}

EXPORT ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t size, unsigned int flags)
{
    WHERE_THERE_IS(copy_file_range);
    ON_DESCRIPTOR(OSRT_WRITE, to, REAL(copy_file_range)(from, from_at, to, to_at, size, flags));
}

EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int count, const struct timespec *timeout,
                        const sigset_t *mask)
{
    WHERE_THERE_IS(epoll_pwait2);
    if (timeout != NULL && timeout->tv_sec == 0 && timeout->tv_nsec == 0)
        return REAL(epoll_pwait2)(fd, events, count, timeout, mask);
    ON_DESCRIPTOR(OSRT_EPOLL_WAIT, fd, REAL(epoll_pwait2)(fd, events, count, timeout, mask));
}

EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
    WHERE_THERE_IS(close_range);
    if (!(flags & CLOSE_RANGE_CLOEXEC))
        osrt_forget_descriptors(first, last);
    return REAL(close_range)(first, last, flags);
}

EXPORT void closefrom(int first)
{
    unsigned int from = first < 0 ? 0 : (unsigned int)first;
    osrt_forget_descriptors(from, UINT_MAX);
    if (LIKELY(REAL(closefrom) != NULL)) {
        REAL(closefrom)(first);
        return;
    }
    for (long most = sysconf(_SC_OPEN_MAX); from < most; from++)
        close((int)from);
}

EXPORT int socketpair(int domain, int type, int protocol, int ends[2])
{
    int result = REAL(socketpair)(domain, type, protocol, ends);
    if (result == 0 && osrt_is_on()) {
        int saved_errno = errno;
        osrt_note_pair(ends);
        errno = saved_errno;
    }
    return result;
}

EXPORT int sigsuspend(const sigset_t *mask) { MEASURE(OSRT_SIGNAL_WAIT, -1, 0, NULL, REAL(sigsuspend)(mask)); }

/* File locks: only the commands that wait. Copies of descriptors are noted. The third argument is one word whatever
 * its type. */
#define CONTROL(name)                                             \
    va_list more;                                                 \
    va_start(more, command);                                      \
    void *argument = va_arg(more, void *);                        \
    va_end(more);                                                 \
    if (LIKELY(command != F_SETLKW && command != F_OFD_SETLKW)) { \
        int done = REAL(name)(fd, command, argument);             \
        if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)     \
            osrt_note_copy(fd, done);                             \
        return done;                                              \
    }                                                             \
    ON_DESCRIPTOR(OSRT_LOCKF, fd, REAL(name)(fd, command, argument))

EXPORT int fcntl(int fd, int command, ...) { CONTROL(fcntl); }
EXPORT int fcntl64(int fd, int command, ...) { CONTROL(fcntl64); }

EXPORT int semop(int id, struct sembuf *operations, size_t count)
{
    MEASURE(OSRT_SEMAPHORE, -1, id, NULL, REAL(semop)(id, operations, count));
}

EXPORT int semtimedop(int id, struct sembuf *operations, size_t count, const struct timespec *timeout)
{
    MEASURE(OSRT_SEMAPHORE, -1, id, NULL, REAL(semtimedop)(id, operations, count, timeout));
}
