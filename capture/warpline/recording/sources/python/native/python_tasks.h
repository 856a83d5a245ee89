/* The asyncio task that a thread is in, read without the GIL: Python keeps one current task per event loop, and the
 * frames of a task's coroutine lie in that coroutine. */
#ifndef WARPLINE_PYTHON_TASKS_H
#define WARPLINE_PYTHON_TASKS_H

#include <stdint.h>

/* The name of the current task whose coroutine has this frame, the outermost of a stack that a coroutine or generator
 * owns; 0 where there is none, where it is not known yet how tasks look, and for tasks written in Python. */
uint32_t task_of_frame(uintptr_t frame);
/* Finds out how tasks look when coroutines were seen and asyncio is loaded. Never waits for the GIL: a thread of its own
 * does, and has it for some microseconds. */
void tasks_find(uint64_t now);

#endif
