/* Runs work that needs the GIL in a separate thread: the sampling thread must not wait for the GIL, which C code may
 * hold for seconds. */
#ifndef WARPLINE_GIL_WORK_H
#define WARPLINE_GIL_WORK_H

#include <stdatomic.h>

struct gil_work {
    void (*run)(void);       /* with the GIL held */
    _Atomic int is_asked_in; /* the process that does it: a fork leaves it behind */
};

/* Requests the work unless a request is pending. Called by the sampling thread alone. */
void gil_work_request(struct gil_work *work);

/* Ends that thread, which would keep a process whose own threads have ended. Called by the sampling thread alone. */
void gil_work_end(void);

#endif
