/* Which events lie in which, over the lanes of one thread, how deep, what is left of them, and which moments lie in them.
 *
 * The caller, and the same in numpy, is warpline/analysis/framework/nesting.py, which has checked that every number of
 * an event is one of an event.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* For each event of each lane (sorted by start, not overlapping) the innermost event of another lane that contains it
 * wholly: its place in all lanes put one after the other, -1 for none. `cursor` has room for a number of each lane. */
EXPORT void warpline_parents(int64_t lanes, const int64_t *const *starts, const int64_t *const *stops,
                             const int64_t *counts, int64_t *cursor, int64_t *parent)
{
    for (int64_t lane = 0; lane < lanes; lane++) {
        for (int64_t outer = 0; outer < lanes; outer++)
            cursor[outer] = -1;
        for (int64_t i = 0; i < counts[lane]; i++) {
            const int64_t start = starts[lane][i], stop = stops[lane][i];
            int64_t best = -1, best_start = INT64_MIN, best_stop = INT64_MAX, first = 0;
            for (int64_t outer = 0; outer < lanes; first += counts[outer++]) {
                if (outer == lane)
                    continue;
                int64_t at = cursor[outer];
                while (at + 1 < counts[outer] && starts[outer][at + 1] <= start)
                    at++;
                cursor[outer] = at;
                if (at < 0)
                    continue;
                const int64_t begin = starts[outer][at], end = stops[outer][at];
                /* An empty event contains nothing; of two equal ones that of the earlier lane contains the other. */
                if (end < stop || end <= begin || (outer > lane && begin >= start && end <= stop))
                    continue;
                if (begin > best_start || (begin == best_start && end <= best_stop)) {
                    best = first + at;
                    best_start = begin;
                    best_stop = end;
                }
            }
            *parent++ = best;
        }
    }
}

/* Number of ancestors of each of `n`, all of which are -1 before; nothing contains itself. */
EXPORT void warpline_levels(int64_t n, const int64_t *parent, int32_t *level)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t up = i, steps = 0;
        while (up >= 0 && level[up] < 0 && steps < n) {
            up = parent[up];
            steps++;
        }
        int64_t depth = (up < 0 ? -1 : level[up]) + steps;
        for (up = i; up >= 0 && level[up] < 0 && depth >= 0; up = parent[up])
            level[up] = (int32_t)depth--;
    }
}

/* What the direct children of each of `n` leave of its duration; `parent` is -1 for none. */
EXPORT void warpline_self_times(int64_t n, const int64_t *duration, const int64_t *parent, int64_t *own)
{
    for (int64_t i = 0; i < n; i++)
        own[i] = duration[i];
    for (int64_t i = 0; i < n; i++)
        if (parent[i] >= 0)
            own[parent[i]] -= duration[i];
}

/* What the direct children of each of `n`, in the `order` in which they start, leave of it where they may overlap.
 * `reach` has room for a time of each: how far its children go that were met. */
EXPORT void warpline_uncovered(int64_t n, const int64_t *order, const int64_t *start, const int64_t *stop,
                               const int64_t *parent, int64_t *own, int64_t *reach)
{
    for (int64_t i = 0; i < n; i++) {
        own[i] = (int64_t)((uint64_t)stop[i] - (uint64_t)start[i]);
        reach[i] = INT64_MIN;
    }
    for (int64_t at = 0; at < n; at++) {
        const int64_t i = order[at], above = parent[i];
        if (above < 0 || stop[i] <= reach[above])
            continue;
        const int64_t from = start[i] > reach[above] ? start[i] : reach[above];
        if (stop[i] > from)
            own[above] -= stop[i] - from;
        reach[above] = stop[i];
    }
}

/* The first of `count` ascending times that is not before `key`. It is looked for from `near` on in growing steps, since
 * most keys follow those before them closely. */
static int64_t first_from(const int64_t *times, int64_t count, int64_t key, int64_t near)
{
    int64_t low = 0, high = near, step = 1;
    if (near < count && times[near] < key) {
        low = near + 1;
        high = low;
        while (high < count && times[high] < key) {
            low = high + 1;
            high = count - high > step ? high + step : count;
            step *= 2;
        }
    } else {
        while (high > 0 && times[high - 1] >= key) {
            low = high > step ? high - step : 0;
            if (times[low] < key)
                break;
            high = low;
            step *= 2;
        }
        if (high > 0 && times[high - 1] < key)
            return high;
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (times[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* For each of `n` ranges [start, stop) the first and the past-the-last of the ascending `times` inside it. */
EXPORT void warpline_windows(int64_t count, const int64_t *times, int64_t n, const int64_t *starts,
                             const int64_t *stops, int64_t *first, int64_t *last)
{
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = first_from(times, count, starts[i], low);
        high = first_from(times, count, stops[i], high);
        first[i] = low;
        last[i] = high > low ? high : low;
    }
}

/* For each of `n` keys the first of `count` ascending times that is not before it, or that is behind it. */
EXPORT void warpline_search(int64_t count, const int64_t *times, int64_t n, const int64_t *keys, int64_t behind,
                            int64_t *found)
{
    int64_t near = 0;
    for (int64_t i = 0; i < n; i++) {
        if (behind && keys[i] == INT64_MAX)
            near = count;
        else
            near = first_from(times, count, keys[i] + (behind != 0), near);
        found[i] = near;
    }
}
