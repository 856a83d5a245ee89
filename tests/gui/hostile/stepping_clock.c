/* A wall clock that jumps a century or an hour back and forth with every look at it; clocks that cannot jump do not. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const long steps[] = {0, 3600, -3600, 86400 * 400L, -86400 * 400L, 3155760000L, -1700000000L, 7};
static atomic_uint looks;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += steps[atomic_fetch_add(&looks, 1) % (sizeof steps / sizeof *steps)];
    return (int)result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return result;
}

time_t time(time_t *now)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now != 0)
        *now = exact.tv_sec;
    return exact.tv_sec;
}
