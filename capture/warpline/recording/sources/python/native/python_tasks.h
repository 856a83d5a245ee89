/* The current asyncio task of a thread, read without the GIL. Python keeps one current task per event loop; the
 * frames of a task's coroutine lie inside that coroutine. */
#ifndef WARPLINE_PYTHON_TASKS_H
#define WARPLINE_PYTHON_TASKS_H

#include <stddef.h>
#include <stdint.h>

#include "python_memory.h"

/* The name of the current task whose coroutine contains this frame, the outermost frame of a stack that a coroutine
 * or generator owns. 0 if there is none, if the layout of tasks is not known yet, and for tasks written in Python. */
uint32_t task_of_frame(uintptr_t frame);
/* The same for the sampling thread, which meets many tasks. It may read what identifies a known task together with
 * other memory: `task_places` returns the places, none if no task is known for the frame. */
#define TASK_NAME_BYTES 88
#define TASK_PLACES 3
struct task_identity {
    uintptr_t coroutine, name;
    char said[TASK_NAME_BYTES];
};
int task_places(uintptr_t frame, struct python_place *places);
uint32_t task_of_sampled(uintptr_t frame, const struct task_identity *said, size_t size);
/* Finds the layout of tasks once coroutines were seen and asyncio is loaded. A separate thread takes the GIL for some
 * microseconds; this function never waits for it. */
void tasks_find(uint64_t now);

#endif
