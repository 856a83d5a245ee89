/* Python stacks as ids: a trie of (caller's stack, code object, line), written to the spool when first seen. */
#ifndef WARPLINE_PYTHON_STACKS_H
#define WARPLINE_PYTHON_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "python_memory.h"

#define STACK_DEPTH 128

struct stack_frame {
    uintptr_t code, instruction;
};
/* Owner of a frame (pycore_frame.h). */
enum { OWNED_BY_GENERATOR = 1, OWNED_BY_C = 3 };

/* The stack of the calling thread, read without the GIL: its frames do not change while it is in C. 0 if there is
 * none. Cost grows with depth; a known stack allocates nothing. `task`, unless NULL, gets the name of the thread's
 * asyncio task, if it has one. */
uint32_t stack_and_task(uint32_t *task);

/* Fields of the code objects of frames read elsewhere. */
#define CODE_SPAN 64
struct stack_codes {
    char fields[STACK_DEPTH][CODE_SPAN];
};
/* Reads them, then `count` further places (at most 8) into `more`, in one call that cannot fault: code objects may be
 * freed meanwhile. Returns how many bytes of the places were read; -1 if a code object could not be. */
long stack_read_codes(struct stack_codes *codes, const struct stack_frame *frames, int depth, void *more,
                      const struct python_place *places, int count);
/* The id of these frames, innermost first. */
uint32_t stack_intern(const struct stack_codes *codes, const struct stack_frame *frames, int depth);
/* Writes all known code objects and stacks to a file that was just opened. Called with the spool's lock held. */
void stacks_dump_locked(void);
/* Maps the tables now: for a process that enters a sandbox. */
void stacks_prepare(void);
uint64_t stacks_refused(void);

#endif
