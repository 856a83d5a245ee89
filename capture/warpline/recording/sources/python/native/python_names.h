/* Python's names of its threads: before 3.14 the kernel does not know them. */
#ifndef WARPLINE_PYTHON_NAMES_H
#define WARPLINE_PYTHON_NAMES_H

#include <stdint.h>

#include "spool.h"

/* A thread of Python, by the kernel's id. A new one makes the next `names_write_new` ask for names. */
void names_note_thread(uint32_t tid);
/* Asks for the names of all threads when there are new ones, at most ten times a second, and writes the names found.
 * A separate thread takes the GIL for some microseconds; this function never waits for it. */
void names_write_new(struct writer *writer, uint64_t now);
/* Asks for no names before this time: a forked child is busy restoring its GIL. */
void names_wait_until(uint64_t time_ns);

#endif
