/* Keeps a process alive when a mapped file is truncated or its disk is gone: lost pages read as zeros, and the loss is
 * noted (page_guard.py). Windows keeps the file of a map from being truncated or removed, and needs no guard. */
#define _GNU_SOURCE
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

#if defined(_WIN32)

EXPORT int warpline_guard_install(void) { return 0; }

EXPORT int warpline_guard_add(uintptr_t base, uintptr_t length)
{
    (void)base;
    (void)length;
    return -1;
}

EXPORT void warpline_guard_remove(int number) { (void)number; }

EXPORT int warpline_guard_is_lost(int number)
{
    (void)number;
    return 0;
}

#else

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Passes signals that do not concern our maps to the previous handler. */
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
    /* A faulting instruction raises the signal again when it is retried; a signal sent by a process has to be raised. */
    if (info->si_code <= 0)
        raise(number);
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    uintptr_t page = (uintptr_t)info->si_addr & ~(page_size - 1);
    struct region *region = info->si_code > 0 ? region_of((uintptr_t)info->si_addr) : NULL;
    if (region != NULL) {
        /* To the end of the map at once: one page at a time could exceed the number of maps a process may have. */
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

/* Installs the SIGBUS handler. Returns whether it is installed. */
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

/* Guards a map. Returns its number, or -1 when there are too many. */
EXPORT int warpline_guard_add(uintptr_t base, uintptr_t length)
{
    int number = -1;
    pthread_mutex_lock(&lock);
    for (int index = 0; index < REGIONS && number < 0; index++)
        if (atomic_load(&regions[index].length) == 0)
            number = index;
    if (number >= 0) {
        atomic_store(&regions[number].lost, 0);
        atomic_store(&regions[number].base, base);
        atomic_store_explicit(&regions[number].length, length, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return number;
}

/* Stops guarding a map that is about to be unmapped. */
EXPORT void warpline_guard_remove(int number) { atomic_store(&regions[number].length, 0); }

/* Returns whether zeros were read in place of lost pages. */
EXPORT int warpline_guard_is_lost(int number) { return atomic_load(&regions[number].lost); }

#endif
