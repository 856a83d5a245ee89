/* Replacements for Paddle's functions that record parts of operators, shapes and memory (events.c puts them in place).
 * Paddle asks `IsEnabled` before it makes what its own profiler would record; we answer yes while that is asked of us.
 * Layouts are those of paddle/common/ddim.h, phi/common/place.h and of libstdc++'s vector. */
#include "details.h"

#include <stdio.h>
#include <string.h>

#include "interpose.h"
#include "spool.h"

enum { PARTS = 1, SHAPES_OF_INPUTS = 2, MEMORY_EVENTS = 4 };

#define MOST_TEXT 2048u
#define MOST_RANK 9

struct vector {
    const char *first, *last, *end;
};

struct dimensions {
    int64_t sizes[MOST_RANK];
    int rank;
};

struct input {
    const char *name;
    struct vector shapes;
};

struct place {
    int8_t device, type;
};

bool (*paddle_parts_wanted)(void);
bool (*paddle_shapes_wanted)(void);
void (*paddle_shapes)(void *, const void *, const void *, const void *);
void (*paddle_memory)(void *, const void *, const void *, size_t, int);

static _Atomic unsigned asked;

/* For warpline.Profiler: what the calling program wants recorded from now on. */
EXPORT void warpline_ask_paddle(unsigned details) { atomic_store(&asked, details); }

static bool is_asked(unsigned detail)
{
    return (atomic_load_explicit(&asked, memory_order_relaxed) & detail) != 0 && wl_is_recording(SOURCE_PADDLE);
}

bool our_parts_wanted(void) { return paddle_parts_wanted() || is_asked(PARTS); }
bool our_shapes_wanted(void) { return paddle_shapes_wanted() || is_asked(SHAPES_OF_INPUTS); }

/* Appends to a text of MOST_TEXT bytes; at least MOST_TEXT when it does not fit. */
static size_t append(char *text, size_t length, const char *format, const char *word, long long number)
{
    if (length >= MOST_TEXT)
        return length;
    int more = word != NULL ? snprintf(text + length, MOST_TEXT - length, format, word)
                            : snprintf(text + length, MOST_TEXT - length, format, number);
    return length + (more > 0 ? (size_t)more : 0);
}

static size_t append_shape(char *text, size_t length, const struct dimensions *shape)
{
    length = append(text, length, "%s", "[", 0);
    for (int i = 0; i < shape->rank && i < MOST_RANK; i++)
        length = append(text, length, i > 0 ? ", %lld" : "%lld", NULL, (long long)shape->sizes[i]);
    return append(text, length, "%s", "]", 0);
}

/* {"x": [[4, 3, 32, 32]]} as in Paddle's files; 0 if that is too long. */
static size_t text_of(const struct vector *inputs, char *text)
{
    size_t length = append(text, 0, "%s", "{", 0);
    for (const char *at = inputs->first; at < inputs->last; at += sizeof(struct input)) {
        const struct input *input = (const struct input *)at;
        length = append(text, length, at > inputs->first ? ", \"%s\": [" : "\"%s\": [", input->name, 0);
        for (const char *of = input->shapes.first; of < input->shapes.last; of += sizeof(struct dimensions)) {
            if (of > input->shapes.first)
                length = append(text, length, "%s", ", ", 0);
            length = append_shape(text, length, (const struct dimensions *)of);
        }
        length = append(text, length, "%s", "]", 0);
    }
    length = append(text, length, "%s", "}", 0);
    return length < MOST_TEXT ? length : 0;
}

/* The shapes belong to the innermost open event of the thread. */
void our_shapes(void *self, const void *type, const void *inputs, const void *attributes)
{
    char text[MOST_TEXT];
    struct writer *writer = wl_self;
    if (is_asked(SHAPES_OF_INPUTS) && writer != NULL && writer->event_depth > 0) {
        size_t length = text_of(inputs, text);
        struct record_framework_input *to = length > 0
                                                ? WL_RESERVE(writer, SLOT_FRAMEWORK_INPUT, record_framework_input)
                                                : NULL;
        if (to != NULL) {
            const struct open_event *open = &writer->events[writer->event_depth - 1];
            *to = (struct record_framework_input){open->start_ns, wl_intern(text, length), 0};
            WL_COMMIT(writer, SLOT_FRAMEWORK_INPUT, record_framework_input);
        }
    }
    paddle_shapes(self, type, inputs, attributes);
}

void our_memory(void *self, const void *address, const void *place, size_t bytes, int operation)
{
    if (is_asked(MEMORY_EVENTS)) {
        struct writer *writer = wl_writer();
        struct record_framework_memory *to = writer != NULL
                                                 ? WL_RESERVE(writer, SLOT_FRAMEWORK_MEMORY, record_framework_memory)
                                                 : NULL;
        if (to != NULL) {
            const struct place *at = place;
            *to = (struct record_framework_memory){
                wl_now(writer),    (uint64_t)(uintptr_t)address, bytes, (uint8_t)operation,
                (uint8_t)at->type, (uint8_t)at->device,          0,     0};
            WL_COMMIT(writer, SLOT_FRAMEWORK_MEMORY, record_framework_memory);
        }
    }
    paddle_memory(self, address, place, bytes, operation);
}
