/* For warpline.Profiler: joining a session from a process that already runs. Called with the GIL. */
#include "interpose.h"
#include "source_hooks.h"
#include "spool.h"

/* From now on, write to the session in this directory. Returns 0 if that is impossible. */
EXPORT int warpline_join(const char *directory)
{
    if (!wl_join(directory))
        return 0;
    CALL_SOURCES(joined);
    return 1;
}
