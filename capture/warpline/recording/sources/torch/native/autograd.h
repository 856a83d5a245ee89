/* Links nodes of autograd to their operators of the forward pass by PyTorch's sequence numbers. */
#ifndef WARPLINE_TORCH_AUTOGRAD_H
#define WARPLINE_TORCH_AUTOGRAD_H

#include <stdbool.h>
#include <stdint.h>

#include "spool.h"

enum { AUTOGRAD_NONE = -1 };

/* The number of the next node made by this thread; AUTOGRAD_NONE before `autograd_learn` has succeeded. */
int64_t autograd_next(void);
/* PyTorch's id of this thread; 0 before that. */
uint32_t autograd_thread(struct writer *writer);
/* Takes the number of the node about to run in this thread, and the thread that made it. */
int64_t autograd_take_node(uint32_t *made_by);

/* Whether this thread's operators are not recorded: they serve the search, or something else records them. */
bool autograd_is_excluded(const struct writer *writer);

/* Begins the search; some multiplications with gradients must follow. */
bool autograd_learn(void);
/* Ends the search; true if it found the numbers. From now on operators from `begin_task` (itt.c) are linked. */
bool autograd_follow(void);
/* Ends the search; true if it found names and numbers. From now on operators of all threads are recorded without ITT. */
bool autograd_record(void);
/* Excludes this thread's operators, or includes them again. */
void autograd_exclude_thread(bool is_quiet);
/* Calls `then` in a thread whose operators are excluded, when so many outermost operators have ended there. Once;
 * again after the next operator while `then` returns false. 0: never. */
void autograd_call_after(uint32_t operators, bool (*then)(void));
/* An outermost operator has ended. */
void autograd_count_operator(const struct writer *writer);
/* Ends recording. */
void autograd_end(void);

#endif
