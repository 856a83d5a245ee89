/* Which events lie in which, over the lanes of one thread, and how deep.
 *
 * The caller, and the same in numpy, is warpline/analysis/framework/nesting.py, which has checked that every number of
 * an event is one of an event.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* For each event of each lane (sorted by start, not overlapping) the innermost event of another lane that contains it
 * wholly: its place in all lanes put one after the other, -1 for none. `cursor` has room for a number of each lane. */
EXPORT void warpline_parents(int64_t lanes, const int64_t *const *starts, const int64_t *const *stops,
                             const int64_t *counts, int64_t *cursor, int64_t *parent) {
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
EXPORT void warpline_levels(int64_t n, const int64_t *parent, int32_t *level) {
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
