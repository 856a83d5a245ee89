/* Records ranges for the hooks inside frameworks, which are Python (`inside/`). */
#ifndef WARPLINE_STEPS_RECORDS_H
#define WARPLINE_STEPS_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

enum { RANGE_LOADER = 1, RANGE_OPTIMIZER = 5, RANGE_STEP = 11 }; /* kinds that begin and end steps, as in records.py */

/* CLOCK_MONOTONIC, strictly increasing within the thread; 0 if memory ran out. */
uint64_t steps_now(void);
/* Whether this thread is inside a module's call. */
bool steps_is_inside(void);
/* Begins a module's call; `is_outermost` exec_call whether this thread is in no other. */
uint64_t steps_enter(int *is_outermost);
/* Ends it; `path` and `class_name` are interned strings. */
void steps_leave(uint64_t start_ns, uint32_t path, uint32_t class_name);
/* A range from `start_ns` to now. */
void steps_range(uint64_t start_ns, uint32_t kind, uint32_t name, uint32_t detail, int64_t value);

#endif
