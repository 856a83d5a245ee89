/* Lines of codes and the pixels they become: what lines.py and compositor.py do with numpy, with the same results.
 *
 * The caller is warpline_app/timeline/draw/compiled.py. Times are a file's and may be anything: arithmetic on them wraps around,
 * and what becomes a place in an array is clipped before. Numbers of lines, colours and columns are the caller's own.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define EXPORT __attribute__((visibility("default")))

/* As in codes.py. */
enum { VARIANTS = 64, LEVELS = 16, SOLID = 0, EDGE = 1, CUT = 2, ESTIMATED = 3, DIM = 4, DIM_EDGE = 5 };
enum { DIM_CUT = 6, HATCH = 8, HATCH_PHASES = 8, DIM_HATCH = 48, DIM_SHIFT = 16 };
/* As in warpline.model.Flag. */
enum { FLAG_CUT_START = 1, FLAG_CUT_END = 2, FLAG_ESTIMATED = 8 };

static int64_t add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t subtract(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static int64_t clip(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* How high a column is that is busy for this share of its pixel. */
static int64_t level_of(double busy)
{
    double scaled = busy * LEVELS;
    if (!(scaled > 2))
        return 2;
    if (scaled >= LEVELS)
        return LEVELS;
    int64_t whole = (int64_t)scaled;
    return whole + (scaled > (double)whole);
}

/* Columns of events shorter than a pixel: `lanes` lines of `columns` cells, each drawn `bin_px` wide.
 * `code_of` holds the code below the lowest column of each kind and flags, `dim` which cells are dimmed (or NULL). */
EXPORT void warpline_density(int64_t lanes, int64_t columns, const float *busy, const int64_t *mark_row,
                             const uint8_t *kind, const uint8_t *flags, const uint16_t *code_of, const uint8_t *dim,
                             int64_t bin_px, int64_t width, uint16_t *out)
{
    for (int64_t lane = 0; lane < lanes; lane++, out += width) {
        for (int64_t x = 0; x < columns; x++) {
            int64_t cell = lane * columns + x, first = x * bin_px;
            int64_t stop = first + bin_px < width ? first + bin_px : width;
            uint16_t code = 0;
            if (mark_row[cell] >= 0 || busy[cell] > 0) {
                int64_t level = busy[cell] == 0 ? LEVELS / 2 : level_of((double)busy[cell]);
                code = (uint16_t)(code_of[kind[cell] << 8 | flags[cell]] + level);
                if (dim && dim[cell])
                    code = (uint16_t)(code + DIM_SHIFT);
            }
            for (int64_t at = first; at < stop; at++)
                out[at] = code;
        }
    }
}

/* Where a moment lies, as a whole pixel between -2 and `width` + 2. A hair is added before rounding down. */
static int64_t pixel_of(int64_t relative, double px_per_ns, double hair, int64_t width)
{
    double place = (double)relative * px_per_ns;
    place = place + hair;
    if (!(place > -2))
        return -2;
    if (place >= (double)(width + 2))
        return width + 2;
    int64_t whole = (int64_t)place;
    return whole - (place < (double)whole);
}

typedef struct {
    const int64_t *line, *start, *stop;
    const int32_t *color;
    const uint8_t *dim, *flags;
    int64_t count;
    const uint8_t *hatched; /* by colour */
    int64_t start_ns;
    double px_per_ns, hair;
    int64_t phase;
} Boxes;

typedef struct {
    int64_t low, high, first, last; /* the last two clipped to the line */
} Extent;

static Extent extent_of(const Boxes *b, int64_t i, int64_t width)
{
    int64_t low = pixel_of(subtract(b->start[i], b->start_ns), b->px_per_ns, b->hair, width);
    int64_t high = pixel_of(subtract(b->stop[i], b->start_ns), b->px_per_ns, b->hair, width);
    if (high < low + 1)
        high = low + 1;
    return (Extent){low, high, clip(low, 0, width), clip(high, 0, width)};
}

/* Exact rectangles as runs of codes; all of them before the first edge, and all edges before the first torn end. */
EXPORT void warpline_boxes(const Boxes *b, uint16_t *out, int64_t width)
{
    for (int64_t i = 0; i < b->count; i++) {
        Extent e = extent_of(b, i, width);
        uint16_t *line = out + b->line[i] * width;
        bool hatched = b->hatched[b->color[i]];
        int plain = b->dim[i] ? DIM : b->flags[i] & FLAG_ESTIMATED ? ESTIMATED : SOLID;
        int variant = !hatched ? plain : b->dim[i] ? DIM_HATCH : HATCH;
        uint16_t code = (uint16_t)(b->color[i] * VARIANTS + variant);
        if (hatched)
            for (int64_t x = e.first; x < e.last; x++)
                line[x] = (uint16_t)(code + (x + b->phase) % HATCH_PHASES);
        else
            for (int64_t x = e.first; x < e.last; x++)
                line[x] = code;
    }
    for (int64_t i = 0; i < b->count; i++) {
        Extent e = extent_of(b, i, width);
        bool hatched = b->hatched[b->color[i]];
        if (e.last - e.first >= 3 && e.low >= 0 && !hatched)
            out[b->line[i] * width + e.first] = (uint16_t)(b->color[i] * VARIANTS + (b->dim[i] ? DIM_EDGE : EDGE));
    }
    for (int64_t i = 0; i < b->count; i++) {
        if (!(b->flags[i] & (FLAG_CUT_START | FLAG_CUT_END)))
            continue;
        Extent e = extent_of(b, i, width);
        if (e.last - e.first < 8)
            continue;
        uint16_t *line = out + b->line[i] * width;
        uint16_t torn = (uint16_t)(b->color[i] * VARIANTS + (b->dim[i] ? DIM_CUT : CUT));
        for (int64_t x = 0; x < 4; x++) {
            if (b->flags[i] & FLAG_CUT_START && e.low >= 0)
                line[e.first + x] = torn;
            if (b->flags[i] & FLAG_CUT_END && e.high <= width)
                line[e.last - 4 + x] = torn;
        }
    }
}

/* Events of a track with something in common, sorted by start, perhaps overlapping. */
typedef struct {
    const int64_t *start, *duration, *row;
    const int64_t *before;     /* busy time before each event, and of all; one more than there are events */
    const int64_t *longest_of; /* longest duration of each block of BLOCK events */
    int64_t count, longest;
    int64_t code; /* below the lowest column */
} Group;

enum { BLOCK = 256, MANY_PER_PIXEL = 8 };

typedef struct {
    int64_t *line, *row, *start, *stop;
    int64_t capacity, count;
} Found;

/* What a line shows of events shorter than a pixel: their busy time and number in each column. */
typedef struct {
    double *busy;
    int64_t *number;
    int64_t start_ns, width;
    double pixel_ns;
} Columns;

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

/* The column of an event that does not begin before the view. */
static int64_t column_of(const Columns *c, int64_t begin)
{
    double place = (double)begin / c->pixel_ns;
    /* Damaged events may lie before the view although they come later. */
    if (!(place > 0))
        return 0;
    return place < (double)(c->width - 1) ? (int64_t)place : c->width - 1;
}

/* The first event from `at` on that begins right of a column, found in steps that double. */
static int64_t behind_column(const Group *g, const Columns *c, int64_t at, int64_t high, int64_t column)
{
    int64_t step = 1, low = at;
    while (low + step <= high && column_of(c, subtract(g->start[low + step - 1], c->start_ns)) <= column) {
        low += step;
        step *= 2;
    }
    int64_t stop = low + step <= high ? low + step - 1 : high;
    while (low < stop) {
        int64_t middle = low + (stop - low) / 2;
        if (column_of(c, subtract(g->start[middle], c->start_ns)) <= column)
            low = middle + 1;
        else
            stop = middle;
    }
    return low;
}

static void add_found(Found *found, const Group *g, int64_t number, int64_t i)
{
    int64_t at = found->count++;
    if (at >= found->capacity)
        return;
    found->line[at] = number;
    found->row[at] = g->row[i];
    found->start[at] = g->start[i];
    found->stop[at] = add(g->start[i], g->duration[i]);
}

/* Events one by one: few of them in a pixel. `direction` -1 takes boxes away from columns that hold everything. */
static void draw_events(const Group *g, const Columns *c, Found *found, int64_t number, int64_t low, int64_t high,
                        int direction)
{
    for (int64_t i = low; i < high; i++) {
        int64_t begin = subtract(g->start[i], c->start_ns), duration = g->duration[i];
        bool is_box = (double)duration >= c->pixel_ns;
        if (is_box && add(begin, duration) > 0)
            add_found(found, g, number, i);
        if (begin < 0 || is_box != (direction < 0))
            continue;
        int64_t column = column_of(c, begin);
        c->busy[column] += direction * (double)duration;
        c->number[column] += direction;
    }
}

/* Many events in a pixel: columns from sums, and boxes only from blocks that have one. */
static void draw_columns(const Group *g, const Columns *c, Found *found, int64_t number, int64_t low, int64_t high)
{
    int64_t at = count_before(g->start, g->count, c->start_ns);
    while (at < high) {
        int64_t column = column_of(c, subtract(g->start[at], c->start_ns));
        int64_t stop = behind_column(g, c, at, high, column);
        if (stop <= at)
            stop = at + 1;
        c->busy[column] += (double)subtract(g->before[stop], g->before[at]);
        c->number[column] += stop - at;
        at = stop;
    }
    for (int64_t block = low / BLOCK; block * BLOCK < high; block++) {
        if ((double)g->longest_of[block] < c->pixel_ns)
            continue;
        int64_t first = block * BLOCK > low ? block * BLOCK : low;
        int64_t last = (block + 1) * BLOCK < high ? (block + 1) * BLOCK : high;
        draw_events(g, c, found, number, first, last, -1);
    }
}

/* Groups on a line each: what is shorter than a pixel becomes columns, the rest is listed in `found`; what is more than
 * its capacity is only counted. `busy` and `number` are room for a line's columns. */
EXPORT void warpline_groups(const Group *groups, int64_t count, int64_t start_ns, int64_t stop_ns, double pixel_ns,
                            int64_t width, double *busy, int64_t *number, uint16_t *out, Found *found)
{
    Columns c = {busy, number, start_ns, width, pixel_ns};
    for (int64_t line = 0; line < count; line++, out += width) {
        const Group *g = groups + line;
        int64_t low = count_before(g->start, g->count, subtract(start_ns, g->longest));
        int64_t high = count_before(g->start, g->count, stop_ns);
        for (int64_t x = 0; x < width; x++)
            busy[x] = 0;
        memset(number, 0, (size_t)width * sizeof *number);
        if (high - low > MANY_PER_PIXEL * width)
            draw_columns(g, &c, found, line, low, high);
        else
            draw_events(g, &c, found, line, low, high, 1);
        for (int64_t x = 0; x < width; x++)
            out[x] = number[x] > 0 ? (uint16_t)(g->code + level_of(busy[x] / pixel_ns)) : 0;
    }
}

typedef struct {
    uint32_t *pixels;
    int64_t stride, height; /* pixels from row to row, rows */
    int64_t first, stop;    /* columns that are drawn */
} Frame;

typedef struct {
    int64_t top, height, clip;
    const uint32_t *looks; /* of shape (columns, room): each code from top to bottom, beside each other in memory */
    int64_t columns, room; /* room is a multiple of ROWS, and at least the height */
} Bar;

enum { ROWS = 4 }; /* LOOK_ROWS of codes.py */

#if defined(__SSE2__)

static __m128i look_at(const uint32_t *look) { return _mm_loadu_si128((const __m128i *)(const void *)look); }
static void put(uint32_t *pixels, __m128i four) { _mm_storeu_si128((__m128i *)(void *)pixels, four); }

/* Four columns of four rows, turned from how they lie in memory. */
static void turn(const uint32_t *looks, const uint32_t *at, uint32_t *const rows[ROWS], int64_t x)
{
    __m128i a = look_at(looks + at[0]), b = look_at(looks + at[1]);
    __m128i c = look_at(looks + at[2]), d = look_at(looks + at[3]);
    __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
    put(rows[0] + x, _mm_unpacklo_epi64(ab, cd));
    put(rows[1] + x, _mm_unpackhi_epi64(ab, cd));
    ab = _mm_unpackhi_epi32(a, b), cd = _mm_unpackhi_epi32(c, d);
    put(rows[2] + x, _mm_unpacklo_epi64(ab, cd));
    put(rows[3] + x, _mm_unpackhi_epi64(ab, cd));
}

#else

static void turn(const uint32_t *looks, const uint32_t *at, uint32_t *const rows[ROWS], int64_t x)
{
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t column = 0; column < ROWS; column++)
            rows[row][x + column] = looks[at[column] + row];
}

#endif

/* Lines as bars; `codes` has `stride` columns a line, and `empty` what stands for code 0 in each of them. `scratch` and
 * `spare` are room for a line each. Four rows at once: one by one, the look-ups cost more or less by where the picture,
 * the codes and the table happen to lie in memory. */
EXPORT void warpline_bars(const Frame *f, const Bar *bars, int64_t count, const uint16_t *codes, int64_t stride,
                          const uint16_t *empty, uint32_t *scratch, uint32_t *spare)
{
    int64_t n = f->stop - f->first;
    for (int64_t i = 0; i < count; i++) {
        const Bar *bar = bars + i;
        const uint16_t *line = codes + i * stride + f->first;
        int64_t top = bar->top > bar->clip ? bar->top : bar->clip, bottom = bar->top + bar->height;
        if (top < 0)
            top = 0;
        if (bottom > f->height)
            bottom = f->height;
        if (top >= bottom)
            continue;
        for (int64_t x = 0; x < n; x++) {
            int64_t code = line[x] ? line[x] : empty[f->first + x];
            scratch[x] = (uint32_t)((code < bar->columns ? code : bar->columns - 1) * bar->room);
        }
        for (int64_t y = bar->top + (top - bar->top) / ROWS * ROWS; y < bottom; y += ROWS) {
            const uint32_t *looks = bar->looks + (y - bar->top);
            uint32_t *rows[ROWS];
            for (int64_t row = 0; row < ROWS; row++)
                rows[row] = y + row >= top && y + row < bottom ? f->pixels + (y + row) * f->stride + f->first : spare;
            int64_t x = 0;
            for (; x + ROWS <= n; x += ROWS)
                turn(looks, scratch + x, rows, x);
            for (; x < n; x++)
                for (int64_t row = 0; row < ROWS; row++)
                    rows[row][x] = looks[scratch[x] + row];
        }
    }
}

typedef struct {
    int64_t first, last, rgb;
} Band;

/* Bands of one colour under a grid of vertical lines. */
EXPORT void warpline_bands(const Frame *f, const Band *bands, int64_t count, const int64_t *grid, int64_t grid_count,
                           uint32_t grid_rgb)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t top = clip(bands[i].first, 0, f->height), bottom = clip(bands[i].last, 0, f->height);
        for (int64_t y = top; y < bottom; y++) {
            uint32_t *row = f->pixels + y * f->stride;
            if (y > top) {
                memcpy(row + f->first, row - f->stride + f->first, (size_t)(f->stop - f->first) * sizeof *row);
                continue;
            }
            for (int64_t x = f->first; x < f->stop; x++)
                row[x] = (uint32_t)bands[i].rgb;
            for (int64_t g = 0; g < grid_count; g++)
                if (grid[g] >= f->first && grid[g] < f->stop)
                    row[grid[g]] = grid_rgb;
        }
    }
}

/* To the nearest whole number, from the middle to the even one; `value` is small and not negative. */
static int64_t rounded(double value)
{
    int64_t whole = (int64_t)value;
    double rest = value - (double)whole;
    return whole + (rest > 0.5 || (rest == 0.5 && whole % 2));
}

typedef struct {
    const double *values; /* 0 to 1, NaN for none; the first is of the column before the first that is drawn */
    int64_t top, height, clip, step;
    int64_t fill, outline; /* 0xffrrggbb, negative for none */
} Area;

/* The row of a value's tip; -1 where there is none. */
static int64_t tip_of(const Area *a, double value)
{
    if (!(value - value == 0))
        return -1;
    double share = value < 0 ? 0 : value > 1 ? 1 : value;
    return a->height - a->step - rounded(share * (double)(a->height - a->step));
}

/* A filled curve that rises from the bottom, and its outline joined with the neighbour's, so that a flank has no holes. */
EXPORT void warpline_area(const Frame *f, const Area *a)
{
    int64_t first = a->clip > a->top ? a->clip - a->top : 0, last = a->height;
    if (a->top + first < 0)
        first = -a->top;
    if (a->top + last > f->height)
        last = f->height - a->top;
    if (first >= last || a->height <= a->step)
        return;
    int64_t before = tip_of(a, a->values[0]);
    for (int64_t x = f->first; x < f->stop; x++) {
        int64_t tip = tip_of(a, a->values[x - f->first + 1]);
        if (tip >= 0) {
            uint32_t *column = f->pixels + a->top * f->stride + x;
            int64_t other = before < 0 ? tip : before;
            if (a->fill >= 0)
                for (int64_t y = clip(tip, first, last); y < last; y++)
                    column[y * f->stride] = (uint32_t)a->fill;
            int64_t low = clip(tip < other ? tip : other, first, last);
            int64_t high = clip((tip > other ? tip : other) + a->step, first, last);
            if (a->outline >= 0)
                for (int64_t y = low; y < high; y++)
                    column[y * f->stride] = (uint32_t)a->outline;
        }
        before = tip;
    }
}
