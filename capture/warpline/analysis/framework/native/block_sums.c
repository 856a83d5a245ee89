/* Sums by name over blocks of rows of one kind, and over ranges of them.
 *
 * Called by warpline/analysis/framework/block_sums.py. Names are limited to `ids`, durations to 0 … `farthest`.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct {
    int64_t count, total, low, high;
} Sum;

static int64_t bounded(int64_t value, int64_t farthest) { return value < 0 ? 0 : value > farthest ? farthest : value; }

static uint32_t below(uint32_t name, int64_t ids) { return name < ids ? name : (uint32_t)(ids - 1); }

static void add_one(Sum *sum, int64_t value)
{
    if (!sum->count || value < sum->low)
        sum->low = value;
    if (!sum->count || value > sum->high)
        sum->high = value;
    sum->count++;
    sum->total += value;
}

/* Adds `n` events to the `sums` of all names. */
EXPORT void warpline_add_rows(int64_t n, const uint32_t *name, const int64_t *duration, int64_t ids, int64_t farthest,
                              Sum *sums)
{
    for (int64_t i = 0; i < n; i++)
        add_one(&sums[below(name[i], ids)], bounded(duration[i], farthest));
}

/* Adds `n` sums, one for each entry of `name`, to the `sums` of all names. */
EXPORT void warpline_add_sums(int64_t n, const uint32_t *name, const Sum *from, int64_t ids, Sum *sums)
{
    for (int64_t i = 0; i < n; i++) {
        Sum *sum = &sums[below(name[i], ids)];
        if (!from[i].count)
            continue;
        if (!sum->count || from[i].low < sum->low)
            sum->low = from[i].low;
        if (!sum->count || from[i].high > sum->high)
            sum->high = from[i].high;
        sum->count += from[i].count;
        sum->total += from[i].total;
    }
}

/* The sums of a block of `n` events by name, in order of occurrence; returns the number of distinct names. `names` and
 * `found` have room for `n`; `sums` of all names is scratch memory, zero before and after. */
EXPORT int64_t warpline_block(int64_t n, const uint32_t *name, const int64_t *duration, int64_t ids, int64_t farthest,
                              Sum *sums, uint32_t *names, Sum *found)
{
    int64_t distinct = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t id = below(name[i], ids);
        if (!sums[id].count)
            names[distinct++] = id;
        add_one(&sums[id], bounded(duration[i], farthest));
    }
    for (int64_t i = 0; i < distinct; i++) {
        found[i] = sums[names[i]];
        sums[names[i]] = (Sum){0};
    }
    return distinct;
}
