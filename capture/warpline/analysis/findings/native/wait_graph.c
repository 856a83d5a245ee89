/* Two walks over the waits of a program that numpy has no word for: each step needs the one before.
 *
 * The caller, and the same in Python, is warpline/analysis/findings/wait_graph.py, which has checked that every number
 * of a segment is one of a segment.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* When each segment would end with other lengths. `order` sorts the segments by their ends; `first` tells whether one is
 * its actor's first; `keep` is the part of its length that it keeps; `on` is the segment of somebody else that ends a
 * wait, or -1; a `shorter` wait is never longer than it was. */
EXPORT void warpline_replay(int64_t n, const int32_t *order, const int64_t *start, const int64_t *stop,
                            const uint8_t *first, const uint8_t *shorter, const float *keep, const int32_t *on,
                            int64_t origin, int64_t *end) {
    for (int64_t at = 0; at < n; at++) {
        const int64_t i = order[at];
        const int64_t begin = first[i] ? origin : end[i - 1];
        if (on[i] < 0) {
            end[i] = begin + (int64_t)((double)(stop[i] - start[i]) * (double)keep[i]);
            continue;
        }
        end[i] = begin;
        if (keep[i] > 0) {
            const int64_t j = on[i];
            const int64_t reached = (first[j] ? origin : end[j - 1]) + (int64_t)((double)(stop[i] - start[j]) * (double)keep[j]);
            if (reached > begin)
                end[i] = shorter[i] && reached - begin > stop[i] - start[i] ? begin + stop[i] - start[i] : reached;
        }
    }
}

/* The path back from `stop`, in segment `at`, to `origin`: pieces (segment, start), latest first. Returns how many. */
EXPORT int64_t warpline_walk(const int64_t *start, const int32_t *on, int64_t at, int64_t stop, int64_t origin,
                             int64_t most_jumps, int64_t room, int64_t *segment, int64_t *begin) {
    int64_t count = 0, jumps = most_jumps;
    while (stop > origin && count < room) {
        if (on[at] >= 0 && jumps > 0) {
            at = on[at];
            while (start[at] >= stop && start[at] > origin)
                at--;
            jumps--; /* those who wait for each other at one moment would send us round for ever */
            continue;
        }
        stop = start[at] > origin ? start[at] : origin;
        segment[count] = at;
        begin[count++] = stop;
        at--;
        jumps = most_jumps;
    }
    return count;
}
