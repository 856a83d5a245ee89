/* Rows of neighbours on a lane in the order of their names: a counting sort, since names are small numbers.
 *
 * The caller, and the same in numpy, is warpline/storage/index/name_pieces.py, which hands over columns of `n` events
 * whose names are below `ids`, and `at` of `ids` zeros. The columns may lie in a mapped file, which somebody may write
 * into while they are read twice here: what is read the second time need not be what was counted.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* A value that is checked and used: one reading of it, whatever the compiler thinks of another. */
static uint32_t once(const uint32_t *value) { return *(const volatile uint32_t *)value; }

/* Fills `row` with 0 … n - 1 by (name, row), `busy` with the busy time of these entries and all before them, `name` and
 * `count` with the names that occur and how often, ascending; the number of those names. Sums wrap around. -1 when names change
 * meanwhile: the output is then invalid. */
EXPORT int64_t warpline_sort_names(int64_t n, const uint32_t *names, const int64_t *duration, const uint8_t *flags,
                                   uint8_t not_busy, int64_t ids, uint32_t *at, uint32_t *row, int64_t *busy,
                                   uint32_t *name, int64_t *count)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t id = once(&names[i]);
        if (id >= ids)
            return -1;
        at[id]++;
    }
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
        const uint32_t id = once(&names[i]);
        if (id >= ids || at[id] >= n)
            return -1;
        const uint32_t place = at[id]++;
        row[place] = (uint32_t)i;
        busy[place] = flags[i] & not_busy ? 0 : duration[i];
    }
    /* Each name has filled the places that were counted for it, and so every place. */
    first = 0;
    for (int64_t i = 0; i < distinct; i++) {
        first += (uint32_t)count[i];
        if (at[name[i]] != first)
            return -1;
    }
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (uint64_t)busy[i];
        busy[i] = (int64_t)sum;
    }
    return distinct;
}
