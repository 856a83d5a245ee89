/* CPU time of calls as a program makes them, in ns per call: best of several rounds. As a program: call_costs WHAT N,
 * where WHAT is read, mutex or semaphore. As a library, for Python: call_cost(WHAT, N). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 15

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void reads(long n)
{
    static int zeros = -1;
    char byte;
    if (zeros < 0)
        zeros = open("/dev/zero", O_RDONLY);
    for (long i = 0; i < n; i++)
        if (read(zeros, &byte, 1) != 1)
            abort();
}

static void mutexes(long n)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    for (long i = 0; i < n; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

static void semaphores(long n)
{
    static sem_t semaphore;
    sem_init(&semaphore, 0, 1);
    for (long i = 0; i < n; i++) {
        sem_wait(&semaphore);
        sem_post(&semaphore);
    }
}

double call_cost(const char *what, long n)
{
    void (*calls)(long) = strcmp(what, "read") == 0 ? reads : strcmp(what, "mutex") == 0 ? mutexes : semaphores;
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double began = cpu_ns();
        calls(n);
        double taken = (cpu_ns() - began) / (double)n;
        best = taken < best ? taken : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    printf("%.1f\n", call_cost(argv[1], atol(argv[2])));
    return 0;
}
