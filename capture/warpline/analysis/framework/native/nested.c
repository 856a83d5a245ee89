/* Sums over events that nest on a thread, in one pass by time that keeps the open event of each lane.
 *
 * Called by warpline/analysis/framework/loops/nested.py. The pass gives up at lanes whose events overlap or are
 * unsorted (in a damaged file). warpline/analysis/structure/host_events.py, operator_groups.py and path_tree.py then
 * compute the same in numpy, from the parent of each event.
 */
#include "nested.h"

#define EXPORT __attribute__((visibility("default")))

static int64_t bounded(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void add(Entry *to, int64_t cpu, int64_t gpu, int64_t self_cpu, int64_t self_gpu, int64_t place, uint8_t kind)
{
    if (!to->count || cpu < to->cpu_min)
        to->cpu_min = cpu;
    if (!to->count || cpu > to->cpu_max)
        to->cpu_max = cpu;
    if (!to->count || gpu < to->gpu_min)
        to->gpu_min = gpu;
    if (!to->count || gpu > to->gpu_max)
        to->gpu_max = gpu;
    to->count++;
    change(&to->cpu, cpu);
    change(&to->gpu, gpu);
    change(&to->self_cpu, self_cpu < 0 ? 0 : self_cpu);
    change(&to->self_gpu, self_gpu < 0 ? 0 : self_gpu);
    if (place < to->place) {
        to->place = place;
        to->kind = kind;
    }
}

/* Drops the levels after the one that makes the paths enough, and that level too if it has too many. */
static void cut_levels(Pass *p)
{
    int64_t kept = 0;
    for (int64_t level = 0; level < p->levels && level <= p->cut; level++) {
        kept += p->of_level[level];
        if (kept > p->nest->enough)
            p->cut = kept > p->nest->limit && level ? level - 1 : level;
    }
}

static int count_level(Pass *p, int64_t level)
{
    if (level >= p->levels) {
        int64_t *of_level = realloc(p->of_level, (size_t)(level + 1) * sizeof *of_level);
        if (of_level == NULL)
            return 0;
        p->of_level = of_level;
        while (p->levels <= level)
            of_level[p->levels++] = 0;
    }
    p->of_level[level]++;
    if (p->table.count > p->nest->enough)
        cut_levels(p);
    return 1;
}

/* Adds the sums of an event that has ended; returns 0 without memory. */
static int close_event(Pass *p, const Lane *of)
{
    if (of->entry >= 0)
        add(&p->table.entries[of->entry], of->cpu, of->gpu, of->self_cpu, of->self_gpu, of->launcher.place, of->kind);
    if (of->part >= 0)
        add(&p->table.entries[of->part], of->cpu, of->gpu, of->self_cpu, of->self_gpu, of->launcher.place, of->kind);
    if (p->nest->type != BY_ITSELF || !of->launcher.works)
        return 1;
    if (p->launcher_count == p->launcher_room) {
        const int64_t room = 2 * p->launcher_room + 1024;
        Launcher *launchers = realloc(p->launchers, (size_t)room * sizeof *launchers);
        if (launchers == NULL)
            return 0;
        p->launchers = launchers;
        p->launcher_room = room;
    }
    p->launchers[p->launcher_count++] = of->launcher;
    return 1;
}

/* Moves to the next event of a wanted kind at or after a row. */
static void look_for(const Nest *n, Lane *of, int64_t row)
{
    const int64_t stop = n->stop[of->lane];
    while (row < stop && n->table_of_kind[n->kind[row]] == NONE)
        row++;
    of->row = row;
    of->time = row < stop ? bounded(n->start[row], -n->farthest, n->farthest) - n->offset[of->lane] : INT64_MAX;
}

static int64_t inside(const Nest *n, int64_t start, int64_t stop)
{
    const int64_t from = start < n->low ? n->low : start, to = stop > n->high ? n->high : stop;
    return to > from ? to - from : 0;
}

/* Opens the next event of a lane; returns 0 if it overlaps the last one. */
static int open_next(const Nest *n, Lane *of)
{
    const int64_t row = of->row, time = of->time;
    if (time < of->stop)
        return 0;
    const uint8_t kind = n->kind[row], table = n->table_of_kind[kind];
    const uint32_t name = n->name[row];
    of->start = time;
    of->stop = time + bounded(n->duration[row], 0, n->farthest);
    of->cpu = of->self_cpu = inside(n, of->start, of->stop);
    of->gpu = of->self_gpu = 0;
    of->entry = of->part = -1;
    of->launcher = (Launcher){
        .row = row, .index = -1, .place = (of->lane << 48) + (row - n->first[of->lane]), .start = time};
    of->kind = kind;
    of->name = name < n->ids ? name : (uint32_t)(n->ids - 1);
    of->type = NONE;
    if (table < n->count_of_tables) {
        int64_t *next = &n->place[of->lane * n->count_of_tables + table];
        of->launcher.index = *next < 0 ? -1 : (*next)++;
        const int64_t at = of->launcher.index < 0 ? (int64_t)of->name : of->launcher.index;
        if (at < n->sizes[table])
            of->type = n->tables[table][at];
    }
    look_for(n, of, row + 1);
    return 1;
}

/* The innermost open event of another lane that contains this one, by the rules of nesting.c; NULL for none. */
static Lane *parent_of(const Pass *p, const Lane *of)
{
    Lane *best = NULL;
    for (int64_t lane = 0; lane < p->nest->lanes; lane++) {
        Lane *outer = &p->lanes[lane];
        const int64_t begin = outer->start, end = outer->stop;
        if (lane == of->lane || end < of->stop || end <= begin ||
            (lane > of->lane && begin >= of->start && end <= of->stop))
            continue;
        if (!best || begin > best->start || (begin == best->start && end <= best->stop))
            best = outer;
    }
    return best;
}

/* Whether no thread has dropped a level; tells the other threads if this one has. */
static int is_kept(Pass *p, int64_t level)
{
    int64_t most = __atomic_load_n(p->nest->most_levels, __ATOMIC_RELAXED);
    if (level <= p->cut)
        return level < most;
    while (p->cut + 1 < most &&
           !__atomic_compare_exchange_n(p->nest->most_levels, &most, p->cut + 1, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return 0;
}

/* The number of an event among the calls of its name in its step, or outside all steps; events come by time. */
static int64_t number_of(Pass *p, const Lane *of)
{
    const Steps *steps = &p->nest->steps;
    while (p->step < steps->count && steps->start[p->step] <= of->start)
        p->step++;
    Calls *calls = &p->calls[of->name];
    int64_t *count = &calls->outside;
    if (p->step && of->start < steps->stop[p->step - 1]) {
        if (calls->step != p->step)
            calls->inside = 0;
        calls->step = p->step;
        count = &calls->inside;
    }
    return *count < steps->last ? (*count)++ : steps->last;
}

/* Finds the parent and the entries of an opened event; returns 0 without memory. */
static int place_event(Pass *p, Lane *of)
{
    const int64_t type = p->nest->type;
    const int64_t way = p->nest->way;
    Lane *parent = parent_of(p, of);
    const int is_repeated = type >= 0 && way != BY_NAME && parent && parent->name == of->name &&
                            parent->type == of->type;
    of->launcher.level = parent ? parent->launcher.level + 1 : 0;
    of->top = is_repeated ? parent->top : of->lane;
    if (of->launcher.level >= p->deepest)
        p->deepest = of->launcher.level + 1;
    if (is_repeated)
        return 1;
    if (parent) {
        change(&p->lanes[parent->top].self_cpu, -of->cpu);
        parent->launcher.children++;
    }
    if (type >= 0) {
        if (of->type == type)
            of->entry = entry_of(&p->table, of->name, -1, -1);
        if (way == BY_CALL && of->type == type)
            of->part = entry_of(&p->table, of->name, number_of(p, of), -1);
        else if (way == WITH_PARTS && parent && parent->type == type)
            of->part = entry_of(&p->table, parent->name, of->name, -1);
    } else if (type == BY_PATH && is_kept(p, of->launcher.level) && (!parent || parent->entry >= 0)) {
        const int64_t before = p->table.count;
        of->entry = entry_of(&p->table, parent ? parent->entry : -1, of->name, of->launcher.level);
        if (p->table.count > before && !count_level(p, of->launcher.level))
            return 0;
    }
    return of->entry > -2 && of->part > -2;
}

static int keep_empty(Pass *p, const Lane *of, int64_t count)
{
    if (count >= p->empty_room) {
        const int64_t room = 2 * p->empty_room + 16;
        Lane *empty = realloc(p->empty, (size_t)room * sizeof *empty);
        if (empty == NULL)
            return 0;
        p->empty = empty;
        p->empty_room = room;
    }
    p->empty[count] = *of;
    return 1;
}

/* Opens the events that begin at `time`, enclosing events first: longer ones, and last the empty ones that another event
 * of their lane follows at the same time. Returns 0 if events overlap, and without memory. */
static int open_at(Pass *p, int64_t time)
{
    int64_t due = 0, empty = 0;
    for (int64_t lane = 0; lane < p->nest->lanes; lane++) {
        Lane *of = &p->lanes[lane];
        if (of->time != time)
            continue;
        if (!close_event(p, of) || !open_next(p->nest, of))
            return 0;
        while (of->time <= time)
            if (!keep_empty(p, of, empty++) || !open_next(p->nest, of))
                return 0;
        int64_t at = due++;
        for (; at && p->lanes[p->due[at - 1]].stop < of->stop; at--)
            p->due[at] = p->due[at - 1];
        p->due[at] = lane;
    }
    for (int64_t i = 0; i < due; i++)
        if (!place_event(p, &p->lanes[p->due[i]]))
            return 0;
    for (int64_t i = 0; i < empty; i++)
        if (!place_event(p, &p->empty[i]) || !close_event(p, &p->empty[i]))
            return 0;
    return 1;
}

/* The innermost open event at `time`: the last to begin, and of equal starts that of the last lane. */
static Lane *around(const Pass *p, int64_t time)
{
    Lane *best = NULL;
    for (int64_t lane = 0; lane < p->nest->lanes; lane++) {
        Lane *of = &p->lanes[lane];
        if (of->start <= time && time < of->stop && (!best || of->start >= best->start))
            best = of;
    }
    return best;
}

static void add_work(Launcher *launcher, int64_t start, int64_t work)
{
    const int64_t stop = (int64_t)((uint64_t)start + (uint64_t)work);
    launcher->work_start = launcher->works && launcher->work_start < start ? launcher->work_start : start;
    launcher->work_stop = launcher->works && launcher->work_stop > stop ? launcher->work_stop : stop;
    launcher->works++;
}

/* Adds GPU work to all events around its launch, to the innermost one's own work, and as a kernel of operators. */
static int launch(Pass *p, int64_t number)
{
    const Nest *n = p->nest;
    const int64_t time = n->launch_time[number], work = n->work_ns[number], row = n->work[number];
    const Lane *owner = around(p, time);
    if (!owner)
        return 1;
    for (int64_t lane = 0; lane < n->lanes; lane++) {
        Lane *of = &p->lanes[lane];
        if (of->start > time || time >= of->stop)
            continue;
        change(&of->gpu, work);
        if (n->type == BY_ITSELF)
            add_work(&of->launcher, n->work_start[number], work);
        if (of->part < 0 || n->way != WITH_PARTS)
            continue;
        const int64_t *part = p->table.entries[of->part].key;
        const int64_t found = entry_of(&p->table, part[0], part[1], n->name[row]);
        if (found < 0)
            return 0;
        add(&p->table.entries[found], 0, work, 0, 0, of->launcher.place, n->kind[row]);
    }
    change(&p->lanes[owner->top].self_gpu, work);
    if (n->type < 0 || n->way != WITH_PARTS || owner->type != n->type)
        return 1;
    const int64_t found = entry_of(&p->table, owner->name, n->name[row], -2);
    if (found >= 0)
        add(&p->table.entries[found], 0, work, 0, 0, 0, n->kind[row]);
    return found >= 0;
}

/* Subtracts the calls that begin before `before` from the innermost events around them. */
static int64_t take_calls(Pass *p, int64_t row, int64_t before)
{
    const Nest *n = p->nest;
    for (; row < n->call_stop; row++) {
        if (n->kind[row] != n->call_kind)
            continue;
        const int64_t time = bounded(n->start[row], -n->farthest, n->farthest) - n->call_offset;
        if (time >= before)
            break;
        const Lane *owner = around(p, time);
        if (owner)
            change(&p->lanes[owner->top].self_cpu, -inside(n, time, time + bounded(n->duration[row], 0, n->farthest)));
    }
    return row;
}

static int pass_over(Pass *p)
{
    const Nest *n = p->nest;
    int64_t number = 0, call = n->call;
    for (;;) {
        int64_t next = INT64_MAX;
        for (int64_t lane = 0; lane < n->lanes; lane++)
            next = p->lanes[lane].time < next ? p->lanes[lane].time : next;
        for (; number < n->launches && n->launch_time[number] < next; number++)
            if (!launch(p, number))
                return 0;
        call = take_calls(p, call, next);
        if (next == INT64_MAX)
            break;
        if (!open_at(p, next))
            return 0;
    }
    for (int64_t lane = 0; lane < n->lanes; lane++)
        if (!close_event(p, &p->lanes[lane]))
            return 0;
    return 1;
}

EXPORT void warpline_nested_free(Result *result) { free(result->entries), free(result->launchers); }

/* Computes the entries of a thread, freed by the caller; returns 0 if events of a lane overlap, and without memory. */
EXPORT int64_t warpline_nested(const Nest *nest, Result *result)
{
    Pass p = {.nest = nest, .cut = INT64_MAX};
    p.lanes = calloc((size_t)nest->lanes + 1, sizeof *p.lanes);
    p.due = calloc((size_t)nest->lanes + 1, sizeof *p.due);
    p.calls = calloc(nest->way == BY_CALL ? (size_t)nest->ids : 1, sizeof *p.calls);
    int64_t is_done = p.lanes && p.due && p.calls && grow(&p.table);
    for (int64_t lane = 0; is_done && lane < nest->lanes; lane++) {
        p.lanes[lane] = (Lane){.lane = lane, .start = INT64_MIN, .stop = INT64_MIN, .entry = -1, .part = -1};
        look_for(nest, &p.lanes[lane], nest->first[lane]);
    }
    is_done = is_done && pass_over(&p);
    free(p.lanes), free(p.due), free(p.empty), free(p.table.slots), free(p.of_level), free(p.calls);
    if (p.deepest)
        is_kept(&p, p.deepest - 1);
    const int64_t complete = p.cut < p.deepest ? p.cut + 1 : p.deepest;
    *result = (Result){p.table.entries, p.table.count, p.deepest, complete, p.launchers, p.launcher_count};
    if (!is_done)
        warpline_nested_free(result);
    return is_done;
}
