#include "operators.h"

#include <stdlib.h>
#include <string.h>

#include "autograd.h"

#define RECENT 256u  /* names that a thread finds again by where they lie */
#define LONGEST 120u /* of a name that is kept */

/* A name of the program: where it lay, what it was, and its id. */
struct recent_name {
    const char *at;
    uint32_t id;
    char text[LONGEST + 4];
};

void *with_more_room(void *items, uint32_t *room, size_t size)
{
    uint32_t larger = *room ? *room * 2 : 32;
    void *moved = realloc(items, larger * size);
    if (moved != NULL)
        *room = larger;
    return moved;
}

static bool deeper(struct writer *writer)
{
    void *moved = with_more_room(writer->operators, &writer->operator_room, sizeof *writer->operators);
    if (moved == NULL)
        return false;
    writer->operators = moved;
    return true;
}

uint32_t operator_name(struct writer *writer, const char *text)
{
    if (UNLIKELY(writer->recent_names == NULL))
        writer->recent_names = calloc(RECENT, sizeof *writer->recent_names);
    if (UNLIKELY(writer->recent_names == NULL))
        return wl_intern(text, strlen(text));
    struct recent_name *recent =
        &writer->recent_names[(((uintptr_t)text >> 4) ^ ((uintptr_t)text >> 11)) % RECENT];
    /* What lies there is compared: a node's name lies where another's was. */
    if (LIKELY(recent->at == text && strcmp(recent->text, text) == 0))
        return recent->id;
    size_t length = strlen(text);
    uint32_t id = wl_intern(text, length);
    if (length <= LONGEST) {
        recent->at = text;
        recent->id = id;
        memcpy(recent->text, text, length + 1);
    }
    return id;
}

void operator_begins(struct writer *writer, uint32_t name, int64_t sequence, uint32_t thread)
{
    if (UNLIKELY(writer->operator_depth >= writer->operator_room) && !deeper(writer))
        return;
    struct open_operator *open = &writer->operators[writer->operator_depth++];
    open->name = name;
    open->sequence = sequence;
    open->thread = thread;
    open->start_ns = wl_is_recording(SOURCE_TORCH) && !autograd_is_quiet(writer) ? wl_now(writer) : 0;
}

void operator_ends(struct writer *writer)
{
    if (writer->operator_depth == 0)
        return;
    struct open_operator *open = &writer->operators[--writer->operator_depth];
    if (writer->operator_depth == 0)
        autograd_passed(writer);
    if (open->start_ns == 0 || !wl_is_recording(SOURCE_TORCH))
        return;
    struct record_framework_operator *to =
        WL_RESERVE(writer, SLOT_FRAMEWORK_OPERATOR, record_framework_operator);
    if (to == NULL)
        return;
    *to = (struct record_framework_operator){open->start_ns,  wl_now(writer), open->sequence,
                                              open->name, open->thread};
    WL_COMMIT(writer, SLOT_FRAMEWORK_OPERATOR, record_framework_operator);
}
