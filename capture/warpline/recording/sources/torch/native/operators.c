#include "operators.h"

#include "autograd.h"
#include "recent_names.h"

static bool deeper(struct writer *writer)
{
    void *moved = wl_grow(writer->operators, &writer->operator_room, sizeof *writer->operators);
    if (moved == NULL)
        return false;
    writer->operators = moved;
    return true;
}

void operator_begins(struct writer *writer, uint32_t name, int64_t sequence, uint32_t thread)
{
    if (UNLIKELY(writer->operator_depth >= writer->operator_room) && !deeper(writer))
        return;
    struct open_operator *open = &writer->operators[writer->operator_depth++];
    open->name = name;
    open->sequence = sequence;
    open->thread = thread;
    open->start_ns = wl_is_recording(SOURCE_TORCH) && !autograd_is_excluded(writer) ? wl_now(writer) : 0;
}

void operator_ends(struct writer *writer)
{
    if (writer->operator_depth == 0)
        return;
    struct open_operator *open = &writer->operators[--writer->operator_depth];
    if (writer->operator_depth == 0)
        autograd_count_operator(writer);
    if (open->start_ns == 0 || !wl_is_recording(SOURCE_TORCH))
        return;
    struct record_framework_operator *to = WL_RESERVE(writer, SLOT_FRAMEWORK_OPERATOR, record_framework_operator);
    if (to == NULL)
        return;
    *to = (struct record_framework_operator){open->start_ns, wl_now(writer), open->sequence, open->name, open->thread};
    WL_COMMIT(writer, SLOT_FRAMEWORK_OPERATOR, record_framework_operator);
}
