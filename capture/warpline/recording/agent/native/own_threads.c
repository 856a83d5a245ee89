#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "own_threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose.h"
#include "sandbox.h"
#include "spool.h"

#define CLOSE_ON_EXEC 1U /* MFD_CLOEXEC */
#define LONGEST_END_NS 500000000u
#define MOST_THREADS 8
#define LAST_CALLS_NS 2000000u /* for what the C library does when a thread ends */

static _Atomic uint64_t counted; /* process << 32 | number of its threads: a forked child starts with none */

static uint32_t count_of(uint64_t known, uint64_t process) { return known >> 32 == process ? (uint32_t)known : 0; }

static void count(int change)
{
    uint64_t process = (uint32_t)getpid(), before = atomic_load(&counted), after;
    do
        after = process << 32 | (count_of(before, process) + (uint32_t)change);
    while (!atomic_compare_exchange_weak(&counted, &before, after));
}

static _Atomic bool must_end;
static _Atomic int active;                          /* threads that are not at rest */
static _Atomic uint32_t running;                    /* threads that exist for sure */
static _Atomic(void (*)(void)) ended[MOST_THREADS]; /* what those did that ended because they must */
__thread bool wl_is_own_thread __attribute__((tls_model("initial-exec")));

static __thread bool was_told __attribute__((tls_model("initial-exec"))); /* whether this thread has seen must_end */

bool wl_must_end(void) { return was_told = atomic_load_explicit(&must_end, memory_order_relaxed); }

void wl_note_rest(bool is_resting) { atomic_fetch_add(&active, is_resting ? -1 : 1); }

uint32_t wl_own_threads(void) { return atomic_load(&running); }

void wl_forget_threads(void)
{
    atomic_store(&active, 0);
    atomic_store(&running, 0);
    for (int i = 0; i < MOST_THREADS; i++)
        atomic_store(&ended[i], NULL);
}

/* The place of the note; -1 if there is no room. */
static int note_end(void (*work)(void))
{
    for (int i = 0; i < MOST_THREADS; i++) {
        void (*none)(void) = NULL;
        if (atomic_compare_exchange_strong(&ended[i], &none, work))
            return i;
    }
    return -1;
}

/* Notes the end of this thread's work; false if it need not end any more, and no other thread was started for it. */
static bool ends(void (*work)(void))
{
    int place = note_end(work);
    return atomic_load(&must_end) || (place >= 0 && !atomic_compare_exchange_strong(&ended[place], &work, NULL));
}

static bool start_thread(void (*work)(void));

void wl_start_ended_threads(bool is_free)
{
    atomic_store(&must_end, false);
    for (int i = 0; is_free && i < MOST_THREADS; i++) {
        void (*work)(void) = atomic_exchange(&ended[i], NULL);
        if (work != NULL && !start_thread(work))
            note_end(work);
    }
}

void wl_end_threads(void)
{
    atomic_store(&must_end, true);
    uint64_t begun = wl_clock(CLOCK_MONOTONIC), ended = begun;
    for (uint64_t now = begun; now - begun < LONGEST_END_NS && now - ended < LAST_CALLS_NS;) {
        now = wl_clock(CLOCK_MONOTONIC);
        if (atomic_load(&active) > 0)
            ended = now;
    }
}

static void *run(void *work)
{
    wl_quiet = 1;
    wl_is_own_thread = true;
    atomic_fetch_add(&active, 1);
    atomic_fetch_add(&running, 1);
    prctl(PR_SET_NAME, "warpline-agent");
    do {
        was_told = false;
        ((void (*)(void))work)();
    } while (was_told && !ends((void (*)(void))work));
    count(-1);
    atomic_fetch_sub(&running, 1);
    atomic_fetch_sub(&active, 1);
    return NULL;
}

bool wl_start_thread(void (*work)(void)) { return !wl_is_confined() && start_thread(work); }

static bool start_thread(void (*work)(void))
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    wl_quiet++;
    count(1);
    bool is_started = pthread_create(&thread, NULL, run, (void *)work) == 0;
    if (is_started)
        pthread_detach(thread);
    else
        count(-1);
    wl_quiet--;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

/* --- the number of threads that Python sees
 *
 * Since 3.12 Python warns of a fork in a process with several threads (bpo-100228), and reads their number from
 * /proc/self/stat. A program with one thread of its own must not get that warning because of ours. Only Python's own
 * read is changed. */

#define STAT "/proc/self/stat"
#define LONGEST 1024
enum { SPACES_BEFORE_THREADS = 18 }; /* counted from the end of the program's name: field 20 in proc_pid_stat(5) */

static bool is_python(const void *caller)
{
    Dl_info asks, python;
    void *version = dlsym(RTLD_DEFAULT, "Py_GetVersion");
    return version != NULL && dladdr(version, &python) != 0 && dladdr(caller, &asks) != 0 &&
           asks.dli_fbase == python.dli_fbase;
}

/* Returns a file with the same text but `own` threads fewer; the given file if that fails. */
static FILE *without_threads(FILE *file, uint32_t own, const char *mode)
{
    char text[LONGEST];
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    rewind(file);
    char *at = strrchr(text, ')');
    for (int i = 0; at != NULL && i < SPACES_BEFORE_THREADS; i++)
        at = strchr(at + 1, ' ');
    char *rest = NULL;
    long threads = at != NULL ? strtol(at, &rest, 10) : 0;
    if (threads <= (long)own)
        return file;
    /* glibc has a function for this since 2.27 only. */
    int descriptor = (int)syscall(SYS_memfd_create, "stat", CLOSE_ON_EXEC);
    if (descriptor < 0)
        return file;
    FILE *made = NULL;
    if (dprintf(descriptor, "%.*s %ld%s", (int)(at - text), text, threads - (long)own, rest) > 0 &&
        lseek(descriptor, 0, SEEK_SET) == 0)
        made = fdopen(descriptor, mode);
    if (made == NULL) {
        close(descriptor);
        return file;
    }
    fclose(file);
    return made;
}

typedef FILE *(*open_call)(const char *path, const char *mode);

static FILE *open_file(_Atomic open_call *theirs, const char *name, const char *path, const char *mode,
                       const void *caller)
{
    open_call open = atomic_load_explicit(theirs, memory_order_relaxed);
    if (UNLIKELY(open == NULL)) {
        *(void **)&open = wl_real(name, NULL);
        atomic_store_explicit(theirs, open, memory_order_relaxed);
    }
    FILE *file = open(path, mode);
    if (LIKELY(file == NULL || strcmp(path, STAT) != 0))
        return file;
    uint32_t own = wl_is_confined() ? 0 : count_of(atomic_load(&counted), (uint32_t)getpid());
    if (own == 0 || !is_python(caller))
        return file;
    wl_quiet++;
    int saved = errno;
    file = without_threads(file, own, mode);
    errno = saved;
    wl_quiet--;
    return file;
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    static _Atomic open_call theirs;
    return open_file(&theirs, "fopen", path, mode, __builtin_return_address(0));
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
    static _Atomic open_call theirs;
    return open_file(&theirs, "fopen64", path, mode, __builtin_return_address(0));
}
