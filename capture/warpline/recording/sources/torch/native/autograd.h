/* Which operator of the forward pass a node of autograd is the derivative of: PyTorch's sequence numbers. */
#ifndef WARPLINE_TORCH_AUTOGRAD_H
#define WARPLINE_TORCH_AUTOGRAD_H

#include <stdbool.h>
#include <stdint.h>

enum { AUTOGRAD_NONE = -1 };

/* The number that the next node made by this thread gets; AUTOGRAD_NONE while `autograd_learn` found nothing out. */
int64_t autograd_next(void);
/* PyTorch's id of this thread; 0 as above. */
uint32_t autograd_thread(void);
/* Hands over, once, the number of the node that is about to run in this thread and the thread that made it. */
int64_t autograd_take_node(uint32_t *made_by);

/* Whether what runs now is only there to be looked at. */
bool autograd_is_learning(void);
/* Step 1 begins to look, step 2 (after some operators with gradients) says whether numbers are found and followed. */
bool autograd_learn(int step);

#endif
