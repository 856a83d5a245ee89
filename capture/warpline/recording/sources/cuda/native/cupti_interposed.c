/* Stands in for the functions of libcupti in programs that the agent was preloaded into, so that the program's own
 * profiler and Warpline share one CUPTI. PyTorch is linked against libcupti: the loader finds the functions here first.
 * Paddle opens libcupti and looks them up with dlsym, which answers with these. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "cupti_family.h"
#include "cupti_internal.h"
#include "cupti_sharing.h"
#include "interpose.h"
#include "spool.h"

static bool is_wanted(void) { return atomic_load_explicit(&wl_control->sources, memory_order_relaxed) & SOURCE_CUDA; }

/* One function: `shared` is what happens while a recording is about CUDA; otherwise libcupti's own is called. Before
 * the program has loaded libcupti, CUPTI is not there yet. */
#define STAND_IN(name, parameters, arguments, shared)                         \
    EXPORT int name parameters                                                \
    {                                                                         \
        static int(*_Atomic own) parameters;                                  \
        if (!family_find())                                                   \
            return CUPTI_NOT_INITIALIZED;                                     \
        if (LIKELY(is_wanted()))                                              \
            return shared;                                                    \
        if (atomic_load(&own) == NULL) {                                      \
            void *found = cupti_symbol(cupti_open_loaded(), #name);           \
            int(*function) parameters;                                        \
            memcpy(&function, &found, sizeof found);                          \
            atomic_store(&own, function);                                     \
        }                                                                     \
        int(*function) parameters = atomic_load(&own);                        \
        return function != NULL ? function arguments : CUPTI_NOT_INITIALIZED; \
    }

static int subscribe(void **subscriber, cupti_callback callback, void *data)
{
    static char handle;
    int result = sharing_subscribe(PROGRAM, callback, data);
    if (result == CUPTI_OK && subscriber != NULL)
        *subscriber = &handle;
    return result;
}

STAND_IN(cuptiSubscribe, (void **subscriber, cupti_callback callback, void *data), (subscriber, callback, data),
         subscribe(subscriber, callback, data))
STAND_IN(cuptiUnsubscribe, (void *subscriber), (subscriber), sharing_unsubscribe(PROGRAM))
STAND_IN(cuptiEnableCallback, (uint32_t is_on, void *subscriber, uint32_t domain, uint32_t id),
         (is_on, subscriber, domain, id), sharing_enable_callback(PROGRAM, is_on != 0, domain, id))
STAND_IN(cuptiEnableDomain, (uint32_t is_on, void *subscriber, uint32_t domain), (is_on, subscriber, domain),
         sharing_enable_domain(PROGRAM, is_on != 0, domain))
STAND_IN(cuptiActivityRegisterCallbacks, (cupti_request request, cupti_complete complete), (request, complete),
         sharing_register_callbacks(PROGRAM, request, complete))
STAND_IN(cuptiActivityEnable, (uint32_t kind), (kind), sharing_enable(PROGRAM, kind, false))
STAND_IN(cuptiActivityEnableAndDump, (uint32_t kind), (kind), sharing_enable(PROGRAM, kind, true))
STAND_IN(cuptiActivityEnableContext, (void *context, uint32_t kind), (context, kind),
         sharing_enable_in_context(PROGRAM, context, kind))
STAND_IN(cuptiActivityDisable, (uint32_t kind), (kind), sharing_disable(PROGRAM, kind))
STAND_IN(cuptiActivityDisableContext, (void *context, uint32_t kind), (context, kind), sharing_disable(PROGRAM, kind))
STAND_IN(cuptiActivityFlushAll, (uint32_t flag), (flag), sharing_flush_all(PROGRAM, flag))
STAND_IN(cuptiActivityGetNextRecord, (uint8_t *buffer, size_t size, void **record), (buffer, size, record),
         family_next_record(buffer, size, record))
STAND_IN(cuptiActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped),
         (context, stream, dropped), family_dropped_records(context, stream, dropped))
STAND_IN(cuptiActivityPushExternalCorrelationId, (uint32_t kind, uint64_t id), (kind, id),
         family_push_external(kind, id))
STAND_IN(cuptiActivityPopExternalCorrelationId, (uint32_t kind, uint64_t *id), (kind, id),
         family_pop_external(kind, id))
STAND_IN(cuptiActivityRegisterTimestampCallback, (cupti_timestamp callback), (callback),
         sharing_register_timestamp(PROGRAM, callback))
STAND_IN(cuptiGetTimestamp, (uint64_t *time), (time), sharing_get_timestamp(PROGRAM, time))
STAND_IN(cuptiSetThreadIdType, (uint32_t type), (type), sharing_set_thread_id_type(PROGRAM, type))
STAND_IN(cuptiFinalize, (void), (), sharing_finalize(PROGRAM))

#define NAMED(name) {#name, (void *)name}
static const struct {
    const char *name;
    void *function;
} stand_ins[] = {
    NAMED(cuptiSubscribe),
    NAMED(cuptiUnsubscribe),
    NAMED(cuptiEnableCallback),
    NAMED(cuptiEnableDomain),
    NAMED(cuptiActivityRegisterCallbacks),
    NAMED(cuptiActivityEnable),
    NAMED(cuptiActivityEnableAndDump),
    NAMED(cuptiActivityEnableContext),
    NAMED(cuptiActivityDisable),
    NAMED(cuptiActivityDisableContext),
    NAMED(cuptiActivityFlushAll),
    NAMED(cuptiActivityGetNextRecord),
    NAMED(cuptiActivityGetNumDroppedRecords),
    NAMED(cuptiActivityPushExternalCorrelationId),
    NAMED(cuptiActivityPopExternalCorrelationId),
    NAMED(cuptiActivityRegisterTimestampCallback),
    NAMED(cuptiGetTimestamp),
    NAMED(cuptiSetThreadIdType),
    NAMED(cuptiFinalize),
};

/* --- dlsym */

typedef void *(*lookup_function)(void *handle, const char *name);

/* The next definition of dlsym: since glibc 2.34 in libc, before in libdl. Read by the assembly below. */
lookup_function cupti_next_dlsym __attribute__((visibility("hidden")));

/* Sanitizers look functions up before they are ready for instrumented code. */
#define BEFORE_SANITIZERS __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))

BEFORE_SANITIZERS static lookup_function next_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    lookup_function next = __atomic_load_n(&cupti_next_dlsym, __ATOMIC_RELAXED);
    for (size_t i = 0; next == NULL && i < sizeof versions / sizeof versions[0]; i++) {
        void *found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        memcpy(&next, &found, sizeof found);
        __atomic_store_n(&cupti_next_dlsym, next, __ATOMIC_RELAXED);
    }
    return next;
}

void *cupti_symbol(void *library, const char *name)
{
    lookup_function next = next_dlsym();
    return library != NULL && next != NULL ? next(library, name) : NULL;
}

bool cupti_is_preloaded(void)
{
    return cupti_symbol(dlopen(NULL, RTLD_LAZY), "cuptiSubscribe") == (void *)cuptiSubscribe;
}

BEFORE_SANITIZERS static bool is_of_cupti(const char *name)
{
    static const char prefix[] = "cupti";
    for (size_t i = 0; i + 1 < sizeof prefix; i++)
        if (name[i] != prefix[i])
            return false;
    return true;
}

/* What the program's dlsym returns; NULL: what the next dlsym returns. */
BEFORE_SANITIZERS __attribute__((visibility("hidden"), used)) void *cupti_answer_to_dlsym(void *handle,
                                                                                          const char *name)
{
    next_dlsym();
    if (LIKELY(name == NULL || !is_of_cupti(name)) || wl_quiet || !is_wanted() || handle == RTLD_NEXT ||
        handle == RTLD_DEFAULT)
        return NULL;
    for (size_t i = 0; i < sizeof stand_ins / sizeof stand_ins[0]; i++)
        if (strcmp(stand_ins[i].name, name) == 0)
            return cupti_symbol(handle, name) != NULL ? stand_ins[i].function : NULL;
    return NULL;
}

/* dlsym(RTLD_NEXT, …) depends on who called, which the next dlsym reads from its return address. So it is not called
 * but jumped to. */
/* clang-format off */
#if defined __x86_64__
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "pushq %rdi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "pushq %rsi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "call cupti_answer_to_dlsym\n"
        "addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "popq %rsi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "popq %rdi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "testq %rax, %rax\n"
        "jne 1f\n"
        "movq cupti_next_dlsym(%rip), %r11\n"
        "testq %r11, %r11\n"
        "je 1f\n"
        "jmp *%r11\n"
        "1: ret\n"
        ".cfi_endproc\n"
        ".size dlsym, .-dlsym\n");
#elif defined __aarch64__
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "hint #34\n" /* bti c */
        "stp x29, x30, [sp, #-32]!\n"
        ".cfi_def_cfa_offset 32\n"
        ".cfi_offset x29, -32\n"
        ".cfi_offset x30, -24\n"
        "stp x0, x1, [sp, #16]\n"
        "bl cupti_answer_to_dlsym\n"
        "mov x16, x0\n"
        "ldp x0, x1, [sp, #16]\n"
        "ldp x29, x30, [sp], #32\n"
        ".cfi_def_cfa_offset 0\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n"
        "cbnz x16, 1f\n"
        "adrp x17, cupti_next_dlsym\n"
        "ldr x16, [x17, :lo12:cupti_next_dlsym]\n"
        "cbz x16, 1f\n"
        "br x16\n"
        "1: mov x0, x16\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size dlsym, .-dlsym\n");
#endif
/* clang-format on */
