/* CUPTI has one clock for all records. While Warpline records it is Warpline's, CLOCK_MONOTONIC. The program's profiler
 * expects CLOCK_REALTIME, or a clock that it has registered itself; the times in its copies are converted. */
#define _GNU_SOURCE
#include "cupti_clocks.h"

#include <stdatomic.h>
#include <string.h>

#include "cupti_family.h"
#include "cupti_internal.h"
#include "spool.h"

#define MOST_TIMES 5

static const struct {
    uint8_t kind, correlation_at, count, at[MOST_TIMES];
} layouts[] = {
    {ACTIVITY_MEMCPY, 44, 2, {16, 24}},
    {ACTIVITY_MEMSET, 44, 2, {16, 24}},
    {ACTIVITY_KERNEL, 92, 5, {16, 24, 32, 120, 128}},
    {ACTIVITY_CONCURRENT_KERNEL, 92, 5, {16, 24, 32, 120, 128}},
    {ACTIVITY_DRIVER, 0, 2, {8, 16}},
    {ACTIVITY_RUNTIME, 0, 2, {8, 16}},
    {ACTIVITY_MARKER, 0, 1, {8}},
    {ACTIVITY_OVERHEAD, 0, 2, {24, 32}},
    {ACTIVITY_MEMCPY2, 60, 2, {16, 24}},
    {ACTIVITY_SYNCHRONIZATION, 0, 2, {8, 16}},
    {ACTIVITY_MEMORY2, 0, 1, {32}},
    {ACTIVITY_GRAPH_TRACE, 4, 2, {8, 16}},
};
#define LAYOUTS (sizeof layouts / sizeof layouts[0])
#define NONE LAYOUTS

static _Atomic(cupti_timestamp) clock_of[USERS]; /* NULL: CLOCK_REALTIME, CUPTI's own choice */
static _Atomic uint64_t first_of_warpline, first_of_program;

static size_t layout_of(uint32_t kind)
{
    for (size_t i = 0; i < LAYOUTS; i++)
        if (layouts[i].kind == kind)
            return i;
    return NONE;
}

static size_t layout_of_record(const void *record)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    return layout_of(kind);
}

bool clocks_has_times(uint32_t kind) { return layout_of(kind) != NONE; }

bool clocks_has_any_times(uint64_t kinds)
{
    for (size_t i = 0; i < LAYOUTS; i++)
        if (kinds >> layouts[i].kind & 1)
            return true;
    return false;
}

bool clocks_is_gpu_work(const void *record, uint32_t *correlation)
{
    size_t layout = layout_of_record(record);
    if (layout == NONE || layouts[layout].correlation_at == 0)
        return false;
    memcpy(correlation, (const uint8_t *)record + layouts[layout].correlation_at, sizeof *correlation);
    return true;
}

static uint64_t now_of(enum cupti_user user)
{
    cupti_timestamp clock = atomic_load(&clock_of[user]);
    return clock != NULL ? clock() : wl_clock(CLOCK_REALTIME);
}

struct clocks clocks_read(void)
{
    struct clocks clocks = {
        .monotonic_ns = wl_clock(CLOCK_MONOTONIC),
        .realtime_ns = wl_clock(CLOCK_REALTIME),
        .rate = 1,
    };
    uint64_t before = now_of(WARPLINE);
    clocks.now[PROGRAM] = now_of(PROGRAM);
    clocks.now[WARPLINE] = before + (now_of(WARPLINE) - before) / 2;
    uint64_t first = atomic_load(&first_of_program);
    int64_t elapsed = (int64_t)(clocks.now[WARPLINE] - atomic_load(&first_of_warpline));
    if (atomic_load(&clock_of[PROGRAM]) != NULL && first != 0 && elapsed > 0)
        clocks.rate = (double)(int64_t)(clocks.now[PROGRAM] - first) / (double)elapsed;
    return clocks;
}

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* A time belongs to the clock that it is nearer to: records may have been begun by the other. */
static uint64_t convert(const struct clocks *clocks, uint64_t time, enum cupti_user to)
{
    uint64_t from_now = clocks->now[!to], to_now = clocks->now[to];
    if (time == 0 || distance(time, to_now) <= distance(time, from_now))
        return time;
    double rate = to == PROGRAM ? clocks->rate : 1 / clocks->rate;
    return to_now + (uint64_t)(int64_t)((double)(int64_t)(time - from_now) * rate);
}

uint64_t clocks_start(const struct clocks *clocks, const void *record)
{
    uint64_t time;
    size_t layout = layout_of_record(record);
    if (layout == NONE)
        return 0;
    memcpy(&time, (const uint8_t *)record + layouts[layout].at[0], sizeof time);
    uint64_t to_monotonic = distance(time, clocks->monotonic_ns), to_realtime = distance(time, clocks->realtime_ns);
    uint64_t program_ns = clocks->now[PROGRAM];
    if (time == 0 || (to_monotonic <= to_realtime && to_monotonic <= distance(time, program_ns)))
        return time;
    return clocks->monotonic_ns + time - (to_realtime <= distance(time, program_ns) ? clocks->realtime_ns : program_ns);
}

void clocks_convert(const struct clocks *clocks, void *record, enum cupti_user user)
{
    size_t layout = layout_of_record(record);
    for (size_t i = 0; layout != NONE && i < layouts[layout].count; i++) {
        uint64_t time;
        uint8_t *at = (uint8_t *)record + layouts[layout].at[i];
        memcpy(&time, at, sizeof time);
        time = convert(clocks, time, user);
        memcpy(at, &time, sizeof time);
    }
}

int sharing_register_timestamp(enum cupti_user user, cupti_timestamp callback)
{
    int result = CUPTI_OK;
    if (user == WARPLINE || atomic_load(&clock_of[WARPLINE]) == NULL)
        result = family_register_timestamp(callback);
    if (result != CUPTI_OK)
        return result;
    atomic_store(&clock_of[user], callback);
    if (user == PROGRAM) {
        atomic_store(&first_of_program, 0);
        struct clocks clocks = clocks_read();
        atomic_store(&first_of_warpline, clocks.now[WARPLINE]);
        atomic_store(&first_of_program, clocks.now[PROGRAM]);
    }
    return CUPTI_OK;
}

int sharing_get_timestamp(enum cupti_user user, uint64_t *time)
{
    if (user == WARPLINE || atomic_load(&clock_of[WARPLINE]) == NULL)
        return family_get_timestamp(time);
    *time = now_of(PROGRAM);
    return CUPTI_OK;
}

static uint64_t realtime(void) { return wl_clock(CLOCK_REALTIME); }

void clocks_leave(void)
{
    cupti_timestamp theirs = atomic_load(&clock_of[PROGRAM]);
    if (atomic_exchange(&clock_of[WARPLINE], NULL) != NULL)
        family_register_timestamp(theirs != NULL ? theirs : realtime);
}
