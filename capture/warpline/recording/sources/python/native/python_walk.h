/* The frames of another thread that may run on meanwhile, with few calls: each is a system call. */
#ifndef WARPLINE_PYTHON_WALK_H
#define WARPLINE_PYTHON_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python_stacks.h"
#include "python_tasks.h"

#define FRAME_BYTES 88
#define CHUNK_BYTES (128u << 10)
#define THREAD_BYTES 1024
#define AHEAD 4
#define MOST_TOGETHER 64

/* Threads of the last round, read together at the beginning of the next. */
struct walk_threads {
    int count, next_count;
    uintptr_t at[MOST_TOGETHER], next_at[MOST_TOGETHER];
    char bytes[MOST_TOGETHER][THREAD_BYTES];
};

struct walk {    /* one thread: what is known of it, and its frames, which mostly lie in one piece */
    size_t span; /* bytes of a thread that are read */
    struct walk_threads together;
    bool is_early; /* the thread was read together with others, and may have run since */
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
    uintptr_t coroutine;      /* the outermost frame that a coroutine or generator owns; 0: none */
    struct stack_codes codes;
    struct {
        uintptr_t innermost, code, anchor;
        struct task_said task;
    } said; /* afterwards */
    size_t task_size;
};

/* A round through all threads begins. False where a thread is larger than there is room for. */
bool walk_begin(struct walk *walk);
/* Reads a thread into `thread`; false when it is gone. `find` is content with what it was at the beginning of the round,
 * which is enough to go on to the next one; `read_again` is before its stack is read. */
bool walk_read_thread(struct walk *walk, uintptr_t thread);
bool walk_find_thread(struct walk *walk, uintptr_t thread);
bool walk_read_again(struct walk *walk, uintptr_t thread);
uint64_t walk_thread_id(const struct walk *walk);
uintptr_t walk_next_thread(const struct walk *walk);
/* How many frames were read, with their code objects and what tells their task; -1 when the thread moved or its frames led
 * nowhere. One that went on within its innermost function did not: callers wait at their lines, and the line read is one
 * it was at. By the thread that samples alone. */
int walk_stack(struct walk *walk, uintptr_t thread);

#endif
