/* Gaps in which nothing runs on some lanes, by one merge of sorted lanes.
 *
 * Called by warpline/analysis/framework/loops/lane_gaps.py. The merge gives up at an unsorted lane (in a damaged file);
 * warpline/analysis/structure/gpu_gaps.py then sorts all events instead.
 */
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* Columns of all events; rows and clock offset of each lane. */
typedef struct {
    const int64_t *start, *duration;
    const uint32_t *name;
    const uint8_t *kind;
    const uint8_t *is_kind; /* 256 flags */
    const uint8_t *is_name; /* of `ids` flags; may be null */
    int64_t ids;
    const int64_t *first, *stop, *offset;
    int64_t lanes, low, high, farthest;
} Merge;

/* Results: gaps, each with the row of the event that ends it, or -1 at the end of the range. */
typedef struct {
    int64_t *start, *stop, *row;
    int64_t room;
} Gaps;

/* The next event of a lane. */
typedef struct {
    int64_t time, row, lane;
} Head;

enum { END, FOUND, UNSORTED };

static int64_t bounded(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Moves to the next event of a lane that begins after `reach`; other events only extend it. */
static int next_event(const Merge *m, Head *head, int64_t *reach)
{
    const int64_t stop = m->stop[head->lane], offset = m->offset[head->lane];
    int64_t last = head->time;
    for (int64_t row = head->row; row < stop; row++) {
        if (!m->is_kind[m->kind[row]])
            continue;
        if (m->is_name) {
            const uint32_t name = m->name[row];
            if (!m->is_name[name < m->ids ? name : m->ids - 1])
                continue;
        }
        const int64_t time = bounded(m->start[row], -m->farthest, m->farthest) - offset;
        if (time < last)
            return UNSORTED;
        last = time;
        if (time > *reach) {
            head->time = time;
            head->row = row;
            return FOUND;
        }
        const int64_t end = time + bounded(m->duration[row], 0, m->farthest);
        if (end > *reach)
            *reach = end;
    }
    return END;
}

static int is_before(const Head *a, const Head *b)
{
    return a->time < b->time || (a->time == b->time && a->row < b->row);
}

static void sink(Head *heap, int64_t size, int64_t at)
{
    const Head moved = heap[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= size)
            break;
        if (child + 1 < size && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* The gaps between `low` and `high` by time. Returns their number, or -1 if a lane is unsorted, if there is no room for
 * them, or without memory. */
EXPORT int64_t warpline_gaps(const Merge *m, const Gaps *gaps)
{
    Head *heap = malloc((size_t)(m->lanes + 1) * sizeof *heap);
    int64_t size = 0, count = 0, reach = m->low;
    int next = heap ? END : UNSORTED;
    for (int64_t lane = 0; lane < m->lanes && next != UNSORTED; lane++) {
        heap[size] = (Head){.time = INT64_MIN, .row = m->first[lane], .lane = lane};
        next = next_event(m, &heap[size], &reach);
        size += next == FOUND;
    }
    for (int64_t at = size / 2 - 1; at >= 0; at--)
        sink(heap, size, at);
    while (size && next != UNSORTED) {
        const int64_t time = heap[0].time, stop = time < m->high ? time : m->high;
        if (stop > reach) {
            if (count == gaps->room)
                break;
            gaps->start[count] = reach;
            gaps->stop[count] = stop;
            gaps->row[count++] = heap[0].row;
        }
        if (time > reach)
            reach = time;
        next = next_event(m, &heap[0], &reach);
        if (next == END)
            heap[0] = heap[--size];
        sink(heap, size, 0);
    }
    free(heap);
    if (next == UNSORTED || size || (m->high > reach && count == gaps->room))
        return -1;
    if (m->high > reach) {
        gaps->start[count] = reach;
        gaps->stop[count] = m->high;
        gaps->row[count++] = -1;
    }
    return count;
}
