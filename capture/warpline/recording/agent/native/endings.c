/* Ends of the process that skip atexit: _exit, _Exit and quick_exit. Python's multiprocessing ends forked children with
 * os._exit. Sources get a moment to hand over what others still hold for them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "interpose.h"
#include "sandbox.h"
#include "source_hooks.h"
#include "spool.h"

/* Not in the child of a vfork, which has its parent's memory, not in our own threads, and not in a sandbox. */
static void end_sources(void)
{
    if (wl_quiet || wl_process == 0 || wl_is_confined() || !wl_is_own_process())
        return;
    wl_quiet++;
    CALL_SOURCES(ending);
    wl_quiet--;
}

EXPORT __attribute__((noreturn)) void _exit(int status)
{
    end_sources();
    REAL(_exit)(status);
    __builtin_unreachable();
}

EXPORT __attribute__((noreturn)) void _Exit(int status)
{
    end_sources();
    REAL(_Exit)(status);
    __builtin_unreachable();
}

EXPORT __attribute__((noreturn)) void quick_exit(int status)
{
    end_sources();
    REAL(quick_exit)(status);
    __builtin_unreachable();
}
