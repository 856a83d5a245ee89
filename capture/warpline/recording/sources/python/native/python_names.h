/* What Python calls its threads: before 3.14 the kernel is not told. */
#ifndef WARPLINE_PYTHON_NAMES_H
#define WARPLINE_PYTHON_NAMES_H

#include <stdint.h>

#include "spool.h"

/* A thread that Python has, by the kernel's id: when it is one that was not seen before, names are to be asked for. */
void names_saw(uint32_t tid);
/* Has the names of all threads found when there are new ones, ten times a second at most, and writes those found. Never
 * waits for the GIL: a thread of its own does, and has it for some microseconds. */
void names_write_new(struct writer *writer, uint64_t now);
/* Not before this time: a child that was forked is busy putting its GIL together again. */
void names_wait_until(uint64_t time_ns);

#endif
