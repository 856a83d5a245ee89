/* Input, output, sleeping and waiting for children. Programs call these functions instead of the C library's, which
 * they call. Compilers turn plain names into `__…_chk` and `…64`. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 32 /* the plain names, not their 64-bit twins */
#undef _FORTIFY_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "osrt_measure.h"

/* --- reading and writing */

EXPORT ssize_t read(int fd, void *to, size_t size) { ON_DESCRIPTOR(OSRT_READ, fd, REAL(read)(fd, to, size)); }

EXPORT ssize_t __read_chk(int fd, void *to, size_t size, size_t room)
{
    ssize_t __read_chk(int, void *, size_t, size_t);
    ON_DESCRIPTOR(OSRT_READ, fd, REAL(__read_chk)(fd, to, size, room));
}

/* Keeps `written` bytes of these parts if they went to the standard error. */
static ssize_t kept(int fd, const struct iovec *parts, int count, ssize_t written)
{
    if (LIKELY(fd != STDERR_FILENO))
        return written;
    ssize_t rest = written;
    for (int part = 0; part < count && rest > 0; part++) {
        size_t size = parts[part].iov_len < (size_t)rest ? parts[part].iov_len : (size_t)rest;
        wl_keep_error_text(parts[part].iov_base, size);
        rest -= (ssize_t)size;
    }
    return written;
}

EXPORT ssize_t write(int fd, const void *from, size_t size)
{
    ON_DESCRIPTOR(OSRT_WRITE, fd, kept(fd, &(struct iovec){(void *)from, size}, 1, REAL(write)(fd, from, size)));
}

EXPORT ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    ON_DESCRIPTOR(OSRT_PREAD, fd, REAL(pread)(fd, to, size, at));
}

EXPORT ssize_t pread64(int fd, void *to, size_t size, off64_t at)
{
    ON_DESCRIPTOR(OSRT_PREAD, fd, REAL(pread64)(fd, to, size, at));
}

EXPORT ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
    ON_DESCRIPTOR(OSRT_PWRITE, fd, REAL(pwrite)(fd, from, size, at));
}

EXPORT ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at)
{
    ON_DESCRIPTOR(OSRT_PWRITE, fd, REAL(pwrite64)(fd, from, size, at));
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
    ON_DESCRIPTOR(OSRT_READV, fd, REAL(readv)(fd, parts, count));
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
    ON_DESCRIPTOR(OSRT_WRITEV, fd, kept(fd, parts, count, REAL(writev)(fd, parts, count)));
}

/* --- sockets */

EXPORT ssize_t recv(int fd, void *to, size_t size, int flags)
{
    ON_DESCRIPTOR(OSRT_RECV, fd, REAL(recv)(fd, to, size, flags));
}

EXPORT ssize_t recvfrom(int fd, void *to, size_t size, int flags, __SOCKADDR_ARG from, socklen_t *length)
{
    ON_DESCRIPTOR(OSRT_RECV, fd, REAL(recvfrom)(fd, to, size, flags, from, length));
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    ON_DESCRIPTOR(OSRT_RECV, fd, REAL(recvmsg)(fd, message, flags));
}

EXPORT ssize_t send(int fd, const void *from, size_t size, int flags)
{
    ON_DESCRIPTOR(OSRT_SEND, fd, REAL(send)(fd, from, size, flags));
}

EXPORT ssize_t sendto(int fd, const void *from, size_t size, int flags, __CONST_SOCKADDR_ARG to, socklen_t length)
{
    ON_DESCRIPTOR(OSRT_SEND, fd, REAL(sendto)(fd, from, size, flags, to, length));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ON_DESCRIPTOR(OSRT_SEND, fd, REAL(sendmsg)(fd, message, flags));
}

/* glibc declares a union of address pointers; pass one of them. */
static int accepted(int fd, __SOCKADDR_ARG peer, const socklen_t *length, int descriptor)
{
    if (descriptor >= 0)
        osrt_note_accepted(fd, descriptor, peer.__sockaddr__, length);
    return descriptor;
}

EXPORT int accept(int fd, __SOCKADDR_ARG peer, socklen_t *length)
{
    ON_DESCRIPTOR(OSRT_ACCEPT, fd, accepted(fd, peer, length, REAL(accept)(fd, peer, length)));
}

EXPORT int accept4(int fd, __SOCKADDR_ARG peer, socklen_t *length, int flags)
{
    ON_DESCRIPTOR(OSRT_ACCEPT, fd, accepted(fd, peer, length, REAL(accept4)(fd, peer, length, flags)));
}

EXPORT int connect(int fd, __CONST_SOCKADDR_ARG peer, socklen_t length)
{
    osrt_forget_descriptor(fd);
    if (osrt_is_on())
        osrt_note_connecting(fd, peer.__sockaddr__, length);
    ON_DESCRIPTOR(OSRT_CONNECT, fd, ({
                      int result = REAL(connect)(fd, peer, length);
                      if (result == 0)
                          osrt_note_connected(fd, peer.__sockaddr__);
                      result;
                  }));
}

EXPORT int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    MEASURE(OSRT_GETADDRINFO, -1, 0, host, REAL(getaddrinfo)(host, service, hints, found));
}

/* --- waiting for descriptors */

/* The descriptor of a poll with only one, as most are. The compiler believes that `poll` only writes its argument,
 * and would warn of this read. */
static int only_one(const void *descriptors, nfds_t count)
{
    int first = -1;
    __asm__("" : "+r"(descriptors));
    if (count == 1)
        memcpy(&first, descriptors, sizeof first);
    return first;
}

/* With a timeout of 0 none of these can wait. */

EXPORT int poll(struct pollfd *descriptors, nfds_t count, int timeout)
{
    if (timeout == 0)
        return REAL(poll)(descriptors, count, timeout);
    MEASURE(OSRT_POLL, only_one(descriptors, count), count, NULL, REAL(poll)(descriptors, count, timeout));
}

EXPORT int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    MEASURE(OSRT_POLL, only_one(descriptors, count), count, NULL, REAL(ppoll)(descriptors, count, timeout, mask));
}

EXPORT int select(int count, fd_set *read, fd_set *write, fd_set *except, struct timeval *timeout)
{
    MEASURE(OSRT_SELECT, -1, count, NULL, REAL(select)(count, read, write, except, timeout));
}

EXPORT int pselect(int count, fd_set *read, fd_set *write, fd_set *except, const struct timespec *timeout,
                   const sigset_t *mask)
{
    MEASURE(OSRT_SELECT, -1, count, NULL, REAL(pselect)(count, read, write, except, timeout, mask));
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int count, int timeout)
{
    if (timeout == 0)
        return REAL(epoll_wait)(fd, events, count, timeout);
    ON_DESCRIPTOR(OSRT_EPOLL_WAIT, fd, REAL(epoll_wait)(fd, events, count, timeout));
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int count, int timeout, const sigset_t *mask)
{
    if (timeout == 0)
        return REAL(epoll_pwait)(fd, events, count, timeout, mask);
    ON_DESCRIPTOR(OSRT_EPOLL_WAIT, fd, REAL(epoll_pwait)(fd, events, count, timeout, mask));
}

/* --- files */

static mode_t mode_of(int flags, va_list more) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; }

#define OPENING(what)                   \
    va_list more;                       \
    va_start(more, flags);              \
    mode_t mode = mode_of(flags, more); \
    va_end(more);                       \
    MEASURE(OSRT_OPEN, -1, 0, path, what)

EXPORT int open(const char *path, int flags, ...) { OPENING(REAL(open)(path, flags, mode)); }
EXPORT int open64(const char *path, int flags, ...) { OPENING(REAL(open64)(path, flags, mode)); }
EXPORT int openat(int at, const char *path, int flags, ...) { OPENING(REAL(openat)(at, path, flags, mode)); }
EXPORT int openat64(int at, const char *path, int flags, ...) { OPENING(REAL(openat64)(at, path, flags, mode)); }

/* The C library open_call it itself, in its own folder. */
EXPORT int shm_open(const char *name, int flags, mode_t mode)
{
    char path[NAME_MAX + sizeof "/dev/shm/"];
    if (UNLIKELY(REAL(shm_open) == NULL)) {
        errno = ENOSYS;
        return -1;
    }
    if (!osrt_is_on())
        return REAL(shm_open)(name, flags, mode);
    snprintf(path, sizeof path, "/dev/shm/%s", name + strspn(name, "/"));
    MEASURE(OSRT_OPEN, -1, 0, path, REAL(shm_open)(name, flags, mode));
}

EXPORT int close(int fd)
{
    osrt_forget_descriptor(fd);
    return REAL(close)(fd);
}

static int copied(int from, int to)
{
    osrt_note_copy(from, to);
    return to;
}

EXPORT int dup(int from) { return copied(from, REAL(dup)(from)); }

EXPORT int dup2(int from, int to)
{
    osrt_forget_descriptor(to);
    return copied(from, REAL(dup2)(from, to));
}

EXPORT int dup3(int from, int to, int flags)
{
    osrt_forget_descriptor(to);
    return copied(from, REAL(dup3)(from, to, flags));
}

EXPORT int fsync(int fd) { ON_DESCRIPTOR(OSRT_FSYNC, fd, REAL(fsync)(fd)); }
EXPORT int fdatasync(int fd) { ON_DESCRIPTOR(OSRT_FDATASYNC, fd, REAL(fdatasync)(fd)); }
EXPORT int msync(void *at, size_t size, int flags) { MEASURE(OSRT_MSYNC, -1, at, NULL, REAL(msync)(at, size, flags)); }
EXPORT int flock(int fd, int operation) { ON_DESCRIPTOR(OSRT_FLOCK, fd, REAL(flock)(fd, operation)); }
EXPORT int lockf(int fd, int command, off_t size) { ON_DESCRIPTOR(OSRT_LOCKF, fd, REAL(lockf)(fd, command, size)); }
EXPORT int lockf64(int fd, int command, off64_t size)
{
    ON_DESCRIPTOR(OSRT_LOCKF, fd, REAL(lockf64)(fd, command, size));
}

/* --- sleeping */

EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
    MEASURE(OSRT_SLEEP, -1, 0, NULL, REAL(nanosleep)(time, left));
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    MEASURE(OSRT_SLEEP, -1, 0, NULL, REAL(clock_nanosleep)(clock, flags, time, left));
}

EXPORT int usleep(useconds_t time) { MEASURE(OSRT_SLEEP, -1, 0, NULL, REAL(usleep)(time)); }
EXPORT unsigned int sleep(unsigned int time) { MEASURE(OSRT_SLEEP, -1, 0, NULL, REAL(sleep)(time)); }
EXPORT int pause(void) { MEASURE(OSRT_SIGNAL_WAIT, -1, 0, NULL, REAL(pause)()); }

EXPORT int sigwait(const sigset_t *set, int *number)
{
    MEASURE(OSRT_SIGNAL_WAIT, -1, 0, NULL, REAL(sigwait)(set, number));
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    MEASURE(OSRT_SIGNAL_WAIT, -1, 0, NULL, REAL(sigtimedwait)(set, info, timeout));
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    MEASURE(OSRT_SIGNAL_WAIT, -1, 0, NULL, REAL(sigwaitinfo)(set, info));
}

/* --- children */

EXPORT pid_t wait(int *status) { MEASURE(OSRT_WAIT, -1, 0, NULL, REAL(wait)(status)); }

EXPORT pid_t waitpid(pid_t child, int *status, int options)
{
    MEASURE(OSRT_WAIT, -1, child, NULL, REAL(waitpid)(child, status, options));
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
    MEASURE(OSRT_WAIT, -1, 0, NULL, REAL(wait3)(status, options, usage));
}

EXPORT pid_t wait4(pid_t child, int *status, int options, struct rusage *usage)
{
    MEASURE(OSRT_WAIT, -1, child, NULL, REAL(wait4)(child, status, options, usage));
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    MEASURE(OSRT_WAIT, -1, id, NULL, REAL(waitid)(type, id, info, options));
}
