#include "python_walk.h"

#include <stdbool.h>
#include <string.h>

#include "python_layout.h"
#include "python_memory.h"

static uintptr_t word(const char *from)
{
    uintptr_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static size_t span_of_thread(void)
{
    const size_t ends[] = {python_layout.thread_next + 8, python_layout.thread_native_id + 8,
                           python_layout.thread_chunk + 16, python_layout.thread_frame + 8,
                           python_layout.thread_cframe + 8};
    size_t span = 0;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        span = ends[i] > span ? ends[i] : span;
    return span;
}

/* Places read by one call. */
#define PLACES 8

/* Worth it from three threads on: reading the main thread costs no system call. */
bool walk_begin(struct walk *walk)
{
    struct walk_threads *together = &walk->together;
    struct python_place places[PLACES];
    walk->span = span_of_thread();
    int known = together->next_count > 2 ? together->next_count : 0;
    together->next_count = together->count = 0;
    if (walk->span > THREAD_BYTES)
        return false;
    for (int first = 0; first < known; first += PLACES) {
        int count = known - first < PLACES ? known - first : PLACES;
        for (int i = 0; i < count; i++)
            places[i] = (struct python_place){together->next_at[first + i], walk->span};
        char *to = &together->bytes[0][0] + (size_t)first * walk->span; /* without gaps */
        together->count = first + (int)(python_read_most(to, places, count) / walk->span);
        if (together->count < first + count)
            break; /* this thread is gone: the rest is read one by one */
    }
    memcpy(together->at, together->next_at, (size_t)together->count * sizeof together->at[0]);
    return true;
}

bool walk_read_thread(struct walk *walk, uintptr_t thread)
{
    walk->is_early = false;
    return python_read(walk->thread, thread, walk->span);
}

bool walk_find_thread(struct walk *walk, uintptr_t thread)
{
    struct walk_threads *together = &walk->together;
    if (together->next_count < MOST_TOGETHER)
        together->next_at[together->next_count++] = thread;
    for (int i = 0; i < together->count; i++)
        if (together->at[i] == thread) {
            memcpy(walk->thread, &together->bytes[0][0] + (size_t)i * walk->span, walk->span);
            walk->is_early = true;
            return true;
        }
    return walk_read_thread(walk, thread);
}

bool walk_read_again(struct walk *walk, uintptr_t thread) { return !walk->is_early || walk_read_thread(walk, thread); }

uint64_t walk_thread_id(const struct walk *walk) { return word(walk->thread + python_layout.thread_native_id); }

uintptr_t walk_next_thread(const struct walk *walk) { return word(walk->thread + python_layout.thread_next); }

/* Address of the pointer to the innermost frame: in the thread, before 3.13 in its C frame. */
static uintptr_t place_of_innermost(const struct walk *walk, uintptr_t thread)
{
    if (python_layout.thread_frame != 0)
        return thread + python_layout.thread_frame;
    uintptr_t cframe = word(walk->thread + python_layout.thread_cframe);
    return cframe != 0 ? cframe + python_layout.cframe_frame : 0;
}

/* Reads the innermost frame pointer and the used part of the frame memory at once, into `innermost` and `bytes`. The
 * thread stores where the next frame would begin right behind the pointer to that memory. */
static bool read_frames(struct walk *walk, uintptr_t thread)
{
    uintptr_t chunk = word(walk->thread + python_layout.thread_chunk);
    uintptr_t top = word(walk->thread + python_layout.thread_chunk + 8);
    size_t size = chunk == 0 || top <= chunk ? 0 : top - chunk < CHUNK_BYTES ? top - chunk : CHUNK_BYTES;
    struct python_place places[] = {{place_of_innermost(walk, thread), sizeof walk->innermost}, {chunk, size}};
    walk->at = chunk;
    walk->size = size;
    return places[0].from != 0 && python_read_places(&walk->innermost, places, size != 0 ? 2 : 1);
}

/* A running thread may leave anything in its frames, so sums of values read may wrap around. */
static bool is_in_chunk(const struct walk *walk, uintptr_t frame)
{
    return frame >= walk->at && walk->size >= FRAME_BYTES && frame - walk->at <= walk->size - FRAME_BYTES;
}

/* The caller of a coroutine's frame when it was last read; mostly it still is. */
#define LINKS 64u
static struct link {
    uintptr_t frame, previous;
} links[LINKS];

static struct link *link_of(uintptr_t frame) { return &links[(uint32_t)(frame >> 4) * 0x9e3779b1u >> 26]; }
_Static_assert(LINKS == 1u << (32 - 26), "what is left of the product");

/* Reads a frame inside a coroutine, together with its former callers. */
static const char *frame_elsewhere(struct walk *walk, uintptr_t frame)
{
    struct python_place places[AHEAD];
    int count = 0;
    for (int i = 0; i < walk->ahead_count; i++)
        if (walk->ahead_at[i] == frame)
            return walk->ahead[i];
    for (uintptr_t at = frame; at != 0 && count < AHEAD && !is_in_chunk(walk, at);) {
        const struct link *link = link_of(at);
        places[count] = (struct python_place){at, FRAME_BYTES};
        walk->ahead_at[count++] = at;
        at = link->frame == at ? link->previous : 0;
    }
    walk->ahead_count = (int)(python_read_most(walk->ahead, places, count) / FRAME_BYTES);
    for (int i = 0; i < walk->ahead_count; i++)
        *link_of(walk->ahead_at[i]) = (struct link){walk->ahead_at[i],
                                                    word(walk->ahead[i] + python_layout.frame_previous)};
    return walk->ahead_count > 0 ? walk->ahead[0] : NULL;
}

static uintptr_t code_in(const char *frame) { return word(frame + python_layout.frame_code) & ~(uintptr_t)7; }

static int read_chain(struct walk *walk)
{
    int depth = 0;
    walk->coroutine = 0;
    walk->ahead_count = 0;
    for (uintptr_t frame = walk->innermost; frame != 0 && depth < STACK_DEPTH;) {
        const char *bytes = is_in_chunk(walk, frame) ? walk->bytes + (frame - walk->at) : frame_elsewhere(walk, frame);
        if (bytes == NULL)
            return -1;
        if (frame == walk->innermost)
            walk->innermost_code = code_in(bytes);
        uint8_t owner = (uint8_t)bytes[python_layout.frame_owner];
        if (owner == OWNED_BY_GENERATOR)
            walk->coroutine = frame;
        if (owner < OWNED_BY_C) {
            walk->frames[depth].code = code_in(bytes);
            walk->frames[depth].instruction = word(bytes + python_layout.frame_instruction);
            depth++;
        }
        frame = word(bytes + python_layout.frame_previous);
    }
    return depth;
}

/* Reads the code objects and what identifies the task, then checks that the thread is still in the same function:
 * same innermost frame, same thread (before 3.13: same C frame), same code. */
static bool has_stayed(struct walk *walk, uintptr_t thread, int depth)
{
    size_t anchor = python_layout.thread_frame != 0 ? python_layout.thread_native_id : python_layout.thread_cframe;
    struct python_place places[3 + TASK_PLACES] = {{place_of_innermost(walk, thread), sizeof walk->said.innermost},
                                                   {walk->innermost + python_layout.frame_code, 8},
                                                   {thread + anchor, sizeof walk->said.anchor}};
    int count = 3 + task_places(walk->coroutine, places + 3);
    long size = stack_read_codes(&walk->codes, walk->frames, depth, &walk->said, places, count);
    if (size < (long)offsetof(struct walk, said.task) - (long)offsetof(struct walk, said))
        return false;
    walk->task_size = (size_t)size - (offsetof(struct walk, said.task) - offsetof(struct walk, said));
    return walk->said.innermost == walk->innermost && (walk->said.code & ~(uintptr_t)7) == walk->innermost_code &&
           walk->said.anchor == word(walk->thread + anchor);
}

int walk_stack(struct walk *walk, uintptr_t thread)
{
    if (!read_frames(walk, thread))
        return word(walk->thread + python_layout.thread_cframe) == 0 && python_layout.thread_frame == 0 ? 0 : -1;
    int depth = read_chain(walk);
    if (depth <= 0)
        return depth;
    return has_stayed(walk, thread, depth) ? depth : -1;
}
