/* Numbers distinct pieces of text in order of first appearance. */
#ifndef WARPLINE_INTERN_H
#define WARPLINE_INTERN_H

#include <stdint.h>
#include <string.h>

typedef struct {
    int64_t *spans; /* begin and length of each piece */
    int32_t *slots; /* hash table of piece numbers, -1 is free */
    int64_t mask;
    int64_t slot_count;
    int64_t capacity;
    int64_t count;
    int64_t latest;
} Intern;

#define FIRST_SLOTS 512

static inline void intern_clear(Intern *intern, int64_t slot_count)
{
    intern->mask = slot_count - 1;
    memset(intern->slots, 0xff, (size_t)slot_count * sizeof *intern->slots);
}

/* `slot_count` is a power of two, at least twice the capacity. The table grows into it as needed. */
static inline void intern_init(Intern *intern, int64_t *spans, int32_t *slots, int64_t slot_count, int64_t capacity)
{
    intern->spans = spans;
    intern->slots = slots;
    intern->slot_count = slot_count;
    intern->capacity = capacity;
    intern->count = 0;
    intern->latest = -1;
    intern_clear(intern, slot_count < FIRST_SLOTS ? slot_count : FIRST_SLOTS);
}

static inline uint64_t hash_of(const uint8_t *piece, int64_t length)
{
    uint64_t hash = UINT64_C(1469598103934665603) ^ (uint64_t)length, word;
    if (length >= 8) {
        for (int64_t i = 0; i + 8 < length; i += 8) {
            memcpy(&word, piece + i, 8);
            hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
            hash ^= hash >> 29;
        }
        /* The last eight bytes may overlap the ones before. */
        memcpy(&word, piece + length - 8, 8);
    } else {
        word = 0;
        for (int64_t i = 0; i < length; i++)
            word = word << 8 | piece[i];
    }
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

static inline void intern_grow(Intern *intern, const uint8_t *text)
{
    int64_t wider = 8 * (intern->mask + 1);
    intern_clear(intern, wider < intern->slot_count ? wider : intern->slot_count);
    for (int64_t code = 0; code < intern->count; code++) {
        const int64_t *span = intern->spans + 2 * code;
        int64_t slot = (int64_t)(hash_of(text + span[0], span[1]) & (uint64_t)intern->mask);
        while (intern->slots[slot] >= 0)
            slot = (slot + 1) & intern->mask;
        intern->slots[slot] = (int32_t)code;
    }
}

/* The number of a piece, -1 when the table is full. */
static inline int64_t intern_code(Intern *intern, const uint8_t *text, int64_t begin, int64_t length)
{
    const uint8_t *piece = text + begin;
    /* Neighbouring events often share a thread or category. */
    if (intern->latest >= 0) {
        const int64_t *span = intern->spans + 2 * intern->latest;
        if (span[1] == length && memcmp(text + span[0], piece, (size_t)length) == 0)
            return intern->latest;
    }
    if (2 * intern->count > intern->mask && intern->mask + 1 < intern->slot_count)
        intern_grow(intern, text);
    for (int64_t slot = (int64_t)(hash_of(piece, length) & (uint64_t)intern->mask);; slot = (slot + 1) & intern->mask) {
        int32_t code = intern->slots[slot];
        if (code < 0) {
            if (intern->count >= intern->capacity)
                return -1;
            intern->slots[slot] = (int32_t)intern->count;
            intern->spans[2 * intern->count] = begin;
            intern->spans[2 * intern->count + 1] = length;
            return intern->latest = intern->count++;
        }
        if (intern->spans[2 * code + 1] == length && memcmp(text + intern->spans[2 * code], piece, (size_t)length) == 0)
            return intern->latest = code;
    }
}

#endif
