/* Parents of nested events, and the time that children leave of them.
 *
 * Called by warpline/analysis/framework/nesting.py, which does the same in numpy and checks all indices first.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Lanes of concatenated events that do not overlap in a lane; lane `i` has the events from first[i] to first[i + 1]. */
typedef struct {
    const int64_t *order; /* by start, longer ones first, equal ones by lane */
    const int64_t *start, *stop, *first;
    int64_t n, lanes;
} Events;

static int64_t lane_of(const Events *e, int64_t i)
{
    int64_t low = 0, high = e->lanes;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (e->first[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Whether the next event of the lane begins where this one ends: an empty event at that time is not inside this one. */
static int is_followed(const Events *e, int64_t i)
{
    return i + 1 < e->n && e->start[i + 1] == e->stop[i] && e->first[lane_of(e, i) + 1] > i + 1;
}

/* For each event, the innermost event of another lane that contains it, -1 for none; an empty event contains nothing.
 * `stack` has one entry for each event. An event that ends before another that began later is not needed any more: what
 * it could contain, the other contains as well. */
EXPORT void warpline_parents(const Events *e, int64_t *stack, int64_t *parent)
{
    int64_t depth = 0;
    for (int64_t at = 0, end; at < e->n; at = end) {
        const int64_t time = e->start[e->order[at]];
        int64_t empty = at;
        while (empty < e->n && e->start[e->order[empty]] == time && e->stop[e->order[empty]] > time)
            empty++;
        end = empty;
        while (end < e->n && e->start[e->order[end]] == time)
            end++;
        int64_t around = -1;
        if (end > empty) {
            while (depth && (e->stop[stack[depth - 1]] < time ||
                             (e->stop[stack[depth - 1]] == time && is_followed(e, stack[depth - 1]))))
                depth--;
            around = depth ? stack[depth - 1] : -1;
        }
        for (int64_t place = at; place < empty; place++) {
            const int64_t i = e->order[place];
            while (depth && e->stop[stack[depth - 1]] < e->stop[i])
                depth--;
            parent[i] = depth ? stack[depth - 1] : -1;
            stack[depth++] = i;
        }
        for (int64_t place = empty; place < end; place++) {
            const int64_t i = e->order[place];
            int64_t last = empty - 1;
            if (last >= at && is_followed(e, i) && lane_of(e, e->order[last]) == lane_of(e, i))
                last--;
            parent[i] = last >= at ? e->order[last] : around;
        }
    }
}

/* For each of `m` ascending moments, the event around it that began last, of equal starts the last one in `order`, which
 * sorts the `n` events by start; -1 for none. `stack` has one entry for each event. */
EXPORT void warpline_around(int64_t n, const int64_t *order, const int64_t *start, const int64_t *stop, int64_t m,
                            const int64_t *moments, int64_t *stack, int64_t *around)
{
    int64_t depth = 0, next = 0;
    for (int64_t at = 0; at < m; at++) {
        for (; next < n && start[order[next]] <= moments[at]; next++)
            stack[depth++] = order[next];
        while (depth && stop[stack[depth - 1]] <= moments[at])
            depth--;
        around[at] = depth ? stack[depth - 1] : -1;
    }
}

/* Duration of each of `n` events less the union of its direct children, which may overlap. `order` sorts by start;
 * `reach` has one entry for each event: the latest end of its children so far. */
EXPORT void warpline_uncovered(int64_t n, const int64_t *order, const int64_t *start, const int64_t *stop,
                               const int64_t *parent, int64_t *own, int64_t *reach)
{
    for (int64_t i = 0; i < n; i++) {
        own[i] = (int64_t)((uint64_t)stop[i] - (uint64_t)start[i]);
        reach[i] = INT64_MIN;
    }
    for (int64_t at = 0; at < n; at++) {
        const int64_t i = order[at], above = parent[i];
        if (above < 0 || stop[i] <= reach[above])
            continue;
        const int64_t from = start[i] > reach[above] ? start[i] : reach[above];
        if (stop[i] > from)
            own[above] -= stop[i] - from;
        reach[above] = stop[i];
    }
}
