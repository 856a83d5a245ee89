/* What to draw of many lanes at once: the inner loop of warpline/storage/index/strip_numpy.py, with the same results.
 *
 * The caller is strip_native.py beside it, which documents the arrays. Directories (lanes, levels, skip index) were
 * checked when the capture was opened. Values of mapped columns may be anything: none becomes an address unchecked, and
 * arithmetic on them wraps around.
 */
#include <stdbool.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define RAW (-1)
#define SKIP 1024
#define INDEX_BITS 24
#define LONGEST_RANKED (((int64_t)1 << 38) - 1)
#define MAX_PACKED_DURATION (((int64_t)1 << 48) - 1)

typedef struct {
    /* Columns of events and of the pyramid's entries. */
    const int64_t *start, *duration;
    const uint8_t *kind, *flags;
    int64_t events;
    const int64_t *entry_start;
    const uint64_t *longest;
    const uint32_t *rest, *row;
    /* Directories: lanes, the levels of each lane, and every 1024th start of lanes and of levels. */
    const int64_t *lane_first, *lane_count, *levels_of_lane;
    const int64_t *level, *level_first, *level_count;
    const int64_t *skip_events, *skip_events_at, *skip_entries, *skip_entries_at;
    int64_t not_busy; /* flags of events that are no work */
} Capture;

typedef struct {
    int64_t start_ns, stop_ns, width_px, rect_ns;
    double pixels_per_ns, pixel_ns;
    float busy_per_ns;
} View;

/* One lane at the level chosen for a view, and the part of it that can be in the view. */
typedef struct {
    int64_t lane, index, low, high;
} Run;

typedef struct {
    int64_t *lane, *row, *start, *stop;
    uint8_t *kind, *flags;
    int64_t capacity, count;
} Rects;

/* Columns of one lane of the strip, and what is kept of each pixel while the lane is drawn. */
typedef struct {
    float *busy;
    int64_t *mark_row;
    uint8_t *mark_kind, *mark_flags;
    double *sum;
    int64_t *longest; /* duration << 24 | number of the entry, negative for none */
} Line;

static int64_t add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t subtract(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

/* The number of values before `time` among `count` sorted ones. */
static int64_t count_before(const int64_t *values, int64_t count, int64_t time)
{
    int64_t low = 0;
    while (low < count) {
        int64_t middle = low + (count - low) / 2;
        if (values[middle] < time)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

typedef struct {
    const int64_t *start; /* where the run begins in its column */
    int64_t base, count;
    const int64_t *skip;
    int64_t skip_count;
} Sorted;

static Sorted sorted_run(const Capture *c, int64_t lane, int64_t index)
{
    if (index == RAW)
        return (Sorted){c->start + c->lane_first[lane], c->lane_first[lane], c->lane_count[lane],
                        c->skip_events + c->skip_events_at[lane],
                        c->skip_events_at[lane + 1] - c->skip_events_at[lane]};
    return (Sorted){c->entry_start + c->level_first[index], c->level_first[index], c->level_count[index],
                    c->skip_entries + c->skip_entries_at[index],
                    c->skip_entries_at[index + 1] - c->skip_entries_at[index]};
}

/* The block in which a search for `time` ends, found in the skip index alone. */
static void find_block(const Sorted *run, int64_t time, int64_t *low, int64_t *high)
{
    int64_t block = count_before(run->skip, run->skip_count, time);
    *low = block ? (block - 1) * SKIP : 0;
    *high = block * SKIP < run->count ? block * SKIP : run->count;
    if (!block)
        *high = 0;
}

static int64_t search(const Sorted *run, int64_t time)
{
    int64_t low, high;
    find_block(run, time, &low, &high);
    return low < high ? low + count_before(run->start + low, high - low, time) : low;
}

EXPORT void warpline_strip_choose(const Capture *c, const View *v, const int64_t *lanes, const int64_t *offset_ns,
                                  int64_t n, Run *runs)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t lane = lanes[i], index = RAW, low, high, unused;
        for (int64_t at = c->levels_of_lane[lane + 1] - 1; at >= c->levels_of_lane[lane] && index == RAW; at--)
            if ((double)((int64_t)1 << c->level[at]) <= v->pixel_ns)
                index = at;
        Sorted run = sorted_run(c, lane, index);
        find_block(&run, add(v->start_ns, offset_ns[lane]), &low, &unused);
        find_block(&run, add(v->stop_ns, offset_ns[lane]), &unused, &high);
        runs[i] = (Run){lane, index, low > 0 ? low - 1 : 0, high};
    }
}

typedef struct {
    int64_t begin, duration, weight, rest;
} Entry;

/* Draws one entry: busy time, and perhaps the mark of its pixel. No branch that data could mislead. */
static inline void draw(const View *v, Line *line, int64_t number, Entry e, bool is_rect)
{
    double place = (double)e.begin * v->pixels_per_ns;
    double last = (double)(v->width_px - 1);
    place = place < 0 ? 0 : place;
    int64_t pixel = (int64_t)(place > last ? last : place);
    line->sum[pixel] += (double)(is_rect ? e.rest : e.weight);
    int64_t rank = e.duration < LONGEST_RANKED ? e.duration : LONGEST_RANKED;
    rank = is_rect ? -1 : (int64_t)((uint64_t)rank << INDEX_BITS) | number;
    line->longest[pixel] = line->longest[pixel] > rank ? line->longest[pixel] : rank;
}

static int64_t row_of_entry(const Capture *c, int64_t lane, int64_t at)
{
    int64_t row = c->row[at] + c->lane_first[lane];
    return row < c->events ? row : c->events - 1;
}

static void add_rect(const Capture *c, const View *v, Rects *rects, int64_t position, int64_t lane, bool raw,
                     int64_t at, Entry e)
{
    int64_t i = rects->count++;
    if (i >= rects->capacity)
        return;
    rects->lane[i] = position;
    rects->row[i] = raw ? at : row_of_entry(c, lane, at);
    rects->start[i] = add(e.begin, v->start_ns);
    rects->stop[i] = add(rects->start[i], e.duration);
    rects->kind[i] = raw ? c->kind[at] : (uint8_t)c->longest[at];
    rects->flags[i] = raw ? c->flags[at] : (uint8_t)(c->longest[at] >> 8);
}

static Entry entry_of(const Capture *c, int64_t lane, int64_t at, int64_t origin)
{
    int64_t duration = (int64_t)(c->longest[at] >> 16), rest = c->rest[at];
    if (duration == MAX_PACKED_DURATION)
        duration = c->duration[row_of_entry(c, lane, at)];
    bool idle = (c->longest[at] >> 8) & (uint64_t)c->not_busy;
    return (Entry){subtract(c->entry_start[at], origin), duration, add(idle ? 0 : duration, rest), rest};
}

static Entry event_of(const Capture *c, int64_t at, int64_t origin)
{
    int64_t duration = c->duration[at];
    return (Entry){subtract(c->start[at], origin), duration, c->flags[at] & c->not_busy ? 0 : duration, 0};
}

/* See `_settle_edges` in strip_numpy.py. */
static void settle_first(Entry *e, int64_t origin, int64_t level)
{
    int64_t bin = add(e->begin, origin) >> level, width = (int64_t)1 << level;
    if (bin != origin >> level) {
        e->weight = subtract(e->weight, e->rest);
        e->rest = 0;
    }
    int64_t reach = e->duration < width ? e->duration : width;
    int64_t end = (int64_t)(((uint64_t)bin + 1) << level);
    if (add(e->begin, e->duration) <= 0 && add(end, reach) > origin) {
        e->begin = e->duration = 0;
        e->weight = e->rest;
    }
}

static int64_t draw_lane(const Capture *c, const View *v, Line *line, Rects *rects, int64_t position, int64_t lane,
                         int64_t index, int64_t offset)
{
    int64_t origin = add(v->start_ns, offset), end = add(v->stop_ns, offset);
    int64_t view_ns = subtract(v->stop_ns, v->start_ns), level = index == RAW ? 0 : c->level[index];
    bool raw = index == RAW;
    Sorted run = sorted_run(c, lane, index);
    /* The entry before the view may stand for an event that reaches into it. */
    int64_t low = search(&run, origin) - 1, high = search(&run, end);
    if (low < 0)
        low = 0;
    /* And the entry behind it for shorter events of the bin in which the view ends. */
    if (!raw && high < run.count && (int64_t)((uint64_t)(run.start[high] >> level) << level) < end)
        high++;
    int64_t touched = 0;
    for (int64_t i = low; i < high; i++) {
        int64_t at = run.base + i;
        Entry e = raw ? event_of(c, at, origin) : entry_of(c, lane, at, origin);
        if (!raw && i == low && e.begin < 0)
            settle_first(&e, origin, level);
        if (!raw && i == high - 1 && e.begin >= view_ns) {
            e.begin = view_ns - 1;
            e.duration = e.weight = e.rest = 0;
        }
        if (i == low && e.begin < 0 && add(e.begin, e.duration) <= 0)
            continue;
        bool is_rect = e.duration >= v->rect_ns;
        if (is_rect)
            add_rect(c, v, rects, position, lane, raw, at, e);
        draw(v, line, touched++, e, is_rect);
    }
    /* The numbers in `longest` count from the first entry that was drawn. */
    int64_t first = run.base + (high > low ? high : low) - touched;
    for (int64_t x = 0; x < v->width_px && touched; x++) {
        float busy = (float)line->sum[x] * v->busy_per_ns;
        line->busy[x] = busy < 1 ? busy : 1;
        line->sum[x] = 0;
        if (line->longest[x] < 0)
            continue;
        int64_t at = first + (line->longest[x] & (((int64_t)1 << INDEX_BITS) - 1));
        line->longest[x] = -1;
        line->mark_row[x] = raw ? at : row_of_entry(c, lane, at);
        line->mark_kind[x] = raw ? c->kind[at] : (uint8_t)c->longest[at];
        line->mark_flags[x] = raw ? c->flags[at] : (uint8_t)(c->longest[at] >> 8);
    }
    return touched;
}

/* Draws the chosen runs; returns how many entries and events were read. `line` is the first of `n` neighbouring lines,
 * and `sum` (zero) and `longest` (-1) are left as they came. Rectangles beyond the capacity are only counted. */
EXPORT int64_t warpline_strip_draw(const Capture *c, const View *v, const Run *runs, const int64_t *offset_ns,
                                   int64_t n, Line *line, Rects *rects)
{
    int64_t touched = 0;
    Line at = *line;
    for (int64_t i = 0; i < n; i++) {
        touched += draw_lane(c, v, &at, rects, i, runs[i].lane, runs[i].index, offset_ns[runs[i].lane]);
        at.busy += v->width_px;
        at.mark_row += v->width_px;
        at.mark_kind += v->width_px;
        at.mark_flags += v->width_px;
    }
    return touched;
}
