/* Operators as they begin and end in a thread, whoever tells of them: ITT or PyTorch's own callbacks. */
#ifndef WARPLINE_TORCH_OPERATORS_H
#define WARPLINE_TORCH_OPERATORS_H

#include "spool.h"

/* `sequence` and `thread` as docs/spool.md has them. Every begin has its end, in the same thread. */
void operator_begins(struct writer *writer, uint32_t name, int64_t sequence, uint32_t thread);
void operator_ends(struct writer *writer);

#endif
