/* A growing table of sums by key. */
#ifndef WARPLINE_ENTRIES_H
#define WARPLINE_ENTRIES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Sums of one key: operator, part, kernel (-1 above that level); or entry above, name, level. */
typedef struct {
    int64_t key[3];
    int64_t count, cpu, cpu_min, cpu_max, gpu, gpu_min, gpu_max, self_cpu, self_gpu;
    int64_t place, kind; /* the kind of the first event in lane order */
} Entry;

typedef struct {
    Entry *entries;
    uint64_t *slots; /* 0, or half of the hash of a key and the number of its entry, from 1 */
    uint64_t slot_mask;
    int64_t count, room;
} Table;

static uint64_t hash_of(int64_t a, int64_t b, int64_t c)
{
    uint64_t h = (uint64_t)a * 0x9E3779B97F4A7C15u ^ (uint64_t)b * 0xC2B2AE3D27D4EB4Fu ^
                 (uint64_t)c * 0x165667B19E3779F9u;
    h = (h ^ h >> 32) * 0xBF58476D1CE4E5B9u;
    return h ^ h >> 29;
}

static void put(Table *t, uint64_t hash, int64_t number)
{
    uint64_t at = hash & t->slot_mask;
    while (t->slots[at])
        at = (at + 1) & t->slot_mask;
    t->slots[at] = (hash & UINT64_MAX << 32) | (uint64_t)(number + 1);
}

static int grow(Table *t)
{
    const int64_t room = t->room ? 2 * t->room : 1 << 12;
    Entry *entries = room >> 31 ? NULL : realloc(t->entries, (size_t)room * sizeof *entries);
    if (entries == NULL)
        return 0;
    t->entries = entries;
    free(t->slots);
    t->slots = calloc((size_t)room * 2, sizeof *t->slots);
    if (t->slots == NULL)
        return 0;
    t->room = room;
    t->slot_mask = (uint64_t)(2 * room - 1);
    for (int64_t i = 0; i < t->count; i++)
        put(t, hash_of(entries[i].key[0], entries[i].key[1], entries[i].key[2]), i);
    return 1;
}

/* The index of the entry of a key, created if needed; -2 without memory. */
static int64_t entry_of(Table *t, int64_t a, int64_t b, int64_t c)
{
    const uint64_t hash = hash_of(a, b, c);
    for (uint64_t at = hash & t->slot_mask; t->slots[at]; at = (at + 1) & t->slot_mask) {
        if ((t->slots[at] ^ hash) >> 32)
            continue;
        const int64_t number = (int64_t)(t->slots[at] & UINT32_MAX) - 1;
        const int64_t *other = t->entries[number].key;
        if (other[0] == a && other[1] == b && other[2] == c)
            return number;
    }
    if (t->count == t->room && !grow(t))
        return -2;
    put(t, hash, t->count);
    t->entries[t->count++] = (Entry){.key = {a, b, c}, .place = INT64_MAX};
    return t->count - 1;
}

/* Sums of a damaged file may overflow. */
static void change(int64_t *sum, int64_t by) { *sum = (int64_t)((uint64_t)*sum + (uint64_t)by); }

#endif
