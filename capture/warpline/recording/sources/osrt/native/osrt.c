#define _GNU_SOURCE
#include "osrt.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox.h"
#include "source_hooks.h"

#define GIL_PAUSE_NS 20000u
/* Details are read only when they cost little beside the call: a stack, the task, what a descriptor stands for now. */
static uint64_t stack_ns = 10000;
#define TASK_NS 50000u
#define DESCRIPTOR_NS 1000000u
/* Event loops make calls of ten microseconds that never wait: a stack would add a share to each. */
#define NEVER_WAITS_NS 200000u

uint64_t osrt_threshold_ns = 1000;
__thread struct osrt_counted osrt_counted[COUNTED_PLACES] __attribute__((tls_model("initial-exec")));
static bool has_stacks = true;

/* Callers by return address: a small cache that may forget. */
#define CALLERS 4096u
static struct {
    _Atomic uintptr_t address;
    _Atomic uint32_t text;
} callers[CALLERS];

/* This thread's last wait for the GIL. Taking the GIL waits in pieces of the switch interval; they are one wait. */
static __thread struct record_osrt_call *gil_record __attribute__((tls_model("initial-exec")));
static __thread struct chunk_header *gil_chunk __attribute__((tls_model("initial-exec")));

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "?";
}

/* Static, because the program's stack may have only two pages. Signals are blocked while the lock is held: a signal handler that
 * interrupts it records no call and does not come here. */
static pthread_mutex_t caller_lock = PTHREAD_MUTEX_INITIALIZER;
static char caller_text[2 * PATH_MAX + 64], library_path[2 * PATH_MAX];
static char program_path[PATH_MAX];
static const void *program_base;

static void find_program(void)
{
    Dl_info info;
    if (dladdr((const void *)getauxval(AT_PHDR), &info))
        program_base = info.dli_fbase;
    ssize_t length = readlink("/proc/self/exe", program_path, sizeof program_path - 1);
    program_path[length > 0 ? length : 0] = '\0';
}

/* Absolute path of a library, for reading its symbols later. The program itself is named as it was started. */
static const char *whole_path_locked(const Dl_info *info)
{
    const char *path = info->dli_fname;
    if (path[0] == '/')
        return path;
    if (info->dli_fbase == program_base && program_path[0] != '\0')
        return program_path;
    if (strchr(path, '/') == NULL || wl_is_confined() || getcwd(library_path, PATH_MAX) == NULL)
        return path;
    size_t length = strlen(library_path);
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    snprintf(library_path + length, sizeof library_path - length, "/%s", path);
    return library_path;
}

static uint32_t describe_caller(const void *address)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || info.dli_fname == NULL)
        return 0;
    uintptr_t offset = (uintptr_t)address - (uintptr_t)info.dli_saddr;
    int length;
    wl_lock(&caller_lock);
    /* An address behind the end of the nearest exported symbol is in a static function. */
    if (symbol != NULL && info.dli_sname != NULL && offset <= symbol->st_size)
        length = snprintf(caller_text, sizeof caller_text, "%s!%s", base_name(info.dli_fname), info.dli_sname);
    else
        length = snprintf(caller_text, sizeof caller_text, "%s+0x%zx", whole_path_locked(&info),
                          (size_t)address - (size_t)info.dli_fbase);
    size_t size = length <= 0 ? 0 : (size_t)length < sizeof caller_text ? (size_t)length : sizeof caller_text - 1;
    uint32_t text = wl_intern(caller_text, size);
    pthread_mutex_unlock(&caller_lock);
    return text;
}

uint32_t osrt_caller_text(const void *address, bool is_wanted)
{
    uintptr_t value = (uintptr_t)address;
    uint32_t slot = (uint32_t)((value * 0x9e3779b97f4a7c15u) >> 52) % CALLERS;
    if (LIKELY(atomic_load_explicit(&callers[slot].address, memory_order_acquire) == value))
        return atomic_load_explicit(&callers[slot].text, memory_order_relaxed);
    if (!is_wanted)
        return 0;
    int saved_errno = errno;
    wl_quiet++;
    uint32_t text = describe_caller(address);
    atomic_store_explicit(&callers[slot].address, 0, memory_order_relaxed);
    atomic_store_explicit(&callers[slot].text, text, memory_order_relaxed);
    atomic_store_explicit(&callers[slot].address, value, memory_order_release);
    wl_quiet--;
    errno = saved_errno;
    return text;
}

static bool extends_gil_wait(struct writer *writer, const struct osrt_call *call, uint64_t end_ns)
{
    struct cursor *cursor = &writer->cursors[SLOT_OSRT_CALL];
    if (gil_record == NULL || gil_chunk != cursor->chunk || (uint8_t *)(gil_record + 1) != cursor->position ||
        call->start_ns - gil_record->end_ns > GIL_PAUSE_NS)
        return false;
    __atomic_store_n(&gil_record->end_ns, end_ns, __ATOMIC_RELAXED);
    return true;
}

static _Atomic bool is_forked;

static void note_fork(void)
{
    atomic_store_explicit(&is_forked, true, memory_order_relaxed);
    pthread_mutex_init(&caller_lock, NULL); /* a thread of the parent may hold it */
    osrt_forget_holders();
}

/* At a forked child's first recorded call: most children exec before that. */
static inline void follow_fork(void)
{
    if (UNLIKELY(atomic_load_explicit(&is_forked, memory_order_relaxed)) && atomic_exchange(&is_forked, false) &&
        !wl_is_confined())
        CALL_SOURCES(start_threads);
}

/* Opening the spool file is a cost for a process that lives for a millisecond. So only calls that certainly exceed
 * the threshold, or may never end, open it in advance. */
static bool may_last(const struct osrt_call *call)
{
    switch (call->function) {
    case OSRT_READ:
    case OSRT_WRITE:
    case OSRT_PREAD:
    case OSRT_PWRITE:
    case OSRT_READV:
    case OSRT_WRITEV: return osrt_may_never_come(call->descriptor);
    case OSRT_OPEN:
    case OSRT_MSYNC: return false;
    default: return true;
    }
}

struct record_osrt_waiting *osrt_first_wait(const struct osrt_call *call)
{
    if (!may_last(call))
        return NULL;
    struct writer *writer = wl_writer();
    if (writer == NULL || writer->is_busy)
        return NULL;
    int saved_errno = errno;
    wl_quiet++;
    follow_fork();
    bool is_made = wl_make_waiting(writer);
    wl_quiet--;
    errno = saved_errno;
    return is_made ? writer->waiting : NULL;
}

static bool wants_stack(const struct osrt_call *call, uint64_t duration_ns)
{
    if (!has_stacks || duration_ns < stack_ns)
        return false;
    return duration_ns >= NEVER_WAITS_NS || call->function > OSRT_CONNECT || !osrt_never_waits(call->descriptor);
}

void osrt_write(const struct osrt_call *call, uint64_t end_ns)
{
    int saved_errno = errno;
    struct writer *writer = wl_writer();
    if (writer == NULL || writer->is_busy)
        return;
    wl_quiet++;
    follow_fork();
    bool is_gil = call->function == OSRT_GIL;
    uint64_t duration_ns = end_ns - call->start_ns;
    if (!is_gil || !extends_gil_wait(writer, call, end_ns)) {
        struct record_osrt_call record = {
            .start_ns = call->start_ns,
            .end_ns = end_ns,
            .object = call->object,
            .result = call->result < 0 ? -(int64_t)saved_errno : call->result,
            .function = call->function,
            .holder = call->holder,
            .caller = osrt_caller_text(call->caller, true),
        };
        if (wants_stack(call, duration_ns))
            record.stack = wl_python_stack(duration_ns >= TASK_NS ? &record.task : NULL);
        else if (call->function <= OSRT_OPEN)
            osrt_count(call, end_ns);
        if (call->text != NULL) {
            record.text = wl_intern(call->text, strlen(call->text));
            if (call->function == OSRT_OPEN && call->result >= 0)
                osrt_note_opened((int)call->result, call->text, record.text);
        } else if (call->descriptor >= 0)
            record.text = osrt_descriptor_text(call->descriptor, duration_ns >= DESCRIPTOR_NS);
        struct record_osrt_call *to = WL_RESERVE(writer, SLOT_OSRT_CALL, record_osrt_call);
        if (to != NULL) {
            *to = record;
            WL_COMMIT(writer, SLOT_OSRT_CALL, record_osrt_call);
        }
        gil_record = is_gil ? to : NULL;
        gil_chunk = writer->cursors[SLOT_OSRT_CALL].chunk;
    }
    wl_quiet--;
    errno = saved_errno;
}

void osrt_write_count(struct osrt_counted *counted, uint64_t now)
{
    int saved_errno = errno;
    struct osrt_counted full = *counted;
    counted->count = 0;
    counted->bytes = 0;
    struct writer *writer = wl_writer();
    if (writer == NULL || writer->is_busy)
        return;
    wl_quiet++;
    follow_fork();
    uint32_t stack = has_stacks ? wl_python_stack(NULL) : 0;
    uint32_t caller = osrt_caller_text(full.caller, true);
    struct record_osrt_count *to = WL_RESERVE(writer, SLOT_OSRT_COUNT, record_osrt_count);
    if (to != NULL) {
        *to = (struct record_osrt_count){now, full.bytes, full.function, stack, caller, full.count};
        WL_COMMIT(writer, SLOT_OSRT_COUNT, record_osrt_count);
    }
    wl_quiet--;
    errno = saved_errno;
}

void osrt_release(enum osrt_function function, const void *object, uint64_t now, const void *caller)
{
    struct writer *writer = wl_writer();
    if (writer == NULL || writer->is_busy)
        return;
    int saved_errno = errno;
    wl_quiet++;
    uint32_t stack = has_stacks ? wl_python_stack(NULL) : 0;
    uint32_t from = stack == 0 ? osrt_caller_text(caller, true) : 0;
    struct record_osrt_release *to = WL_RESERVE(writer, SLOT_OSRT_RELEASE, record_osrt_release);
    if (to != NULL) {
        *to = (struct record_osrt_release){now, (uint64_t)(uintptr_t)object,
                                           from != 0 ? function | RELEASED_BY_CALLER : function,
                                           from != 0 ? from : stack};
        WL_COMMIT(writer, SLOT_OSRT_RELEASE, record_osrt_release);
    }
    wl_quiet--;
    errno = saved_errno;
}

/* Options in WARPLINE_OSRT, separated by commas: threshold=NANOSECONDS, stacks=0, longer=NANOSECONDS (only longer
 * calls get a stack). */
static void start(void)
{
    find_program();
    pthread_atfork(NULL, NULL, note_fork);
    const char *options = getenv("WARPLINE_OSRT");
    if (options == NULL)
        return;
    const char *threshold = strstr(options, "threshold=");
    if (threshold != NULL)
        osrt_threshold_ns = strtoull(threshold + strlen("threshold="), NULL, 10);
    const char *longer = strstr(options, "longer=");
    if (longer != NULL)
        stack_ns = strtoull(longer + strlen("longer="), NULL, 10);
    has_stacks = strstr(options, "stacks=0") == NULL;
}

static void find_gil(void)
{
    if (osrt_threshold_ns != UINT64_MAX)
        osrt_find_gil();
}

REGISTER_SOURCE(.start = start, .python_readable = find_gil);
