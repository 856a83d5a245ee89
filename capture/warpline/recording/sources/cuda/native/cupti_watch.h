/* Notices that another profiler in the process has taken CUPTI over. */
#ifndef WARPLINE_CUPTI_WATCH_H
#define WARPLINE_CUPTI_WATCH_H

#include <stdbool.h>

#include "cupti_abi.h"

/* On the agent's thread, before its first CUDA call. */
void watch_start(void);
/* A subscription begins. */
void watch_session(void);
/* Whether another profiler's calls of CUPTI are unseen, and would harm this session. */
bool watch_is_needed(void);
/* On the agent's thread, under cupti_lock, while CUDA calls are recorded: makes the call whose record shows that records
 * still come here. */
void watch_make_call(void);
/* Around every call of cuCtxGetCurrent by the agent, on whatever thread. */
struct watched_call {
    uint64_t begin_ns[2];
};
void watch_begin_call(struct watched_call *call);
void watch_end_call(const struct watched_call *call);
/* Whether the record is of such a call. */
bool watch_is_own(const struct activity_api *call);
/* Such a record came; those of the program's threads do not matter. */
void watch_note_arrival(const struct activity_api *call);
/* Whether the record of the last such call has come, so that CUPTI's buffers are the agent's. */
bool watch_has_arrived(void);
/* Whether records of the last second have not come. Work that runs on may hold them back. */
bool watch_misses_records(void);
/* After a forced flush, which holds nothing back, that began at this time: writes the periods whose records did not come. */
void watch_write_gaps(uint64_t flush_ns);

#endif
