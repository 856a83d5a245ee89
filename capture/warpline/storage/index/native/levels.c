/* The level of detail of a lane: what warpline/storage/index/level_of_detail.py does with numpy, with the same results.
 *
 * The caller has checked that all columns are equally long. Their values may be anything: arithmetic on them wraps
 * around, and none becomes an address. Columns of events may lie in a mapped file, and change between two readings.
 */
#include <stdbool.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_PACKED_DURATION (((int64_t)1 << 48) - 1)

typedef struct {
    int64_t *start;
    uint64_t *longest;
    uint32_t *rest, *row;
} Level;

/* The number of bins of `1 << level` ns in which something starts; `start` is sorted. */
EXPORT int64_t warpline_levels_count(const int64_t *start, int64_t n, int64_t level)
{
    int64_t bins = n > 0;
    for (int64_t i = 1; i < n; i++)
        bins += (start[i] >> level) != (start[i - 1] >> level);
    return bins;
}

static int64_t is_work(uint64_t flags, int64_t not_busy) { return flags & (uint64_t)not_busy ? 0 : -1; }

/* Writes the entry of the bin that ends before its next input: the winner without its own share of the busy time. */
static void put(const Level *out, int64_t at, int64_t start, int64_t duration, uint8_t flags, uint8_t kind,
                uint64_t busy, uint32_t row, int64_t not_busy)
{
    int64_t packed = duration < MAX_PACKED_DURATION ? duration : MAX_PACKED_DURATION;
    out->start[at] = start;
    out->longest[at] = (uint64_t)packed << 16 | (uint64_t)flags << 8 | kind;
    out->rest[at] = (uint32_t)(busy - (uint64_t)(duration & is_work(flags, not_busy)));
    out->row[at] = row;
}

/* The first level, from the lane's events. `out` has room for `room` entries, as many as `warpline_levels_count` told; how
 * many there are now, at most so many. */
EXPORT int64_t warpline_levels_first(const int64_t *start, const int64_t *duration, const uint8_t *flags,
                                     const uint8_t *kind, int64_t n, int64_t level, int64_t not_busy, int64_t room,
                                     const Level *out)
{
    int64_t entries = 0;
    for (int64_t i = 0; i < n && entries < room;) {
        int64_t bin = start[i] >> level, winner = i;
        uint64_t busy = 0;
        do {
            busy += (uint64_t)(duration[i] & is_work(flags[i], not_busy));
            winner = duration[i] >= duration[winner] ? i : winner;
        } while (++i < n && start[i] >> level == bin);
        put(out, entries++, start[winner], duration[winner], flags[winner], kind[winner], busy, (uint32_t)winner,
            not_busy);
    }
    return entries;
}

/* A coarser level from `n` entries of a finer one. `out` may be as long as that. */
EXPORT int64_t warpline_levels_next(const Level *finer, int64_t n, int64_t level, int64_t not_busy, const Level *out)
{
    int64_t entries = 0;
    for (int64_t i = 0; i < n;) {
        int64_t bin = finer->start[i] >> level, winner = i;
        uint64_t busy = 0;
        for (; i < n && finer->start[i] >> level == bin; i++) {
            int64_t duration = (int64_t)(finer->longest[i] >> 16);
            busy += (uint64_t)(duration & is_work(finer->longest[i] >> 8, not_busy)) + finer->rest[i];
            winner = duration >= (int64_t)(finer->longest[winner] >> 16) ? i : winner;
        }
        uint64_t longest = finer->longest[winner];
        put(out, entries++, finer->start[winner], (int64_t)(longest >> 16), (uint8_t)(longest >> 8), (uint8_t)longest,
            busy, finer->row[winner], not_busy);
    }
    return entries;
}
