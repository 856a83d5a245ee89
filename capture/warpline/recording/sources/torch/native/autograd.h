/* Which operator of the forward pass a node of autograd is the derivative of: PyTorch's sequence numbers. */
#ifndef WARPLINE_TORCH_AUTOGRAD_H
#define WARPLINE_TORCH_AUTOGRAD_H

#include <stdbool.h>
#include <stdint.h>

#include "spool.h"

enum { AUTOGRAD_NONE = -1 };

/* The number that the next node made by this thread gets; AUTOGRAD_NONE while `autograd_learn` found nothing out. */
int64_t autograd_next(void);
/* PyTorch's id of this thread; 0 as above. */
uint32_t autograd_thread(struct writer *writer);
/* Hands over, once, the number of the node that is about to run in this thread and the thread that made it. */
int64_t autograd_take_node(uint32_t *made_by);

/* Whether operators of this thread are there only to be looked at, or told by something else. */
bool autograd_is_quiet(const struct writer *writer);

/* Begins to look; some multiplications with gradients are to follow. */
bool autograd_learn(void);
/* Ends it; true when numbers are found. What `begin_task` of itt.c is told is linked from now on. */
bool autograd_follow(void);
/* Ends it; true when names and numbers are found. From now on operators of all threads are told, without ITT. */
bool autograd_tell(void);
/* Whether this thread's are left out. */
void autograd_be_quiet(bool is_quiet);
/* When so many operators, those inside others not counted, have ended in a thread whose own are left out, `then` is
 * called in it, once; it returns whether that is to stay so. Zero: never. */
void autograd_after(uint32_t operators, bool (*then)(void));
/* One has ended, in no other. */
void autograd_passed(const struct writer *writer);
/* No more of them. */
void autograd_end(void);

#endif
