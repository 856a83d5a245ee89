/* Rows of neighbours on a lane in the order of their names: a counting sort, since names are small numbers.
 *
 * The caller, and the same in numpy, is warpline/storage/index/name_pieces.py, which hands over columns of `n` events
 * whose names are below `ids`, and `at` of `ids` zeros.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Fills `row` with 0 … n - 1 by (name, row), `busy` with the busy time of these entries and all before them, `name` and
 * `count` with the names that occur and how often, ascending; the number of those names. Sums wrap around. */
EXPORT int64_t warpline_sort_names(int64_t n, const uint32_t *names, const int64_t *duration, const uint8_t *flags,
                                   uint8_t not_busy, int64_t ids, uint32_t *at, uint32_t *row, int64_t *busy,
                                   uint32_t *name, int64_t *count) {
    for (int64_t i = 0; i < n; i++)
        at[names[i]]++;
    int64_t distinct = 0;
    uint32_t first = 0;
    for (int64_t id = 0; id < ids; id++) {
        const uint32_t here = at[id];
        if (!here)
            continue;
        name[distinct] = (uint32_t)id;
        count[distinct++] = here;
        at[id] = first;
        first += here;
    }
    for (int64_t i = 0; i < n; i++) {
        const uint32_t place = at[names[i]]++;
        row[place] = (uint32_t)i;
        busy[place] = flags[i] & not_busy ? 0 : duration[i];
    }
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (uint64_t)busy[i];
        busy[i] = (int64_t)sum;
    }
    return distinct;
}
