/* The innermost event around each of many moments on threads, with the columns of a capture read in place.
 *
 * The caller is warpline/analysis/framework/loops/innermost.py, the same in numpy `enclosing` of nesting.py beside it.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Lanes of thread i are `lane_of[i]` to below `lane_of[i + 1]`, the outermost first; `wanted` says which kinds count. */
typedef struct {
    const int64_t *start, *duration;
    const uint8_t *kind, *wanted;
    const int64_t *lane_of, *first, *stop, *offset;
    int64_t *cursor; /* of each lane: the row behind the last one that had begun */
    int64_t farthest;
} Threads;

static int64_t bounded(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static int64_t begin_of(const Threads *t, int64_t lane, int64_t row)
{
    return bounded(t->start[row], -t->farthest, t->farthest) - t->offset[lane];
}

/* The first row of a lane that begins behind a moment, looked for from the cursor on in growing steps. */
static int64_t behind(const Threads *t, int64_t lane, int64_t time)
{
    int64_t low = t->first[lane], high = t->stop[lane], at = t->cursor[lane], step = 1;
    if (at > low && begin_of(t, lane, at - 1) > time) {
        high = at - 1;
        while (high > low) {
            const int64_t probe = high - low > step ? high - step : low;
            if (begin_of(t, lane, probe) <= time) {
                low = probe + 1;
                break;
            }
            high = probe;
            step *= 2;
        }
    } else {
        low = at;
        while (low < high) {
            const int64_t probe = high - low > step ? low + step - 1 : high - 1;
            if (begin_of(t, lane, probe) > time) {
                high = probe;
                break;
            }
            low = probe + 1;
            step *= 2;
        }
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (begin_of(t, lane, middle) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return t->cursor[lane] = low;
}

/* For each of `n` moments on a thread the row of the innermost event that contains it, -1 for none; of several the one
 * that began last, of those that began together that of the later lane. */
EXPORT void warpline_innermost(const Threads *t, int64_t n, const int64_t *thread, const int64_t *time, int64_t *found)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t best = -1, best_start = INT64_MIN;
        for (int64_t lane = t->lane_of[thread[i]]; lane < t->lane_of[thread[i] + 1]; lane++) {
            const int64_t row = behind(t, lane, time[i]) - 1;
            if (row < t->first[lane] || !t->wanted[t->kind[row]])
                continue;
            const int64_t start = begin_of(t, lane, row);
            if (start >= best_start && start + bounded(t->duration[row], 0, t->farthest) > time[i]) {
                best = row;
                best_start = start;
            }
        }
        found[i] = best;
    }
}

/* Adds up times by (name, owner), whose places in the table are `row_of` and `column_of`; -1 leaves one out. What has
 * nothing in the table is -1 there, and what is `names` or more is no name. */
EXPORT void warpline_pair_totals(int64_t n, const uint32_t *name, const uint32_t *owner, const int64_t *time,
                                 const int32_t *row_of, const int32_t *column_of, int64_t names, int64_t columns,
                                 int64_t *table)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t of = name[i], by = owner[i]; /* once: they may lie in a file that somebody writes to */
        if (of >= names || by >= names)
            continue;
        const int32_t row = row_of[of], column = column_of[by];
        if (row < 0 || column < 0)
            continue;
        int64_t *total = &table[row * columns + column];
        *total = (int64_t)((uint64_t)(*total < 0 ? 0 : *total) + (uint64_t)time[i]);
    }
}
