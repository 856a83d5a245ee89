/* Exact medians of many groups without sorting and without keeping values: counts in bins, then the values of one bin.
 *
 * The caller is warpline/analysis/framework/loops/medians.py, the same by sorting warpline/analysis/framework/statistics.py.
 * Values are from 0 to below 2^62. Keys and values may lie in a file that somebody writes to between two passes: a key of
 * `keys` or more, and a value for which there is no room, are passed over.
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum { FEW = 24 };

/* What is known of a group, and which of its values are looked at: those in [low, high]. */
typedef struct {
    int64_t count, total, least, most;
    int64_t low, high; /* nothing is looked at where high is below low */
    int64_t place;     /* its first bin, or the one that 0 would be in, or where its next value goes */
    int64_t shift;     /* how wide its bins are, -1 for bins that widen with the values, of which 0 has the first */
    int64_t center;
    double squares; /* of differences from `center` */
} Group;

/* Adds `n` values to the groups of their keys; all their bits, of which the highest tells of a negative one. */
EXPORT int64_t warpline_group_sums(int64_t n, const uint32_t *key, const int64_t *value, Group *groups, int64_t keys)
{
    uint64_t bits = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t at = key[i];
        if (at >= keys)
            continue;
        Group *group = &groups[at];
        const int64_t here = value[i];
        bits |= (uint64_t)here;
        if (!group->count || here < group->least)
            group->least = here;
        if (!group->count || here > group->most)
            group->most = here;
        group->count++;
        group->total = (int64_t)((uint64_t)group->total + (uint64_t)here);
    }
    return (int64_t)bits;
}

/* Bins as wide as a 32nd to a 64th of what lies in them; every value below 64 has its own. */
static int64_t widening(int64_t value)
{
    const int more = 58 - __builtin_clzll((uint64_t)value | 32);
    return ((int64_t)more << 5) + (value >> more);
}

/* The group of a key; none where the key is beyond those that were counted, as the file may have changed since. */
static inline Group *group_at(uint32_t key, const int32_t *group_of, Group *groups, int64_t keys)
{
    return key < keys ? &groups[group_of[key]] : NULL;
}

/* Counts `n` values in the bins of their groups, and adds up their squares where `squares` says so. */
EXPORT void warpline_group_bins(int64_t n, const uint32_t *key, const int64_t *value, const int32_t *group_of,
                                Group *groups, uint32_t *bins, int64_t keys, int64_t squares)
{
    for (int64_t i = 0; i < n; i++) {
        Group *group = group_at(key[i], group_of, groups, keys);
        if (group == NULL)
            continue;
        const int64_t here = value[i];
        if (squares) {
            const double apart = (double)(here - group->center);
            group->squares += apart * apart;
        }
        if (here < group->low || here > group->high)
            continue;
        if (group->shift < 0)
            bins[group->place + widening(here)]++;
        else
            bins[group->place + ((here - group->low) >> group->shift)]++;
    }
}

/* Writes those of `n` values that are looked at to the places of their groups, which it moves on. */
EXPORT void warpline_group_values(int64_t n, const uint32_t *key, const int64_t *value, const int32_t *group_of,
                                  Group *groups, int64_t *out, int64_t keys, int64_t room)
{
    for (int64_t i = 0; i < n; i++) {
        Group *group = group_at(key[i], group_of, groups, keys);
        if (group == NULL)
            continue;
        const int64_t here = value[i];
        if (here >= group->low && here <= group->high && group->place < room)
            out[group->place++] = here;
    }
}

/* The value of `rank` among `n`, and in `next` the one behind it; digits from the highest down, `values` is lost. */
static int64_t of_rank(int64_t n, int64_t *values, int64_t rank, int64_t *next)
{
    uint64_t bits = 0;
    int64_t behind = INT64_MAX;
    if (n <= FEW) {
        for (int64_t i = 1; i < n; i++) {
            const int64_t moved = values[i];
            int64_t at = i;
            for (; at && values[at - 1] > moved; at--)
                values[at] = values[at - 1];
            values[at] = moved;
        }
        *next = rank + 1 < n ? values[rank + 1] : behind;
        return values[rank];
    }
    for (int64_t i = 0; i < n; i++)
        bits |= (uint64_t)(values[i] ^ values[0]);
    for (int shift = 56; shift >= 0; shift -= 8) {
        if (!(bits >> shift & 255))
            continue;
        int64_t counts[256] = {0}, kept = 0;
        int digit = 0;
        for (int64_t i = 0; i < n; i++)
            counts[values[i] >> shift & 255]++;
        while (rank >= counts[digit])
            rank -= counts[digit++];
        for (int64_t i = 0; i < n; i++) {
            const int64_t here = values[i];
            const int of = (int)(here >> shift & 255);
            if (of == digit)
                values[kept++] = here;
            else if (of > digit && here < behind)
                behind = here;
        }
        n = kept;
    }
    /* What is left is equal. */
    *next = rank + 1 < n ? values[0] : behind;
    return values[0];
}

/* For each of `count` groups, whose values are `values[first[i]:first[i + 1]]`, that of `rank[i]` and the one behind it. */
EXPORT void warpline_group_ranks(int64_t count, const int64_t *first, const int64_t *rank, int64_t *values,
                                 int64_t *lower, int64_t *next)
{
    for (int64_t i = 0; i < count; i++)
        lower[i] = of_rank(first[i + 1] - first[i], values + first[i], rank[i], &next[i]);
}

/* Adds up `columns` by group, 0 in `how`, or keeps the smallest (1) or largest (2) value of each; of the events in `place`
 * where it is given. `out` holds zeros, or a value of each group. */
EXPORT void warpline_grouped(int64_t n, const int64_t *group, const int64_t *place, int64_t columns,
                             const int64_t *const *value, const int64_t *how, int64_t *const *out)
{
    for (int64_t c = 0; c < columns; c++) {
        const int64_t *from = value[c], way = how[c];
        int64_t *to = out[c];
        for (int64_t i = 0; i < n; i++) {
            const int64_t here = from[place ? place[i] : i];
            int64_t *found = &to[group[i]];
            if (!way)
                *found = (int64_t)((uint64_t)*found + (uint64_t)here);
            else if (way == 1 ? here < *found : here > *found)
                *found = here;
        }
    }
}
