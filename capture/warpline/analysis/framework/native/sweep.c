/* Times of classes of events that run together, by one sweep over sorted lanes.
 *
 * Called by warpline/analysis/framework/lane_sweep.py. The sweep gives up at a lane whose events overlap or are
 * unsorted (in a damaged file); callers then sort interval borders instead (warpline/analysis/structure/overlap.py).
 */
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum { NONE = 255 };

/* Columns of all events. The class of an event is that of its lane if `lane_class` is given, else that of its name in
 * the table of its kind; events whose class is NONE are ignored. */
typedef struct {
    const int64_t *start, *duration;
    const uint32_t *name;
    const uint8_t *kind;
    const uint8_t *table_of_kind; /* 256: number of a table or NONE */
    const uint8_t *tables;        /* of `ids` classes each */
    int64_t ids;
    const int64_t *first, *stop, *offset; /* of each lane: rows, clock */
    const int32_t *lane_class;            /* may be null */
    int64_t lanes, low, high, farthest;
} Sweep;

typedef struct {
    int64_t time, end, row;
    int32_t lane, class;
} Lane;

typedef struct {
    int64_t count;
    const int64_t *time;
} Cuts;

static int64_t bounded(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

enum { END, FOUND, OVERLAP };

/* Moves to the next event of a lane that extends beyond the time `until` which its class runs anyway. */
static int next_event(const Sweep *s, Lane *lane, const int64_t *until)
{
    const int64_t stop = s->stop[lane->lane], offset = s->offset[lane->lane];
    for (int64_t row = lane->row; row < stop; row++) {
        const uint8_t table = s->table_of_kind[s->kind[row]];
        if (table == NONE)
            continue;
        const uint32_t name = s->name[row];
        const uint8_t class = s->tables[table * s->ids + (name < s->ids ? name : s->ids - 1)];
        if (class == NONE)
            continue;
        const int64_t begin = bounded(s->start[row], -s->farthest, s->farthest) - offset;
        const int64_t end = begin + bounded(s->duration[row], 0, s->farthest);
        const int64_t from = begin < s->low ? s->low : begin, to = end > s->high ? s->high : end;
        if (to <= from)
            continue;
        if (from < lane->end)
            return OVERLAP;
        lane->end = to;
        lane->class = s->lane_class ? s->lane_class[lane->lane] : class;
        if (to <= until[lane->class])
            continue;
        lane->time = from;
        lane->row = row + 1;
        return FOUND;
    }
    return END;
}

static void sink(Lane **heap, int64_t size, int64_t at)
{
    Lane *moved = heap[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= size)
            break;
        if (child + 1 < size && heap[child + 1]->time < heap[child]->time)
            child++;
        if (heap[child]->time >= moved->time)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* Adds the time from `now` to `time` to a set; behind each cut, continues in the next table of `size` sets. */
static int64_t *add_time(int64_t *sets, int64_t size, int64_t set, int64_t now, int64_t time, const Cuts *cuts,
                         int64_t *cut)
{
    for (; *cut < cuts->count && cuts->time[*cut] <= time; ++*cut) {
        sets[set] += cuts->time[*cut] - now;
        now = cuts->time[*cut];
        sets += size;
    }
    sets[set] += time - now;
    return sets;
}

/* Splits the range by the set of running classes (`sets`: 2^classes entries for each part between `cuts`, which ascend
 * inside the range; may be null) and by their number (`numbers`: classes + 1 entries); `busy` is the time of each
 * class. Returns 0 if events of a lane overlap, and without memory. */
EXPORT int64_t warpline_sweep(const Sweep *s, int64_t classes, const Cuts *cuts, int64_t *sets, int64_t *numbers,
                              int64_t *busy)
{
    Lane *lanes = malloc((size_t)(s->lanes + 1) * sizeof *lanes);
    Lane **heap = malloc((size_t)(s->lanes + 1) * sizeof *heap);
    int64_t *running = calloc((size_t)classes + 1, sizeof *running),
            *since = calloc((size_t)classes + 1, sizeof *since);
    int64_t *until = malloc((size_t)(classes + 1) * sizeof *until);
    int64_t size = 0, now = s->low, active = 0, set = 0, cut = 0;
    int next = END;
    if (!lanes || !heap || !running || !since || !until) {
        free(lanes), free(heap), free(running), free(since), free(until);
        return 0;
    }
    for (int64_t i = 0; i <= classes; i++)
        until[i] = INT64_MIN;
    for (int64_t i = 0; i < s->lanes; i++) {
        lanes[size] = (Lane){.row = s->first[i], .lane = (int32_t)i, .end = INT64_MIN};
        if (next_event(s, &lanes[size], until) == FOUND) {
            heap[size] = &lanes[size];
            size++;
        }
    }
    for (int64_t at = size / 2 - 1; at >= 0; at--)
        sink(heap, size, at);
    while (size) {
        Lane *lane = heap[0];
        const int64_t time = lane->time;
        numbers[active] += time - now;
        if (sets)
            sets = add_time(sets, (int64_t)1 << classes, set, now, time, cuts, &cut);
        now = time;
        if (time < lane->end && lane->end > until[lane->class]) {
            if (!running[lane->class]++) {
                since[lane->class] = time;
                set |= (int64_t)1 << (lane->class & 63);
                active++;
            }
            lane->time = until[lane->class] = lane->end;
        } else {
            if (time == lane->end && !--running[lane->class]) {
                busy[lane->class] += time - since[lane->class];
                set &= ~((int64_t)1 << (lane->class & 63));
                active--;
            }
            next = next_event(s, lane, until);
            if (next == OVERLAP)
                break;
            if (next == END) {
                heap[0] = heap[--size];
                if (!size)
                    break;
            }
        }
        sink(heap, size, 0);
    }
    numbers[0] += s->high - now;
    if (sets)
        add_time(sets, (int64_t)1 << classes, 0, now, s->high, cuts, &cut);
    free(lanes), free(heap), free(running), free(since), free(until);
    return next != OVERLAP;
}
