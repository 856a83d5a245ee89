/* Threads that meet at a barrier of libgomp, which waits without the C library: the first is late by its argument. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    long late_ms = count > 1 ? atol(arguments[1]) : 500;
#pragma omp parallel num_threads(2)
    {
        struct timespec late = {late_ms / 1000, late_ms % 1000 * 1000000}, from, to;
        if (omp_get_thread_num() == 0)
            nanosleep(&late, NULL);
        clock_gettime(CLOCK_MONOTONIC, &from);
#pragma omp barrier
        clock_gettime(CLOCK_MONOTONIC, &to);
        if (omp_get_thread_num() == 1)
            printf("%ld %lld %lld\n", (long)syscall(SYS_gettid), from.tv_sec * 1000000000ll + from.tv_nsec,
                   to.tv_sec * 1000000000ll + to.tv_nsec);
    }
    return 0;
}
