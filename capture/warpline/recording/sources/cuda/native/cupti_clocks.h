/* The clocks of CUPTI's two users, and the times in records. */
#ifndef WARPLINE_CUPTI_CLOCKS_H
#define WARPLINE_CUPTI_CLOCKS_H

#include <stdbool.h>

#include "cupti_sharing.h"

/* The same moment in several clocks, and how fast the program's runs by Warpline's. */
struct clocks {
    uint64_t now[USERS], monotonic_ns, realtime_ns;
    double rate;
};

struct clocks clocks_read(void);
/* Gives the clock back to the program. */
void clocks_leave(void);

bool clocks_has_times(uint32_t kind);
/* Whether one of these kinds, a bit each, has times. */
bool clocks_has_any_times(uint64_t kinds);
/* When the record's subject began, by CLOCK_MONOTONIC; 0 where it has no time. */
uint64_t clocks_start(const struct clocks *clocks, const void *record);
/* Whether the record is of work on the GPU, and then the id of its launch. */
bool clocks_is_gpu_work(const void *record, uint32_t *correlation);
/* Changes the record's times to the clock of `user`; those that are in it already stay. */
void clocks_convert(const struct clocks *clocks, void *record, enum cupti_user user);

#endif
