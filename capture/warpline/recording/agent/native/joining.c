/* For warpline.Profiler: what a process does that runs already and joins a session. Called with the GIL. */
#include "spool.h"
#include "steps_boot.h"

#define EXPORT __attribute__((visibility("default")))

/* Write to the session in a directory from now on. */
EXPORT int warpline_join(const char *directory)
{
    if (!wl_join(directory))
        return 0;
    wl_write_source_state("nvtx", true, "", "", 0);
    return 1;
}

/* Put hooks into the frameworks that are imported and those that will be; once for the life of the process.
 * WARPLINE_HOOKS names the folder with them. A later session is told that they are there. */
EXPORT void warpline_hook_frameworks(int is_told)
{
    steps_boot();
    if (is_told)
        wl_write_source_state("steps", true, "", "", 0);
}
