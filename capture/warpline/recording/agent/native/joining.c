/* For warpline.Profiler: what a process does that runs already and joins a session. Called with the GIL. */
#include "interpose.h"
#include "source_hooks.h"
#include "spool.h"

/* Write to the session in a directory from now on. */
EXPORT int warpline_join(const char *directory)
{
    if (!wl_join(directory))
        return 0;
    CALL_SOURCES(joined);
    return 1;
}
