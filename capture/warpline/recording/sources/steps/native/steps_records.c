#include "steps_records.h"

#include "spool.h"

static __thread int depth; /* of nested module calls */

/* What counts the steps of this thread, as training.py finds them later. */
static __thread struct {
    int64_t seen[8], latest, last; /* optimisers: of the current step, the latest, the one that ends a step */
    uint64_t end_ns, count;
    uint32_t seen_count;
    uint32_t step;   /* that the latest is of, and what is around it */
    bool is_counted; /* the current step has ended */
    bool varies;     /* steps end with different optimisers: that one has ended shows when the next one begins */
} training;

uint64_t steps_now(void)
{
    struct writer *writer = wl_writer();
    return writer ? wl_now(writer) : 0;
}

bool steps_is_inside(void) { return depth > 0; }

uint64_t steps_enter(int *is_outermost)
{
    *is_outermost = depth++ == 0;
    return steps_now();
}

void steps_leave(uint64_t start_ns, uint32_t path, uint32_t class_name)
{
    struct writer *writer = wl_writer();
    if (depth > 0)
        depth--;
    if (writer == NULL || start_ns == 0 || !wl_is_recording(SOURCE_STEPS))
        return;
    struct record_framework_module *to = WL_RESERVE(writer, SLOT_FRAMEWORK_MODULE, record_framework_module);
    if (to == NULL)
        return;
    *to = (struct record_framework_module){start_ns, wl_now(writer), path, class_name};
    WL_COMMIT(writer, SLOT_FRAMEWORK_MODULE, record_framework_module);
}

/* A batch is taken, or an optimiser steps again: the current step has ended, if it has any optimiser. Returns whether
 * that was not known yet. */
static bool begins_step(void)
{
    if (training.seen_count == 0)
        return false;
    bool is_news = !training.is_counted;
    training.count += is_news;
    training.last = training.latest;
    training.seen_count = 0;
    training.is_counted = false;
    return is_news;
}

/* An optimiser has stepped; returns whether a step has ended. It ends with the last of its optimisers. Which one that is
 * shows as soon as the next step begins, and from then on in advance, unless one of them steps in some steps only. */
static bool ends_step(uint64_t start_ns, uint64_t end_ns, int64_t optimizer)
{
    bool is_around = start_ns < training.end_ns; /* GradScaler.step calls the optimiser's */
    training.end_ns = end_ns;
    if (is_around)
        return false;
    const uint32_t room = sizeof training.seen / sizeof training.seen[0];
    bool has_ended = false;
    for (uint32_t i = 0; i < training.seen_count; i++)
        if (training.seen[i] == optimizer || training.seen_count == room)
            has_ended |= begins_step();
    training.varies |= training.is_counted; /* there is one more after the one that was the last */
    training.seen[training.seen_count++] = training.latest = optimizer;
    training.step = (uint32_t)(training.count - training.is_counted);
    if (optimizer == training.last && !training.varies && !training.is_counted) {
        training.is_counted = has_ended = true;
        training.count++;
    }
    return has_ended;
}

void steps_range(uint64_t start_ns, uint32_t kind, uint32_t name, uint32_t detail, int64_t value)
{
    struct writer *writer = wl_writer();
    if (writer == NULL || start_ns == 0)
        return;
    uint64_t end_ns = wl_now(writer);
    bool is_end = kind == RANGE_LOADER && begins_step();
    if (kind == RANGE_OPTIMIZER || kind == RANGE_STEP)
        is_end = ends_step(start_ns, end_ns, value);
    struct record_framework_range *to = NULL;
    if (wl_is_recording(SOURCE_STEPS))
        to = WL_RESERVE(writer, SLOT_FRAMEWORK_RANGE, record_framework_range);
    if (to != NULL) {
        *to = (struct record_framework_range){start_ns, end_ns, value, kind, name, detail, training.step};
        WL_COMMIT(writer, SLOT_FRAMEWORK_RANGE, record_framework_range);
    }
    if (is_end)
        wl_step_ended(training.count);
}
