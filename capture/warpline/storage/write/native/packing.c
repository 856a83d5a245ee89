/* The inner loops of packing.py, which also does without them. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Nesting depth of each of n events, sorted by (start, -stop), below what is still open: `open` events whose stops lie
 * in `stack`, the outermost first, which has room for n more.
 *
 * Returns 0; -1 when an event reaches beyond one that it begins in.
 */
EXPORT int64_t warpline_nesting_depths(const int64_t *starts, const int64_t *stops, int64_t n, int64_t *stack,
                                       int64_t open, int32_t *lanes)
{
    int64_t depth = open;
    for (int64_t i = 0; i < n; i++) {
        int64_t start = starts[i], stop = stops[i];
        while (depth && stack[depth - 1] <= start)
            depth--;
        if (depth && stack[depth - 1] < stop)
            return -1;
        lanes[i] = (int32_t)depth;
        /* A moment holds no lane. */
        if (stop > start)
            stack[depth++] = stop;
    }
    return 0;
}

/* For each of n codes the index of the next equal one, into `next`, which holds -1 everywhere, as `last` does, which has
 * room for all codes.
 */
EXPORT void warpline_next_of_same(const uint16_t *codes, int64_t n, int64_t *last, int64_t *next)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t *before = &last[codes[i]];
        if (*before >= 0)
            next[*before] = i;
        *before = i;
    }
}
