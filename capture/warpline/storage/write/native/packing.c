/* The inner loop of spreading nested events over lanes: `Packer` in packing.py, which also does without it. */
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
