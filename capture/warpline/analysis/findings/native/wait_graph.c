/* Walks over the waits of a program that numpy has no word for: each step needs the one before.
 *
 * The caller, and the same in Python, is warpline/analysis/findings/wait_graph.py, which has checked that every number
 * of a segment is one of a segment.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

#define FIRST 1
#define SHORTER 2
#define SILENT 4

/* When each segment would end with other lengths. `order` sorts the segments by their ends; `marks` tells of one whether
 * it is its actor's first, whether its wait is never longer than it was, and whether it is of somebody not known: such a
 * one, outside [own, own_end), is none unless `keep` takes away of it. `keep` is the part of its length that each keeps,
 * or null for all; with `is_before` all of what it takes away is there still. `on` is the segment of somebody else that
 * ends a wait, or -1. */
static float kept(int64_t i, const uint8_t *marks, const float *keep, int64_t own, int64_t own_end, int is_before)
{
    const float part = keep ? keep[i] : 1;
    if (part == 1 && (marks[i] & SILENT) && (i < own || i >= own_end))
        return 0;
    return is_before ? 1 : part;
}

static int64_t shortened(int64_t length, float part)
{
    return part == 1 ? length : (int64_t)((double)length * (double)part);
}

EXPORT void warpline_replay(int64_t n, const int32_t *order, const int64_t *start, const int64_t *stop,
                            const uint8_t *marks, const float *keep, int64_t own, int64_t own_end, int64_t is_before,
                            const int32_t *on, int64_t origin, int64_t *end)
{
    for (int64_t at = 0; at < n; at++) {
        const int64_t i = order[at];
        const int64_t begin = marks[i] & FIRST ? origin : end[i - 1];
        const float part = kept(i, marks, keep, own, own_end, (int)is_before);
        if (on[i] < 0) {
            end[i] = begin + shortened(stop[i] - start[i], part);
            continue;
        }
        end[i] = begin;
        if (part > 0) {
            const int64_t j = on[i];
            const float other = kept(j, marks, keep, own, own_end, (int)is_before);
            const int64_t reached = (marks[j] & FIRST ? origin : end[j - 1]) + shortened(stop[i] - start[j], other);
            if (reached > begin)
                end[i] = marks[i] & SHORTER && reached - begin > stop[i] - start[i] ? begin + stop[i] - start[i]
                                                                                    : reached;
        }
    }
}

typedef struct {
    int64_t stop, at, last;
} Head;

static int comes_first(const Head *one, const Head *other)
{
    return one->stop < other->stop || (one->stop == other->stop && one->at < other->at);
}

static void sift(Head *heap, int64_t count, int64_t place)
{
    const Head moved = heap[place];
    for (int64_t child; (child = 2 * place + 1) < count; place = child) {
        if (child + 1 < count && comes_first(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_first(&heap[child], &moved))
            break;
        heap[place] = heap[child];
    }
    heap[place] = moved;
}

static int64_t end_of(int64_t at, const int64_t *stop, const int32_t *on) { return stop[at] * 2 + (on[at] >= 0); }

/* Segments by their ends, those that wait for somebody behind the others that end then, else as they lie: those of each
 * actor [first[a], first[a + 1]) are in order already. `heap` has room for 24 bytes for each actor. */
EXPORT void warpline_by_ends(const int64_t *stop, const int32_t *on, const int64_t *first, int64_t actors, Head *heap,
                             int32_t *order)
{
    int64_t count = 0, filled = 0;
    for (int64_t actor = 0; actor < actors; actor++)
        if (first[actor] < first[actor + 1])
            heap[count++] = (Head){end_of(first[actor], stop, on), first[actor], first[actor + 1]};
    for (int64_t place = count / 2 - 1; place >= 0; place--)
        sift(heap, count, place);
    while (count) {
        Head *head = heap;
        order[filled++] = (int32_t)head->at++;
        if (head->at < head->last)
            head->stop = end_of(head->at, stop, on);
        else
            heap[0] = heap[--count];
        sift(heap, count, 0);
    }
}

/* The path back from `stop`, in segment `at`, to `origin`: pieces (segment, start), latest first. Returns how many. */
EXPORT int64_t warpline_walk(const int64_t *start, const int32_t *on, int64_t at, int64_t stop, int64_t origin,
                             int64_t most_jumps, int64_t room, int64_t *segment, int64_t *begin)
{
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
