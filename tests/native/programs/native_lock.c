/* A program without Python: a thread holds a mutex, and the main thread waits for it. */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t is_held;

static __attribute__((noinline)) void let_go(void)
{
    pthread_mutex_unlock(&mutex);
    __asm__("");
}

static void *hold(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&is_held);
    while (__atomic_load_n(&mutex.__data.__lock, __ATOMIC_RELAXED) != 2) /* nobody waits for it yet (glibc) */
        usleep(1000);
    let_go();
    printf("%ld\n", (long)syscall(SYS_gettid));
    return unused;
}

static __attribute__((noinline)) void want_it(void)
{
    pthread_mutex_lock(&mutex);
    __asm__("");
}

int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&is_held, NULL, 2);
    pthread_create(&thread, NULL, hold, NULL);
    pthread_barrier_wait(&is_held);
    want_it();
    return pthread_join(thread, NULL);
}
