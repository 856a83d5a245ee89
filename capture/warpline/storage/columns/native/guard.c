/* Mapped files that are cut off, or whose disk is gone, must not end the process: where a page cannot be had any more,
 * zeros are read, and it is noted (page_guard.py). */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define REGIONS 1024

/* Read by the handler without a lock: `length` is written last and cleared first. */
static struct region {
    _Atomic uintptr_t base;
    _Atomic uintptr_t length;
    _Atomic int lost;
} regions[REGIONS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction former;
static int is_installed;
static uintptr_t page_size;

static struct region *region_of(uintptr_t address)
{
    for (int index = 0; index < REGIONS; index++) {
        uintptr_t length = atomic_load_explicit(&regions[index].length, memory_order_acquire);
        uintptr_t base = atomic_load_explicit(&regions[index].base, memory_order_relaxed);
        if (length != 0 && address >= base && address - base < length)
            return &regions[index];
    }
    return NULL;
}

/* What is not about our maps goes where it would have gone without us. */
static void hand_on(int number, siginfo_t *info, void *context)
{
    if ((former.sa_flags & SA_SIGINFO) && former.sa_sigaction != NULL) {
        former.sa_sigaction(number, info, context);
        return;
    }
    if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) {
        former.sa_handler(number);
        return;
    }
    if (former.sa_handler == SIG_IGN && info->si_code <= 0)
        return;
    signal(number, SIG_DFL);
    /* What an instruction met ends the process when that is tried again; what somebody sent comes only once. */
    if (info->si_code <= 0)
        raise(number);
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    uintptr_t page = (uintptr_t)info->si_addr & ~(page_size - 1);
    struct region *region = info->si_code > 0 ? region_of((uintptr_t)info->si_addr) : NULL;
    if (region != NULL) {
        /* To its end at once: a page each would be more maps than a process may have. */
        uintptr_t stop = atomic_load(&region->base) + atomic_load(&region->length);
        void *zeros = mmap((void *)page, stop - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (zeros != MAP_FAILED) {
            atomic_store(&region->lost, 1);
            errno = saved_errno;
            return;
        }
    }
    errno = saved_errno;
    hand_on(number, info, context);
}

/* Take SIGBUS. Whether that is so now. */
EXPORT int warpline_guard_install(void)
{
    pthread_mutex_lock(&lock);
    if (!is_installed) {
        struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigemptyset(&action.sa_mask);
        page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
        is_installed = sigaction(SIGBUS, &action, &former) == 0;
    }
    pthread_mutex_unlock(&lock);
    return is_installed;
}

/* Guard a map; its number, or -1 when there are too many. */
EXPORT int warpline_guard_add(uintptr_t base, uintptr_t length)
{
    int found = -1;
    pthread_mutex_lock(&lock);
    for (int index = 0; index < REGIONS && found < 0; index++)
        if (atomic_load(&regions[index].length) == 0)
            found = index;
    if (found >= 0) {
        atomic_store(&regions[found].lost, 0);
        atomic_store(&regions[found].base, base);
        atomic_store_explicit(&regions[found].length, length, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* The map is about to go. */
EXPORT void warpline_guard_remove(int number) { atomic_store(&regions[number].length, 0); }

/* Whether zeros were read where the file could not be. */
EXPORT int warpline_guard_is_lost(int number) { return atomic_load(&regions[number].lost); }
