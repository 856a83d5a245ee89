/* Calls that nobody can see by frame pointers, and a wait in a function that the linker has no name of. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static volatile unsigned long sink;

static APART unsigned long inner(unsigned long value)
{
    for (int step = 0; step < 1000; step++)
        value = value * 6364136223846793005ul + 1442695040888963407ul;
    return value;
}

static APART unsigned long middle(unsigned long value) { return inner(value + 1) ^ 1; }

static APART unsigned long outer(unsigned long value) { return middle(value * 3) + 1; }

static APART void doze(void)
{
    usleep(20000);
    sink++;
}

int main(void)
{
    struct timespec used;
    doze();
    do {
        for (int turn = 0; turn < 1000; turn++)
            sink += outer(sink);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while (used.tv_sec < 1);
    return 0;
}
