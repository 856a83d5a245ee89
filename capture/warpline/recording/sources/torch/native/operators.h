/* Operators that begin and end in a thread, reported by ITT or by PyTorch's own callbacks. */
#ifndef WARPLINE_TORCH_OPERATORS_H
#define WARPLINE_TORCH_OPERATORS_H

#include "spool.h"

/* `sequence` and `thread`: see docs/spool.md. Every begin has its end, in the same thread. */
void operator_begins(struct writer *writer, uint32_t name, int64_t sequence, uint32_t thread);
void operator_ends(struct writer *writer);

#endif
