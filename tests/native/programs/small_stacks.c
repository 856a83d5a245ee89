/* Calls that block, and words to the standard error, on the smallest stacks: a thread's and a signal handler's. The
 * page before each is none that may be written to. */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HANDLER_BYTES 8192
#define PAGE 4096

/* In each place anew: where a call comes from is found out once. */
static inline __attribute__((always_inline)) void wait_and_write(const char *text)
{
    usleep(2000);
    if (write(STDERR_FILENO, text, 1) != 1)
        abort();
}

static void *run(void *text)
{
    wait_and_write(text);
    fprintf(stderr, "%s from %d, %0300d\n", (const char *)text, 1, 2);
    return NULL;
}

static void handle(int number)
{
    (void)number;
    wait_and_write("h");
}

int main(void)
{
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    if (pthread_attr_setstacksize(&small, 16384) != 0 || pthread_create(&thread, &small, run, "thread") != 0)
        return 2;
    pthread_join(thread, NULL);

    char *memory = mmap(NULL, PAGE + HANDLER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = memory + PAGE, .ss_size = HANDLER_BYTES};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE) != 0 || sigaltstack(&stack, NULL) != 0)
        return 3; /* what the processor saves for a handler may need more than this */
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    return 0;
}
