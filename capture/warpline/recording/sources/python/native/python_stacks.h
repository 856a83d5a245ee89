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
/* What a frame says of who owns it (pycore_frame.h). */
enum { OWNED_BY_GENERATOR = 1, OWNED_BY_C = 3 };

/* The stack of the calling thread, read without the GIL: a thread's own frames stand still while it is in C.
 * 0 where there is none. Costs what its depth costs; nothing is allocated for a stack that was seen before. `task` may be
 * NULL; otherwise it gets the name of the asyncio task the thread is in, where there is one. */
uint32_t stack_and_task(uint32_t *task);

/* What the code objects of frames that were read elsewhere say of themselves. */
#define CODE_SPAN 64
struct stack_codes {
    char fields[STACK_DEPTH][CODE_SPAN];
};
/* Reads it, and then `count` places more, at most 8, into `more`, in one call that cannot fault: code objects may go away
 * meanwhile. How many bytes of the places were read; -1 when one of the code objects could not be. */
long stack_read_codes(struct stack_codes *codes, const struct stack_frame *frames, int depth, void *more,
                      const struct python_place *places, int count);
/* The id of such frames, innermost first. */
uint32_t stack_intern(const struct stack_codes *codes, const struct stack_frame *frames, int depth);
/* Writes every code object and stack known so far; the spool calls it, with its lock held, when a file was opened. */
void stacks_dump_locked(void);
uint64_t stacks_refused(void);

#endif
