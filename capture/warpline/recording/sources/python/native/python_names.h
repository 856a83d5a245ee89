/* What Python calls its threads: before 3.14 the kernel is not told. */
#ifndef WARPLINE_PYTHON_NAMES_H
#define WARPLINE_PYTHON_NAMES_H

#include <stdint.h>

#include "spool.h"

/* A thread that Python has, by the kernel's id: when it is one that was not seen before, names are to be asked for. */
void names_saw(uint32_t tid);
/* Writes the names of all threads when there are new ones, ten times a second at most. Takes the GIL for that, for some
 * microseconds; in a thread of our own. */
void names_write_new(struct writer *writer, uint64_t now);
/* Not before this time: a child that was forked is busy putting its GIL together again. */
void names_wait_until(uint64_t time_ns);

#endif
