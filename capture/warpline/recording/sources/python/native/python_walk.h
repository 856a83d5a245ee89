/* Walks the frames of another, possibly running thread in few reads: each is a system call. */
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

/* Threads of the previous round, read together at the start of the next. */
struct walk_threads {
    int count, next_count;
    uintptr_t at[MOST_TOGETHER], next_at[MOST_TOGETHER];
    char bytes[MOST_TOGETHER][THREAD_BYTES];
};

struct walk {    /* state of one thread, and its frames, most of which lie in one piece */
    size_t span; /* bytes read of a thread */
    struct walk_threads together;
    bool is_early; /* the thread was read with others, and may have run since */
    char thread[THREAD_BYTES];
    uintptr_t innermost;
    char bytes[CHUNK_BYTES]; /* directly behind `innermost`: both are read at once */
    uintptr_t at;
    size_t size;
    int ahead_count; /* frames of coroutines, which lie elsewhere */
    uintptr_t ahead_at[AHEAD];
    char ahead[AHEAD][FRAME_BYTES];
    /* The result. */
    struct stack_frame frames[STACK_DEPTH];
    uintptr_t innermost_code; /* the interpreter's own frames have a code too */
    uintptr_t coroutine;      /* the outermost frame that a coroutine or generator owns; 0: none */
    struct stack_codes codes;
    struct {
        uintptr_t innermost, code, anchor;
        struct task_identity task;
    } said; /* afterwards */
    size_t task_size;
};

/* Begins a round through all threads. False if a thread is larger than THREAD_BYTES. */
bool walk_begin(struct walk *walk);
/* Read a thread into `thread`; false if it is gone. `find` accepts its state from the start of the round, which is
 * enough to go on to the next thread; `read_again` comes before reading its stack. */
bool walk_read_thread(struct walk *walk, uintptr_t thread);
bool walk_find_thread(struct walk *walk, uintptr_t thread);
bool walk_read_again(struct walk *walk, uintptr_t thread);
uint64_t walk_thread_id(const struct walk *walk);
uintptr_t walk_next_thread(const struct walk *walk);
/* Reads a thread's frames, their code objects and what identifies the task. Returns the number of frames; -1 if the
 * thread moved or its frames led nowhere. Going on within the innermost function does not count as moving: callers
 * stay at their lines, and the line read is one it was at. For the sampling thread alone. */
int walk_stack(struct walk *walk, uintptr_t thread);

#endif
