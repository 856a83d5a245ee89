/* Names of operators and events of frameworks, which a program passes again and again from the same addresses. */
#ifndef WARPLINE_RECENT_NAMES_H
#define WARPLINE_RECENT_NAMES_H

#include "spool.h"

/* The id of a text, found faster when the text lies where it lay before. */
uint32_t wl_intern_recent(struct writer *writer, const char *text);
/* Moves `items` to where there is room for twice as many; NULL, and nothing changed, when memory ran out. */
void *wl_grow(void *items, uint32_t *room, size_t size);

#endif
