/* The numbers of stacks: `CompiledStackIds` in stack_ids.py, whose twin needs ten times the memory for each. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define NO_STACK 0xFFFFFFFFu

/* As `_Table` in stack_ids.py. `slots` holds 1 << bits numbers of stacks plus 1, 0 where it is free. */
struct stacks {
    uint32_t *frames, *parents, *slots;
    int64_t count, room, bits;
};

static uint64_t first_slot(const struct stacks *table, uint32_t frame, uint32_t parent)
{
    uint64_t key = (uint64_t)parent << 32 | frame;
    key ^= key >> 29;
    return key * 0x9E3779B97F4A7C15u >> (64 - table->bits);
}

/* The number of a stack; room for one more is needed. */
static uint32_t number_of(struct stacks *table, uint32_t frame, uint32_t parent)
{
    uint64_t mask = ((uint64_t)1 << table->bits) - 1;
    uint64_t slot = first_slot(table, frame, parent);
    for (; table->slots[slot]; slot = (slot + 1) & mask) {
        uint32_t known = table->slots[slot] - 1;
        if (table->frames[known] == frame && table->parents[known] == parent)
            return known;
    }
    uint32_t number = (uint32_t)table->count++;
    table->frames[number] = frame;
    table->parents[number] = parent;
    table->slots[slot] = number + 1;
    return number;
}

/* The number of the stack with `frame` on top of `parent`; -1 without room. */
EXPORT int64_t warpline_stack(struct stacks *table, int64_t frame, int64_t parent)
{
    if (table->count >= table->room)
        return -1;
    return number_of(table, (uint32_t)frame, (uint32_t)parent);
}

/* The numbers of whole stacks, whose frames stand one after the other, outermost first; -1 for one without frames.
 *
 * Returns how many have their numbers: all, or those before the first that there is no room for.
 */
EXPORT int64_t warpline_stacks(struct stacks *table, const uint32_t *frames, const int64_t *sizes, int64_t n,
                               int64_t *numbers)
{
    for (int64_t i = 0; i < n; i++) {
        if (table->count + sizes[i] > table->room)
            return i;
        uint32_t stack = NO_STACK;
        for (int64_t j = 0; j < sizes[i]; j++)
            stack = number_of(table, *frames++, stack);
        numbers[i] = sizes[i] ? (int64_t)stack : -1;
    }
    return n;
}

/* Fills empty slots, at least twice as many as there are stacks. */
EXPORT void warpline_fill_stack_slots(struct stacks *table)
{
    uint64_t mask = ((uint64_t)1 << table->bits) - 1;
    for (int64_t i = 0; i < table->count; i++) {
        uint64_t slot = first_slot(table, table->frames[i], table->parents[i]);
        while (table->slots[slot])
            slot = (slot + 1) & mask;
        table->slots[slot] = (uint32_t)i + 1;
    }
}
