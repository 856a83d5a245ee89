/* Notices that another profiler in the process has taken CUPTI over. */
#ifndef WARPLINE_CUPTI_WATCH_H
#define WARPLINE_CUPTI_WATCH_H

#include <stdbool.h>

#include "cupti_abi.h"

/* On the agent's thread, before its first CUDA call. */
void watch_start(void);
/* A subscription begins. */
void watch_session(void);
/* On the agent's thread, under cupti_lock, while CUDA calls are recorded: makes the call whose record shows that records
 * still come here. */
void watch_make_call(void);
/* Whether the record is of a CUDA call by the agent's thread. */
bool watch_is_own(const struct activity_api *call);
/* Such a record came. */
void watch_note_arrival(const struct activity_api *call);
/* Whether records of the last second have not come. Work that runs on may hold them back. */
bool watch_misses_records(void);
/* After a forced flush, which holds nothing back, that began at this time: writes the periods whose records did not come. */
void watch_write_gaps(uint64_t flush_ns);

#endif
