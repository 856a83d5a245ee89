/* The frames of another thread that may run on meanwhile, with few calls: each is a system call. */
#ifndef WARPLINE_PYTHON_WALK_H
#define WARPLINE_PYTHON_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "python_stacks.h"
#include "python_tasks.h"

#define FRAME_BYTES 88
#define CHUNK_BYTES (128u << 10)
#define THREAD_BYTES 1024
#define AHEAD 4

struct walk { /* one thread: what is known of it, and its frames, which mostly lie in one piece */
    char thread[THREAD_BYTES];
    uintptr_t innermost;
    char bytes[CHUNK_BYTES]; /* right behind: both are read at once */
    uintptr_t at;
    size_t size;
    int ahead_count; /* frames of coroutines, which lie elsewhere */
    uintptr_t ahead_at[AHEAD];
    char ahead[AHEAD][FRAME_BYTES];
    /* What was found. */
    struct stack_frame frames[STACK_DEPTH];
    uintptr_t innermost_code; /* the interpreter's own frames too have something there */
    uintptr_t coroutine; /* the outermost frame that a coroutine or generator owns; 0: none */
    struct stack_codes codes;
    struct {
        uintptr_t innermost, code, anchor;
        struct task_said task;
    } said; /* afterwards */
    size_t task_size;
};

/* Bytes of a thread that are to be read into `thread` before its stack is. */
size_t walk_span_of_thread(void);
uint64_t walk_thread_id(const struct walk *walk);
uintptr_t walk_next_thread(const struct walk *walk);
/* How many frames were read, with their code objects and what tells their task; -1 when the thread moved or its frames led
 * nowhere. One that went on within its innermost function did not: callers wait at their lines, and the line read is one
 * it was at. By the thread that samples alone. */
int walk_stack(struct walk *walk, uintptr_t thread);

#endif
