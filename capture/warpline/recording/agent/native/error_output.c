/* Keeps the end of what the program and its children write to their original standard error, in a ring that all of
 * them share (docs/spool.md, *Standard error*). So it survives however the program ends. Messages that the C library
 * writes by itself, such as heap corruption, are not seen here. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose.h"
#include "sandbox.h"
#include "spool_internal.h"

#define RING_BYTES 65536u
#define LINE_BYTES 4096u
#define SHORT_LINE_BYTES 256u

struct ring {
    char magic[8];
    uint64_t device, inode; /* of the program's original standard error */
    _Atomic uint64_t written;
    uint8_t reserved[32];
    char text[RING_BYTES];
};

static char path[PATH_MAX];
static _Atomic(struct ring *) mapped;
static _Atomic bool is_asked;

void wl_find_error_ring(const char *folder)
{
    int length = folder != NULL ? snprintf(path, sizeof path, "%s/stderr", folder) : -1;
    if (length < 0 || (size_t)length >= sizeof path)
        path[0] = '\0';
}

static struct ring *ring(void)
{
    if (LIKELY(atomic_load_explicit(&is_asked, memory_order_acquire)) || wl_is_confined() ||
        atomic_exchange(&is_asked, true))
        return atomic_load_explicit(&mapped, memory_order_acquire);
    int fd = path[0] != '\0' ? open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK) : -1;
    struct stat status;
    if (fd < 0)
        return NULL;
    void *memory = MAP_FAILED;
    if (fstat(fd, &status) == 0 && status.st_size == (off_t)sizeof(struct ring))
        memory = spool_map_pages(fd, 0, sizeof(struct ring));
    close(fd);
    if (memory == MAP_FAILED)
        return NULL;
    atomic_store_explicit(&mapped, memory, memory_order_release);
    return memory;
}

/* A child's standard error may be a pipe that somebody reads. */
static bool is_original(const struct ring *of)
{
    struct stat status;
    return fstat(STDERR_FILENO, &status) == 0 && status.st_dev == of->device && status.st_ino == of->inode;
}

static bool was_original; /* when the process entered a sandbox */

void wl_prepare_error_ring(void)
{
    const struct ring *of = ring();
    was_original = of != NULL && is_original(of);
}

void wl_keep_error_text(const void *text, size_t size)
{
    if (wl_quiet != 0 || path[0] == '\0' || (wl_is_confined() && !was_original))
        return;
    int saved_errno = errno;
    wl_quiet++;
    struct ring *to = ring();
    if (to != NULL && (wl_is_confined() || is_original(to))) {
        if (size > RING_BYTES) {
            text = (const char *)text + (size - RING_BYTES);
            size = RING_BYTES;
        }
        uint64_t at = atomic_fetch_add(&to->written, size) % RING_BYTES;
        size_t before_end = size < RING_BYTES - at ? size : RING_BYTES - at;
        memcpy(to->text + at, text, before_end);
        memcpy(to->text, (const char *)text + before_end, size - before_end);
    }
    wl_quiet--;
    errno = saved_errno;
}

/* --- streams: the C library writes them without calling a `write` that we can stand in for */

/* Long lines share one static buffer: the program's stack may have only two pages. */
static void keep_long(const char *format, va_list arguments, const char *beginning, size_t begun)
{
    static char line[LINE_BYTES];
    static atomic_flag is_taken = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set_explicit(&is_taken, memory_order_acquire)) {
        wl_keep_error_text(beginning, begun); /* taken by another thread, or by the code interrupted here */
        return;
    }
    int length = vsnprintf(line, sizeof line, format, arguments);
    if (length > 0)
        wl_keep_error_text(line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
    atomic_flag_clear_explicit(&is_taken, memory_order_release);
}

static void keep_formatted(const char *format, va_list arguments)
{
    char line[SHORT_LINE_BYTES];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(line, sizeof line, format, arguments);
    if (length >= (int)sizeof line)
        keep_long(format, again, line, sizeof line - 1);
    else if (length > 0)
        wl_keep_error_text(line, (size_t)length);
    va_end(again);
}

static void keep_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep_formatted(format, arguments);
    va_end(arguments);
}

int __vfprintf_chk(FILE *to, int flag, const char *format, va_list arguments);
void __assert_fail(const char *what, const char *file, unsigned line, const char *function) __attribute__((noreturn));

EXPORT size_t fwrite(const void *from, size_t size, size_t count, FILE *to)
{
    size_t written = REAL(fwrite)(from, size, count, to);
    if (UNLIKELY(to == stderr))
        wl_keep_error_text(from, size * written);
    return written;
}

EXPORT int fputs(const char *text, FILE *to)
{
    int result = REAL(fputs)(text, to);
    if (UNLIKELY(to == stderr) && result != EOF)
        wl_keep_error_text(text, strlen(text));
    return result;
}

EXPORT int fputc(int letter, FILE *to)
{
    if (UNLIKELY(to == stderr))
        wl_keep_error_text(&(char){(char)letter}, 1);
    return REAL(fputc)(letter, to);
}

#undef putc
EXPORT int putc(int letter, FILE *to) { return fputc(letter, to); }
EXPORT int _IO_putc(int letter, FILE *to) { return fputc(letter, to); }

EXPORT int vfprintf(FILE *to, const char *format, va_list arguments)
{
    if (UNLIKELY(to == stderr)) {
        va_list again;
        va_copy(again, arguments);
        keep_formatted(format, again);
        va_end(again);
    }
    return REAL(vfprintf)(to, format, arguments);
}

EXPORT int fprintf(FILE *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vfprintf(to, format, arguments);
    va_end(arguments);
    return length;
}

EXPORT int __vfprintf_chk(FILE *to, int flag, const char *format, va_list arguments)
{
    if (UNLIKELY(to == stderr)) {
        va_list again;
        va_copy(again, arguments);
        keep_formatted(format, again);
        va_end(again);
    }
    return REAL(__vfprintf_chk)(to, flag, format, arguments);
}

int __fprintf_chk(FILE *, int, const char *, ...);
EXPORT int __fprintf_chk(FILE *to, int flag, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = __vfprintf_chk(to, flag, format, arguments);
    va_end(arguments);
    return length;
}

EXPORT void __assert_fail(const char *what, const char *file, unsigned int line, const char *function)
{
    keep_line("%s:%u: %s: Assertion `%s' failed.\n", file, line, function != NULL ? function : "?", what);
    REAL(__assert_fail)(what, file, line, function);
    __builtin_unreachable();
}
