/* Ranges that hooks inside frameworks record. The hooks are Python (`inside/`); what they call for each range is here. */
#ifndef WARPLINE_STEPS_RECORDS_H
#define WARPLINE_STEPS_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_MONOTONIC of this thread, strictly increasing; 0 without memory. */
uint64_t steps_now(void);
/* Whether this thread is in a module. */
bool steps_is_inside(void);
/* Begins a call of a module; `is_outermost` tells whether this thread is in no other. */
uint64_t steps_enter(int *is_outermost);
/* Ends it: `path` and `class_name` are interned strings. */
void steps_leave(uint64_t start_ns, uint32_t path, uint32_t class_name);
/* A range from `start_ns` to now. */
void steps_range(uint64_t start_ns, uint32_t kind, uint32_t name, uint32_t detail, int64_t value);

#endif
