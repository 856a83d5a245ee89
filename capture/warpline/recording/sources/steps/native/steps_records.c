#include "steps_records.h"

#include "spool.h"

static __thread int depth; /* of nested module calls */

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

void steps_range(uint64_t start_ns, uint32_t kind, uint32_t name, uint32_t detail, int64_t value)
{
    struct writer *writer = wl_writer();
    if (writer == NULL || start_ns == 0 || !wl_is_recording(SOURCE_STEPS))
        return;
    struct record_framework_range *to = WL_RESERVE(writer, SLOT_FRAMEWORK_RANGE, record_framework_range);
    if (to == NULL)
        return;
    *to = (struct record_framework_range){start_ns, wl_now(writer), value, kind, name, detail, 0};
    WL_COMMIT(writer, SLOT_FRAMEWORK_RANGE, record_framework_range);
}
