#include "recent_names.h"

#include <string.h>

#include "sandbox.h"

#define RECENT 256u
#define LONGEST 120u /* bytes of a cached name */

struct recent_name {
    const char *address;
    uint32_t id;
    char text[LONGEST + 4];
};

void *wl_grow(void *items, uint32_t *room, size_t size)
{
    uint32_t larger = *room ? *room * 2 : 32;
    void *moved = wl_reallocate(items, *room * size, larger * size);
    if (moved != NULL)
        *room = larger;
    return moved;
}

uint32_t wl_intern_recent(struct writer *writer, const char *text)
{
    if (UNLIKELY(writer->recent_names == NULL))
        writer->recent_names = wl_allocate(RECENT * sizeof *writer->recent_names);
    if (UNLIKELY(writer->recent_names == NULL))
        return wl_intern(text, strlen(text));
    struct recent_name *recent = &writer->recent_names[(((uintptr_t)text >> 4) ^ ((uintptr_t)text >> 11)) % RECENT];
    /* The text is compared too: another name may lie at this address now. */
    if (LIKELY(recent->address == text && strcmp(recent->text, text) == 0))
        return recent->id;
    size_t length = strlen(text);
    uint32_t id = wl_intern(text, length);
    if (length <= LONGEST) {
        recent->address = text;
        recent->id = id;
        memcpy(recent->text, text, length + 1);
    }
    return id;
}
