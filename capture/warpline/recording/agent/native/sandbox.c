/* Notices that the program enters a sandbox, and prepares what the agent needs inside: memory, a part of the spool file,
 * the writer of this thread. The recorder extends that part from outside (docs/spool.md, *Sandboxes*).
 *
 * Calls that do not go through the C library's functions are not noticed. */
#define _GNU_SOURCE
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exec_calls.h"
#include "interpose.h"
#include "own_threads.h"
#include "seccomp_filter.h"
#include "source_hooks.h"
#include "spool_internal.h"

#ifndef SYS_seccomp
#if defined(__x86_64__)
#define SYS_seccomp 317
#else
#define SYS_seccomp 277
#endif
#endif
/* From linux/seccomp.h, which old systems lack. */
enum { MODE_STRICT = 1, MODE_FILTER = 2 };         /* of prctl */
enum { SET_MODE_STRICT = 0, SET_MODE_FILTER = 1 }; /* of seccomp */
enum { KCMP_VM = 1 };                              /* linux/kcmp.h */
enum { ALL_THREADS = 1, NEW_LISTENER = 8 };        /* SECCOMP_FILTER_FLAG_TSYNC, …_NEW_LISTENER */

#define ARENA_BYTES (4u << 20)

_Atomic bool wl_confined;
/* A vfork child entered a sandbox: the memory is its parent's, who is not in one. */
static _Atomic bool is_child_confined;
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER; /* guards the two counts */
static int entered;                                        /* calls that enter a sandbox and were not refused */
static int without_threads; /* those among them after which no thread of the agent may run */
static char *arena;         /* memory for use in the sandbox; it stays, because it may be in use */
static _Atomic size_t arena_used;
/* This thread is in no sandbox: it was seen before the first one, and entered none. A later one may inherit one. */
static __thread bool is_free __attribute__((tls_model("initial-exec")));

void wl_note_thread(void)
{
    if (!wl_is_confined())
        is_free = true;
}

bool wl_is_own_process(void) { return wl_is_confined() || getpid() == wl_process; }

/* The C library stores a thread's id with the thread, and copies it into a mutex that the thread takes. */
static uint32_t known_thread_id(void)
{
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_mutex_trylock(&mutex);
    return (uint32_t)mutex.__data.__owner;
}

uint32_t wl_thread_id(void) { return wl_is_confined() ? known_thread_id() : (uint32_t)syscall(SYS_gettid); }

void wl_lock(pthread_mutex_t *mutex)
{
    if (!wl_is_confined()) {
        pthread_mutex_lock(mutex);
        return;
    }
    while (pthread_mutex_trylock(mutex) != 0)
        __asm__ volatile("" ::: "memory");
}

void wl_renew_sandbox_lock(void) { change = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; }

void *wl_allocate(size_t size)
{
    if (!wl_is_confined())
        return calloc(1, size);
    size = (size + 15) & ~(size_t)15;
    if (arena == NULL || size > ARENA_BYTES)
        return NULL;
    size_t at = atomic_fetch_add(&arena_used, size);
    if (at <= ARENA_BYTES - size)
        return arena + at;
    atomic_fetch_sub(&arena_used, size);
    return NULL;
}

static bool is_in_arena(const void *memory)
{
    return arena != NULL && (uintptr_t)memory - (uintptr_t)arena < ARENA_BYTES;
}

void *wl_reallocate(void *memory, size_t old_size, size_t size)
{
    if (!wl_is_confined() && !is_in_arena(memory))
        return realloc(memory, size);
    void *moved = wl_allocate(size);
    if (moved != NULL && memory != NULL)
        memcpy(moved, memory, old_size);
    return moved;
}

void wl_release(void *memory)
{
    if (!wl_is_confined() && !is_in_arena(memory))
        free(memory);
}

bool wl_next_is_confined(void) { return wl_is_confined() || atomic_exchange(&is_child_confined, false); }

/* With other clocks than these each look at the time is a system call. */
static bool is_clock_free(void)
{
    char name[32] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    ssize_t length = read(fd, name, sizeof name - 1);
    close(fd);
    static const char *const free_ones[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};
    for (size_t i = 0; length > 0 && i < sizeof free_ones / sizeof *free_ones; i++) {
        size_t size = strlen(free_ones[i]);
        if (strncmp(name, free_ones[i], size) == 0 && (name[size] == '\n' || name[size] == '\0'))
            return true;
    }
    return false;
}

/* In the strict mode the kernel takes the processor's clock away from the thread: it cannot be recorded. */
static void prepare(bool is_strict)
{
    if (is_strict) {
        spool_leave_control();
        return;
    }
    if (arena == NULL) {
        void *memory = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                            0);
        arena = memory != MAP_FAILED ? memory : NULL;
    }
    struct writer *writer = arena != NULL && is_clock_free() ? wl_writer() : NULL;
    if (writer == NULL || !spool_confine(writer)) {
        spool_leave_control();
        return;
    }
    wl_prepare_error_ring();
    CALL_SOURCES(confining);
}

/* Whether this process, a child made without the C library's fork, has the memory of the process that is recorded. */
static bool shares_memory(void) { return syscall(SYS_kcmp, getpid(), wl_process, KCMP_VM, 0, 0) == 0; }

/* What a call that enters a sandbox has changed here. */
enum entry { NOTHING, OF_CHILD, OF_PROCESS, OF_ALL_THREADS };

static enum entry confine(bool is_strict, bool is_everyone)
{
    int saved_errno = errno;
    enum entry entry = OF_CHILD;
    wl_quiet++;
    bool is_own = wl_process == 0 || wl_is_own_process();
    if (!wl_is_confined())
        exec_look();
    if (!is_own && shares_memory()) {
        atomic_store(&is_child_confined, true);
    } else {
        entry = is_everyone ? OF_ALL_THREADS : OF_PROCESS;
        wl_lock(&change);
        if (entered++ == 0) {
            if (!is_own)
                spool_leave_control();
            else if (wl_process != 0)
                prepare(is_strict);
            atomic_store(&wl_confined, true);
        }
        if (is_everyone && without_threads++ == 0)
            wl_end_threads();
        pthread_mutex_unlock(&change);
    }
    wl_quiet--;
    errno = saved_errno;
    return entry;
}

/* Whether this call of prctl enters a sandbox that does not let the agent work. Programs also ask, without a filter,
 * whether there are filters. */
static bool is_entering(long option, unsigned long mode, unsigned long filter)
{
    return option == PR_SET_SECCOMP &&
           (mode == MODE_STRICT ||
            (mode == MODE_FILTER && filter != 0 && !filter_allows_agent((const struct sock_fprog *)filter)));
}

static bool is_entering_by_seccomp(unsigned long operation, unsigned long flags, unsigned long filter)
{
    return (operation == SET_MODE_STRICT && flags == 0 && filter == 0) ||
           (operation == SET_MODE_FILTER && filter != 0 && !filter_allows_agent((const struct sock_fprog *)filter));
}

/* After the call: tells the recorder of the sandbox, or makes all as it was before. */
static void conclude(enum entry entry, bool is_refused)
{
    if (LIKELY(entry == NOTHING))
        return;
    int saved_errno = errno;
    wl_quiet++;
    if (!is_refused) {
        if (entry != OF_CHILD) {
            is_free = false;
            spool_announce_confined();
        }
    } else if (entry == OF_CHILD) {
        atomic_store(&is_child_confined, false);
    } else {
        wl_lock(&change);
        bool is_first = entry == OF_ALL_THREADS && --without_threads == 0;
        if (--entered == 0) {
            spool_leave_window();
            spool_return_control();
            atomic_store(&wl_confined, false);
        }
        if (is_first)
            wl_start_ended_threads(is_free || !wl_is_confined());
        pthread_mutex_unlock(&change);
    }
    wl_quiet--;
    errno = saved_errno;
}

/* As the C library does, these read as many words as a call can have; the caller may have passed fewer. */
#define READS_ALL_WORDS __attribute__((no_sanitize_address))

EXPORT READS_ALL_WORDS int prctl(int option, ...)
{
    va_list list;
    unsigned long words[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        words[i] = va_arg(list, unsigned long);
    va_end(list);
    enum entry entry = UNLIKELY(is_entering(option, words[0], words[1])) ? confine(words[0] == MODE_STRICT, false)
                                                                         : NOTHING;
    int result = REAL(prctl)(option, words[0], words[1], words[2], words[3]);
    conclude(entry, result < 0);
    return result;
}

EXPORT READS_ALL_WORDS long syscall(long number, ...)
{
    va_list list;
    unsigned long words[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, unsigned long);
    va_end(list);
    enum entry entry = NOTHING;
    bool is_everyone = words[0] == SET_MODE_FILTER && (words[1] & ALL_THREADS);
    if (UNLIKELY(number == SYS_seccomp) && is_entering_by_seccomp(words[0], words[1], words[2]))
        entry = confine(words[0] == SET_MODE_STRICT, is_everyone);
    else if (UNLIKELY(number == SYS_prctl) && is_entering((long)words[0], words[1], words[2]))
        entry = confine(words[1] == MODE_STRICT, false);
    long result = REAL(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    /* Refused for all threads, the call may return the id of the thread that could not follow. */
    conclude(entry, result < 0 || (entry == OF_ALL_THREADS && result > 0 && !(words[1] & NEW_LISTENER)));
    return result;
}
