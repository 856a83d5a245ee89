/* Segments found by moments, and every moment of an actor followed to whoever it waited for.
 *
 * The callers, and the same in numpy, are warpline/analysis/findings/segments.py (`Index`) and blame.py (`blame`).
 * Segments lie sorted by actor, then start; those of actor `a` are [first[a], first[a + 1]). `cursor` keeps for each
 * actor where the last moment was found: moments mostly ascend, so the next one is a step or two away.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define MOST_HOPS 16

/* The last of [low, high) that begins at `time` or before, -1 where none does; looked for from `at` outwards. */
static int64_t last_before(const int64_t *start, int64_t low, int64_t high, int64_t at, int64_t time)
{
    if (low >= high || start[low] > time)
        return -1;
    int64_t step = 1;
    if (start[at] <= time) {
        low = at;
        while (at + step < high && start[at + step] <= time) {
            low = at + step;
            step *= 2;
        }
        high = at + step < high ? at + step : high;
    } else {
        high = at;
        while (at - step > low && start[at - step] > time) {
            high = at - step;
            step *= 2;
        }
        low = at - step > low ? at - step : low;
    }
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (start[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int64_t find(const int64_t *start, const int64_t *first, int64_t actors, int64_t *cursor, int64_t actor,
                    int64_t time)
{
    if (actor < 0 || actor >= actors)
        return -1;
    const int64_t at = last_before(start, first[actor], first[actor + 1], cursor[actor], time);
    if (at >= 0)
        cursor[actor] = at;
    return at;
}

/* The segment of each actor that a moment lies in, -1 for none. */
EXPORT void warpline_segments_at(int64_t n, const int32_t *actor, const int64_t *time, const int64_t *start,
                                 const int64_t *first, int64_t actors, int64_t *cursor, int64_t *found)
{
    for (int64_t i = 0; i < n; i++)
        found[i] = find(start, first, actors, cursor, actor[i], time[i]);
}

typedef struct {
    const int64_t *start, *stop, *first;
    const int32_t *actor, *by;
    const int8_t *cause;
    int64_t actors;
    int64_t *cursor;
    int64_t hops;
    int8_t unknown;
    int64_t room, count, width;
    int64_t *begin, *end;
    int32_t *path; /* [width, room] */
    int8_t *depth;
    uint8_t *is_cycle;
    int64_t chain[MOST_HOPS];
} Following;

static void emit(Following *it, int64_t depth, int64_t begin, int64_t end, int is_cycle)
{
    const int64_t place = it->count++;
    if (!it->room) { /* only counted */
        it->width = depth >= it->width ? depth + 1 : it->width;
        return;
    }
    if (place >= it->room)
        return;
    it->begin[place] = begin;
    it->end[place] = end;
    it->depth[place] = (int8_t)depth;
    it->is_cycle[place] = (uint8_t)is_cycle;
    for (int64_t column = 0; column < it->width; column++)
        it->path[column * it->room + place] = column <= depth ? (int32_t)it->chain[column] : -1;
}

static void follow(Following *it, int64_t depth, int64_t begin, int64_t end)
{
    const int64_t leaf = it->chain[depth];
    const int32_t by = it->by[leaf];
    if (by < 0 || it->cause[leaf] == it->unknown || depth + 1 >= it->hops) {
        emit(it, depth, begin, end, 0);
        return;
    }
    int in_chain = 0;
    for (int64_t column = 0; column <= depth; column++)
        in_chain |= it->actor[it->chain[column]] == by;
    int64_t at = in_chain ? -1 : find(it->start, it->first, it->actors, it->cursor, by, begin);
    if (at < 0) {
        emit(it, depth, begin, end, in_chain);
        return;
    }
    for (const int64_t last = it->first[by + 1]; at < last && it->start[at] < end; at++) {
        const int64_t from = it->start[at] > begin ? it->start[at] : begin;
        const int64_t to = it->stop[at] < end ? it->stop[at] : end;
        if (it->cause[at] == it->unknown) {
            emit(it, depth, from, to, 0);
            continue;
        }
        it->chain[depth + 1] = at;
        follow(it, depth + 1, from, to);
    }
}

/* The pieces of an actor's time in [begin, end), in order: how many; `width` becomes the length of the longest chain.
 * With a `room` of 0 they are only counted, otherwise written: `path` has `width` columns of `room` each. */
EXPORT int64_t warpline_blame(const int64_t *start, const int64_t *stop, const int32_t *actor, const int32_t *by,
                              const int8_t *cause, const int64_t *first, int64_t actors, int64_t *cursor, int64_t whose,
                              int64_t begin, int64_t end, int64_t hops, int64_t unknown, int64_t room, int64_t *width,
                              int64_t *begins, int64_t *ends, int32_t *path, int8_t *depth, uint8_t *is_cycle)
{
    Following it = {start,
                    stop,
                    first,
                    actor,
                    by,
                    cause,
                    actors,
                    cursor,
                    hops < MOST_HOPS ? hops : MOST_HOPS,
                    (int8_t)unknown,
                    room,
                    0,
                    *width,
                    begins,
                    ends,
                    path,
                    depth,
                    is_cycle,
                    {0}};
    int64_t at = find(start, first, actors, cursor, whose, begin);
    for (; at >= 0 && at < first[whose + 1] && start[at] < end; at++) {
        it.chain[0] = at;
        follow(&it, 0, start[at] > begin ? start[at] : begin, stop[at] < end ? stop[at] : end);
    }
    *width = it.width;
    return it.count;
}
