/* Operators as they begin and end in a thread, whoever tells of them: ITT or PyTorch's own callbacks. */
#ifndef WARPLINE_TORCH_OPERATORS_H
#define WARPLINE_TORCH_OPERATORS_H

#include "spool.h"

/* `items`, moved to where there is room for twice as many; NULL, with all as it was, when memory ran out. */
void *with_more_room(void *items, uint32_t *room, size_t size);
/* The id of an operator's name, which mostly lies where it lay before. */
uint32_t operator_name(struct writer *writer, const char *text);
/* `sequence` and `thread` as docs/spool.md has them. Every begin has its end, in the same thread. */
void operator_begins(struct writer *writer, uint32_t name, int64_t sequence, uint32_t thread);
void operator_ends(struct writer *writer);

#endif
