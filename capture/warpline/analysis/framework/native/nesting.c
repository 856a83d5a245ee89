/* Parents of nested events, and the time that children leave of them.
 *
 * Called by warpline/analysis/framework/nesting.py, which does the same in numpy and checks all indices first.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* For each event of each lane (sorted by start, not overlapping), the innermost event of another lane that contains it:
 * its index in the concatenation of all lanes, -1 for none. `cursor` has one entry for each lane. */
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
                /* An empty event contains nothing; of two equal events, that of the earlier lane is the parent. */
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

/* Duration of each of `n` events less the union of its direct children, which may overlap. `order` sorts by start;
 * `reach` has one entry for each event: the latest end of its children so far. */
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
