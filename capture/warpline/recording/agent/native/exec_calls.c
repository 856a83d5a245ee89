/* Removes the agent from LD_PRELOAD when the new program of an exec cannot read it: in a sandbox with its own root
 * folder, or as another user. Otherwise the loader would print an error for each such program. Tells a program that
 * starts in a sandbox of its parent's that it does. These functions also run between vfork and exec, so they allocate nothing and change nothing in the process. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exec_calls.h"
#include "interpose.h"
#include "sandbox.h"
#include "spool.h"

#define NAME "libwarpline_agent.so"
#define LONGEST 4096u
#define MOST_VARIABLES 8192u
static const char variable[] = "LD_PRELOAD=";
#define VARIABLE_LENGTH (sizeof variable - 1)

static struct {
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
} theirs;

void exec_start(void)
{
    *(void **)&theirs.execve = wl_real("execve", NULL);
    *(void **)&theirs.execvpe = wl_real("execvpe", NULL);
    *(void **)&theirs.fexecve = wl_real("fexecve", NULL);
}

static inline void ensure_resolved(void)
{
    if (UNLIKELY(theirs.execve == NULL)) /* called before our constructor */
        exec_start();
}

static _Atomic bool was_readable = true; /* when the process entered a sandbox */

/* Checks with the rights and the root folder that the process has now, as the loader will. */
static bool is_readable(const char *path)
{
    long descriptor = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor >= 0)
        syscall(SYS_close, descriptor);
    return descriptor >= 0 || (errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != ELOOP);
}

void exec_look(void)
{
    const char *agent = getenv("WARPLINE_AGENT");
    was_readable = agent == NULL || is_readable(agent);
}

/* Copies a list of libraries to `rest`, one colon between two, without ours if it cannot be read. Returns whether it
 * was left out. `rest` has room for all of `words`. */
static bool leave_out(const char *words, char *rest, bool is_confined)
{
    bool is_left_out = false;
    char *end = rest;
    while (*words != '\0') {
        size_t length = strcspn(words, ": ");
        memcpy(end, words, length);
        end[length] = '\0';
        const char *slash = strrchr(end, '/');
        bool is_ours = slash != NULL && strcmp(slash + 1, NAME) == 0;
        if (is_ours && !(is_confined ? was_readable : is_readable(end)))
            is_left_out = true;
        else if (length != 0)
            end += length, *end++ = ':';
        words += length + (words[length] != '\0');
    }
    if (end != rest)
        end--;
    *end = '\0';
    return is_left_out;
}

typedef int (*exec_call)(const void *about, char *const arguments[], char *const variables[]);

/* Not inlined: its stack frame is large and rarely needed. */
static __attribute__((noinline)) int exec_changed(const void *about, char *const arguments[], char *const variables[],
                                                  size_t count, size_t at, exec_call call)
{
    static char confined[] = CONFINED_VARIABLE "=1";
    char line[LONGEST];
    bool is_confined = wl_next_is_confined();
    memcpy(line, variable, VARIABLE_LENGTH);
    if (!leave_out(variables[at] + VARIABLE_LENGTH, line + VARIABLE_LENGTH, is_confined) && !is_confined)
        return call(about, arguments, variables);
    char *left[count + 2];
    memcpy(left, variables, (count + 1) * sizeof *left);
    if (line[VARIABLE_LENGTH] != '\0')
        left[at] = line;
    else
        memmove(left + at, left + at + 1, (count-- - at) * sizeof *left);
    if (is_confined) {
        left[count] = confined;
        left[count + 1] = NULL;
    }
    return call(about, arguments, left);
}

static int exec_checked(const void *about, char *const arguments[], char *const variables[], exec_call call)
{
    ensure_resolved();
    int saved_errno = errno;
    size_t count = 0, at = SIZE_MAX;
    for (; variables != NULL && variables[count] != NULL && count < MOST_VARIABLES; count++)
        if (at == SIZE_MAX && strncmp(variables[count], variable, VARIABLE_LENGTH) == 0)
            at = count;
    bool is_asked = at != SIZE_MAX && count < MOST_VARIABLES && strlen(variables[at]) < LONGEST - 1 &&
                    strstr(variables[at], NAME) != NULL;
    errno = saved_errno;
    return is_asked ? exec_changed(about, arguments, variables, count, at, call) : call(about, arguments, variables);
}

static int by_path(const void *path, char *const arguments[], char *const variables[])
{
    return theirs.execve(path, arguments, variables);
}

static int by_name(const void *name, char *const arguments[], char *const variables[])
{
    return theirs.execvpe(name, arguments, variables);
}

static int by_descriptor(const void *descriptor, char *const arguments[], char *const variables[])
{
    return theirs.fexecve(*(const int *)descriptor, arguments, variables);
}

EXPORT int execve(const char *path, char *const arguments[], char *const variables[])
{
    return exec_checked(path, arguments, variables, by_path);
}

EXPORT int execv(const char *path, char *const arguments[]) { return exec_checked(path, arguments, environ, by_path); }

EXPORT int execvp(const char *name, char *const arguments[]) { return exec_checked(name, arguments, environ, by_name); }

EXPORT int execvpe(const char *name, char *const arguments[], char *const variables[])
{
    return exec_checked(name, arguments, variables, by_name);
}

EXPORT int fexecve(int descriptor, char *const arguments[], char *const variables[])
{
    return exec_checked(&descriptor, arguments, variables, by_descriptor);
}

static size_t arguments_behind(va_list list)
{
    size_t count = 1;
    while (va_arg(list, char *) != NULL)
        count++;
    return count;
}

/* Collects variadic arguments into `arguments`; `list` then points behind them. */
#define GATHER(first)                        \
    va_list list;                            \
    va_start(list, first);                   \
    size_t count = arguments_behind(list);   \
    va_end(list);                            \
    char *arguments[count + 1];              \
    va_start(list, first);                   \
    for (size_t i = 1; i <= count; i++) {    \
        arguments[i] = va_arg(list, char *); \
    }                                        \
    arguments[0] = (char *)(first)

EXPORT int execl(const char *path, const char *first, ...)
{
    GATHER(first);
    va_end(list);
    return exec_checked(path, arguments, environ, by_path);
}

EXPORT int execlp(const char *name, const char *first, ...)
{
    GATHER(first);
    va_end(list);
    return exec_checked(name, arguments, environ, by_name);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    GATHER(first);
    char *const *variables = va_arg(list, char *const *);
    va_end(list);
    return exec_checked(path, arguments, variables, by_path);
}
