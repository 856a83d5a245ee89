/* Runs when the dynamic loader loads the agent by LD_PRELOAD, before the program's first line. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec_calls.h"
#include "interpose.h"
#include "sandbox.h"
#include "source_hooks.h"
#include "spool.h"

static bool is_preloaded(void)
{
    const char *preload = getenv("LD_PRELOAD"), *agent = getenv("WARPLINE_AGENT");
    return preload != NULL && agent != NULL && strstr(preload, agent) != NULL;
}

__attribute__((constructor)) static void start(void)
{
    int saved_errno = errno;
    wl_quiet++;
    bool is_wanted = is_preloaded();
    if (is_wanted)
        exec_start();
    if (getenv(CONFINED_VARIABLE) != NULL)
        atomic_store(&wl_confined, true);
    if (is_wanted && wl_start()) {
        wl_note_thread();
        wl_find_error_ring(getenv("WARPLINE_SPOOL"));
        CALL_SOURCES(start);
        CALL_SOURCES(start_threads);
    }
    wl_quiet--;
    errno = saved_errno;
}
