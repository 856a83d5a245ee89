/* The asyncio task that a thread is in, read without the GIL: Python keeps one current task per event loop, and the
 * frames of a task's coroutine lie in that coroutine. */
#ifndef WARPLINE_PYTHON_TASKS_H
#define WARPLINE_PYTHON_TASKS_H

#include <stddef.h>
#include <stdint.h>

#include "python_memory.h"

/* The name of the current task whose coroutine has this frame, the outermost of a stack that a coroutine or generator
 * owns; 0 where there is none, where it is not known yet how tasks look, and for tasks written in Python. */
uint32_t task_of_frame(uintptr_t frame);
/* The same for the thread that samples, which meets many tasks by turns. What tells that the task of a frame is still the
 * one it was, it may read together with other things: `task_places` says where it lies, 0 places where no task is known. */
#define TASK_NAME_BYTES 88
#define TASK_PLACES 3
struct task_said {
    uintptr_t coroutine, name;
    char said[TASK_NAME_BYTES];
};
int task_places(uintptr_t frame, struct python_place *places);
uint32_t task_of_sampled(uintptr_t frame, const struct task_said *said, size_t size);
/* Finds out how tasks look when coroutines were seen and asyncio is loaded. Never waits for the GIL: a thread of its own
 * does, and has it for some microseconds. */
void tasks_find(uint64_t now);

#endif
