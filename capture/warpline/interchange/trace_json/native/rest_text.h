/* Collects the members of objects that have no column, as JSON objects: {"key": value, "key": value}.
 *
 * Distinct objects are stored in one buffer as an array, [{…},{…}, and the caller replaces the last comma by a bracket.
 * Unusual members (keys with escapes, repeated keys) are left to the decoder.
 */
#ifndef WARPLINE_REST_TEXT_H
#define WARPLINE_REST_TEXT_H

#include <stdbool.h>
#include "intern.h"

#define MAX_REST_MEMBERS 256

typedef struct {
    uint8_t *buffer;
    int64_t capacity;
    int64_t used; /* bytes of finished objects */
    int64_t end;  /* end of the current object so far */
    int members;  /* of the current object */
    int64_t key[MAX_REST_MEMBERS], key_length[MAX_REST_MEMBERS];
    Intern objects;
} RestText;

/* `capacity` is at least 1; for the other arguments see `intern_init`. */
static inline void rest_init(RestText *rest, uint8_t *buffer, int64_t capacity, int64_t *spans, int32_t *slots,
                             int64_t slot_count, int64_t objects)
{
    rest->buffer = buffer;
    rest->capacity = capacity;
    rest->buffer[0] = '[';
    rest->used = rest->end = 1;
    rest->members = 0;
    intern_init(&rest->objects, spans, slots, slot_count, objects);
}

static inline void rest_open(RestText *rest)
{
    rest->end = rest->used;
    rest->members = 0;
}

static inline void rest_copy(RestText *rest, const void *piece, int64_t length)
{
    memcpy(rest->buffer + rest->end, piece, (size_t)length);
    rest->end += length;
}

/* Adds a member; the key has no quotation marks. Returns false when the member is unusual. */
static inline bool rest_add(RestText *rest, const uint8_t *key, int64_t key_length, const uint8_t *value,
                            int64_t length)
{
    /* 8 bytes for: brace or comma and blank, two quotation marks, colon and blank, the end. */
    if (rest->members >= MAX_REST_MEMBERS || rest->capacity - rest->end < key_length + length + 8)
        return false;
    for (int64_t i = 0; i < key_length; i++)
        if (key[i] < ' ' || key[i] > '~' || key[i] == '\\')
            return false;
    for (int i = 0; i < rest->members; i++)
        if (rest->key_length[i] == key_length && memcmp(rest->buffer + rest->key[i], key, (size_t)key_length) == 0)
            return false;
    if (rest->members)
        rest_copy(rest, ", \"", 3);
    else
        rest_copy(rest, "{\"", 2);
    rest->key[rest->members] = rest->end;
    rest->key_length[rest->members++] = key_length;
    rest_copy(rest, key, key_length);
    rest_copy(rest, "\": ", 3);
    rest_copy(rest, value, length);
    return true;
}

/* The number of the current object among the distinct ones, -1 when it has no members. */
static inline int64_t rest_close(RestText *rest)
{
    if (!rest->members)
        return -1;
    rest->buffer[rest->end++] = '}';
    int64_t before = rest->objects.count;
    int64_t code = intern_code(&rest->objects, rest->buffer, rest->used, rest->end - rest->used);
    if (rest->objects.count > before) {
        rest->buffer[rest->end++] = ',';
        rest->used = rest->end;
    }
    return code;
}

#endif
