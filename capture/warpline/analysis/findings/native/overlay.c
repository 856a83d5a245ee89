/* Segments laid over others in one pass over both.
 *
 * The caller, and the same in numpy, is warpline/analysis/findings/segments.py (`overlay`).
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct {
    int64_t room, count;
    int64_t *which, *start, *stop;
} Laid;

static void lay(Laid *to, int64_t which, int64_t start, int64_t stop)
{
    if (to->count < to->room) {
        to->which[to->count] = which;
        to->start[to->count] = start;
        to->stop[to->count] = stop;
    }
    to->count++;
}

/* What of `n` segments is left beside `m` patches, and the patches, by actor and start: `which` is the segment, or
 * n + the patch. Both are sorted by actor, then start, and disjoint; nothing is longer than what it is a part of. Returns
 * how many there are, of which those that have no room are only counted; n + 2 m is always enough. */
EXPORT int64_t warpline_overlay(int64_t n, const int32_t *actor, const int64_t *start, const int64_t *stop, int64_t m,
                                const int32_t *patch_actor, const int64_t *patch_start, const int64_t *patch_stop,
                                int64_t room, int64_t *which, int64_t *begin, int64_t *end)
{
    Laid to = {room, 0, which, begin, end};
    int64_t next = 0, reach = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!i || actor[i] != actor[i - 1]) {
            for (; next < m && patch_actor[next] < actor[i]; next++)
                lay(&to, n + next, patch_start[next], patch_stop[next]);
            reach = start[i];
        }
        int64_t from = start[i] > reach ? start[i] : reach;
        for (; next < m && patch_actor[next] == actor[i] && patch_start[next] < stop[i]; next++) {
            if (patch_start[next] > from)
                lay(&to, i, from, patch_start[next]);
            lay(&to, n + next, patch_start[next], patch_stop[next]);
            reach = patch_stop[next];
            from = from > reach ? from : reach;
        }
        if (from < stop[i])
            lay(&to, i, from, stop[i]);
    }
    for (; next < m; next++)
        lay(&to, n + next, patch_start[next], patch_stop[next]);
    return to.count;
}
