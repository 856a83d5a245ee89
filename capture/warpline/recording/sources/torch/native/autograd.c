/* PyTorch's `at::RecordFunction` (only ATen/record_function.h is relied on) passes observers the number of the
 * operator or node that begins. Its offset in the object is not promised: it is searched for with operators whose
 * numbers are known, and used only if exactly one place fits. Calls follow the C++ ABI of GCC and Clang on x86-64: an
 * object with a destructor is returned through a hidden first argument, a plain structure of more than 16 bytes is
 * passed on the stack. */
#define _GNU_SOURCE
#include "autograd.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "operators.h"
#include "recent_names.h"

#define WORDS 160u         /* of the object that are searched */
#define LARGEST 4096       /* largest id of a thread */
#define LEARNT "aten::mul" /* the operator used for the search */
#define MADE_BY_WORDS \
    13 /* words behind the number: inputs, keyword inputs, outputs, then the thread (libstdc++ and libc++ agree) */
enum { FUNCTION_SCOPE = 0, BACKWARD_SCOPE = 1 };

struct callback {
    void *(*start)(void **context, const void *function);
    void (*end)(const void *function, void *context);
    double sampling_probability;
    bool scopes[10], rest[6]; /* zeros: nothing is needed of what follows the scopes */
};

static uint64_t (*peek)(void), (*current_thread)(void), (*add_callback)(struct callback);
static void (*remove_callback)(uint64_t);
static uint64_t handle, others;
static const char *(*name_of)(const void *);
static uint32_t named;            /* operators with the expected name */
static uint8_t candidates[WORDS]; /* in how many operators this word matched */
static uint32_t seen, place;
static uint64_t learner;    /* the thread whose operators are searched; 0: none */
static bool itt_came_first; /* ITT reported the operator's begin first */
static _Atomic bool is_known;
static __thread int64_t pending = AUTOGRAD_NONE;
static __thread uint32_t pending_thread;

int64_t autograd_next(void)
{
    return LIKELY(atomic_load_explicit(&is_known, memory_order_acquire)) ? (int64_t)peek() : AUTOGRAD_NONE;
}

uint32_t autograd_thread(struct writer *writer)
{
    if (UNLIKELY(writer->framework_thread == 0 && atomic_load_explicit(&is_known, memory_order_acquire)))
        writer->framework_thread = (uint32_t)current_thread();
    return writer->framework_thread;
}

bool autograd_is_excluded(const struct writer *writer)
{
    return UNLIKELY(learner != 0 || writer->is_without_operators);
}

int64_t autograd_take_node(uint32_t *made_by)
{
    int64_t number = pending;
    *made_by = pending_thread;
    pending = AUTOGRAD_NONE;
    return number;
}

/* Does not fault at the end of memory: the object lies on a stack. */
static size_t read_words(const void *from, uint64_t *to, size_t words)
{
    struct iovec here = {to, words * 8}, there = {(void *)from, words * 8};
    ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    return got > 0 ? (size_t)got / 8 : 0;
}

static void *look(void **context, const void *function)
{
    uint64_t words[WORDS], expected = peek();
    size_t count = learner == current_thread() ? read_words(function, words, WORDS) : 0;
    *context = NULL;
    if (count == 0)
        return context;
    for (size_t i = 0; i < count; i++)
        candidates[i] += words[i] == expected;
    const char *name = name_of != NULL ? name_of(function) : NULL;
    named += name != NULL && strcmp(name, LEARNT) == 0;
    seen++;
    itt_came_first |= wl_self != NULL && wl_self->operator_depth > 0;
    return context;
}

static void *follow(void **context, const void *function)
{
    const uint64_t *words = function;
    uint64_t made_by = words[place + MADE_BY_WORDS];
    pending = (int64_t)words[place];
    pending_thread = made_by <= LARGEST ? (uint32_t)made_by : 0;
    *context = NULL;
    return context;
}

/* --- operators recorded by these callbacks, at half the cost of ITT, which asks for its state and a handle each time */

static void *begin_forward(void **context, const void *function)
{
    struct writer *writer = wl_writer();
    *context = NULL;
    if (LIKELY(writer != NULL))
        operator_begins(writer, wl_intern_recent(writer, name_of(function)), (int64_t)peek(), autograd_thread(writer));
    return context;
}

static void *begin_node(void **context, const void *function)
{
    const uint64_t *words = function;
    uint64_t made_by = words[place + MADE_BY_WORDS];
    struct writer *writer = wl_writer();
    *context = NULL;
    if (LIKELY(writer != NULL))
        operator_begins(writer, wl_intern_recent(writer, name_of(function)), -2 - (int64_t)words[place],
                        made_by <= LARGEST ? (uint32_t)made_by : 0);
    return context;
}

static void end_any(const void *function, void *context)
{
    (void)function, (void)context;
    struct writer *writer = wl_writer();
    if (LIKELY(writer != NULL))
        operator_ends(writer);
}

static uint64_t observe(void *(*start)(void **, const void *), void (*end)(const void *, void *), unsigned scopes)
{
    struct callback callback = {.start = start, .end = end, .sampling_probability = 1.0};
    for (unsigned scope = 0; scope < sizeof callback.scopes; scope++)
        callback.scopes[scope] = scopes >> scope & 1u;
    return add_callback(callback);
}

static bool find_functions(void)
{
#ifdef __x86_64__
    void *library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
#else
    void *library = NULL;
#endif
    if (library == NULL)
        return false;
    *(void **)&peek = dlsym(library, "_ZN2at15sequence_number4peekEv");
    *(void **)&current_thread = dlsym(library, "_ZN2at14RecordFunction15currentThreadIdEv");
    *(void **)&add_callback = dlsym(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
    *(void **)&name_of = dlsym(library, "_ZNK2at14RecordFunction4nameEv");
    *(void **)&remove_callback = dlsym(library, "_ZN2at14removeCallbackEm");
    return peek && current_thread && add_callback && remove_callback;
}

bool autograd_learn(void)
{
    if (handle != 0 || !find_functions())
        return false;
    memset(candidates, 0, sizeof candidates);
    seen = named = 0;
    itt_came_first = false;
    learner = current_thread();
    handle = observe(look, NULL, 1u << FUNCTION_SCOPE);
    return true;
}

/* Ends the search; whether it succeeded. */
static bool has_learnt(void)
{
    if (learner == 0)
        return false;
    learner = 0;
    remove_callback(handle);
    handle = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        if (seen >= 3 && candidates[i] == seen) {
            place = i;
            found++;
        }
    return found == 1 && !itt_came_first && place + MADE_BY_WORDS < WORDS;
}

bool autograd_follow(void)
{
    if (!has_learnt())
        return false;
    handle = observe(follow, NULL, 1u << BACKWARD_SCOPE);
    atomic_store_explicit(&is_known, true, memory_order_release);
    return true;
}

bool autograd_record(void)
{
    if (!has_learnt() || named != seen)
        return false;
    atomic_store_explicit(&is_known, true, memory_order_release);
    handle = observe(begin_node, end_any, 1u << BACKWARD_SCOPE);
    others = observe(begin_forward, end_any, ~(1u << BACKWARD_SCOPE));
    return true;
}

void autograd_exclude_thread(bool is_quiet)
{
    struct writer *writer = wl_writer();
    if (writer != NULL)
        writer->is_without_operators = is_quiet;
}

#define IS_CALLED UINT32_MAX
static _Atomic uint32_t left_to_pass; /* IS_CALLED while a thread calls `when_passed` */
static bool (*_Atomic when_passed)(void);

void autograd_call_after(uint32_t operators, bool (*then)(void))
{
    atomic_store(&when_passed, then);
    atomic_store(&left_to_pass, operators);
}

void autograd_count_operator(const struct writer *writer)
{
    uint32_t left = atomic_load_explicit(&left_to_pass, memory_order_relaxed);
    if (LIKELY(left == 0 || !writer->is_without_operators) || left == IS_CALLED)
        return;
    /* If two threads count at the same moment, one does: the bound need not be exact. */
    uint32_t next = left == 1 ? IS_CALLED : left - 1;
    if (!atomic_compare_exchange_strong(&left_to_pass, &left, next) || next != IS_CALLED)
        return;
    bool is_done = atomic_load(&when_passed)();
    /* Unless it was set again meanwhile. After a failure the next operator tries again. */
    atomic_compare_exchange_strong(&left_to_pass, &next, is_done ? 0 : 1);
}

void autograd_end(void)
{
    if (others == 0)
        return;
    remove_callback(handle);
    remove_callback(others);
    handle = others = 0;
}
