/* Joins sums by key of several threads; called by warpline/analysis/framework/loops/entries.py. */
#include "entries.h"

#define EXPORT __attribute__((visibility("default")))

/* Adds another entry of the same key. */
static void join(Entry *to, const Entry *from, int64_t order)
{
    if (!to->count || from->cpu_min < to->cpu_min)
        to->cpu_min = from->cpu_min;
    if (!to->count || from->cpu_max > to->cpu_max)
        to->cpu_max = from->cpu_max;
    if (!to->count || from->gpu_min < to->gpu_min)
        to->gpu_min = from->gpu_min;
    if (!to->count || from->gpu_max > to->gpu_max)
        to->gpu_max = from->gpu_max;
    if (order < to->place) {
        to->place = order;
        to->kind = from->kind;
    }
    change(&to->count, from->count);
    change(&to->cpu, from->cpu);
    change(&to->gpu, from->gpu);
    change(&to->self_cpu, from->self_cpu);
    change(&to->self_gpu, from->self_gpu);
}

/* Adds the entries of a thread to a table; returns 0 without memory. With `place`, they are a tree with outer entries
 * first, and `place` receives the new index of each. The kind comes from the thread of lowest `order`. */
EXPORT int64_t warpline_entries_add(Table *to, int64_t count, const Entry *entries, int64_t *place, int64_t order)
{
    if (!to->room && !grow(to))
        return 0;
    for (int64_t i = 0; i < count; i++) {
        const Entry *from = &entries[i];
        const int64_t first = place && from->key[0] >= 0 ? place[from->key[0]] : from->key[0];
        const int64_t at = entry_of(to, first, from->key[1], from->key[2]);
        if (at < 0)
            return 0;
        if (place)
            place[i] = at;
        join(&to->entries[at], from, order);
    }
    return 1;
}

EXPORT void warpline_entries_free(Table *table) { free(table->entries), free(table->slots); }
