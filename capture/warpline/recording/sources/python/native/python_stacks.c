#define _GNU_SOURCE
#include "python_stacks.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "python_code.h"
#include "python_layout.h"
#include "python_memory.h"
#include "python_tasks.h"
#include "sandbox.h"
#include "spool_internal.h"

#define CODES (1u << 15)
#define NODE_BITS 18
#define NODES (1u << NODE_BITS)
#define RECENT 8192u

/* Pointers that distinguish a code object from a later one at the same address. */
struct identity {
    uintptr_t filename, qualname, linetable;
};

/* A code object, identified by its address and its pointers: addresses are used again when a function is gone. */
struct code {
    uintptr_t address;
    struct identity identity;
    uint32_t name, file;
    int32_t first_line;
};

/* A frame and the stack it stands on. */
struct node {
    uint32_t parent, code;
    uint32_t offset; /* of the instruction, in the code object */
    int32_t line;
};

struct tables {
    struct code codes[CODES]; /* index 0 is unused */
    struct node nodes[NODES];
    _Atomic uint32_t code_slots[CODES * 2], node_slots[NODES * 2];
    _Atomic uint64_t recent[RECENT];
};

static struct tables *tables; /* virtual memory until it is used; inherited by forked children */
static uint32_t code_count = 1, node_count = 1;
static _Atomic uint64_t refused;

uint64_t stacks_refused(void) { return atomic_load_explicit(&refused, memory_order_relaxed); }

static bool make_tables(void)
{
    if (__atomic_load_n(&tables, __ATOMIC_ACQUIRE) != NULL)
        return true;
    if (wl_is_confined())
        return false;
    spool_lock();
    if (tables == NULL) {
        void *memory = mmap(NULL, sizeof *tables, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                            -1, 0);
        if (memory != MAP_FAILED)
            __atomic_store_n(&tables, memory, __ATOMIC_RELEASE);
    }
    spool_unlock();
    return tables != NULL;
}

void stacks_prepare(void)
{
    if (python_is_readable())
        make_tables();
}

static inline uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t hash = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xd1b54a32d192ed03u;
    return hash ^ hash >> 29;
}

static void write_code(uint32_t id)
{
    const struct code *code = &tables->codes[id];
    struct record_python_code record = {id, code->name, code->file, code->first_line};
    spool_append_locked(SLOT_PYTHON_CODE, &record, sizeof record);
}

static void write_node(uint32_t id)
{
    const struct node *node = &tables->nodes[id];
    struct record_python_stack record = {id, node->parent, node->code, node->line};
    spool_append_locked(SLOT_PYTHON_STACK, &record, sizeof record);
}

void stacks_dump_locked(void)
{
    if (tables == NULL)
        return;
    for (uint32_t id = 1; id < code_count; id++)
        write_code(id);
    for (uint32_t id = 1; id < node_count; id++)
        write_node(id);
}

static inline struct identity load_identity(uintptr_t address)
{
    const char *memory = (const char *)address;
    struct identity identity;
    memcpy(&identity.filename, memory + python_layout.code_filename, sizeof identity.filename);
    memcpy(&identity.qualname, memory + python_layout.code_qualname, sizeof identity.qualname);
    memcpy(&identity.linetable, memory + python_layout.code_linetable, sizeof identity.linetable);
    return identity;
}

static uint32_t intern_text(uintptr_t text)
{
    char name[2048];
    size_t length = python_text(&python_layout, text, name, sizeof name);
    return length ? wl_intern(name, length) : wl_intern("?", 1);
}

static uint32_t code_id(uintptr_t address, const struct identity *identity)
{
    uint32_t mask = CODES * 2 - 1, i = (uint32_t)mixed(address, 0) & mask;
    for (;; i = (i + 1) & mask) {
        uint32_t id = atomic_load_explicit(&tables->code_slots[i], memory_order_acquire);
        if (id == 0)
            break;
        const struct code *known = &tables->codes[id];
        if (known->address == address && memcmp(&known->identity, identity, sizeof *identity) == 0)
            return id;
    }
    struct code code = {.address = address, .identity = *identity};
    if (!python_read(&code.first_line, address + python_layout.code_first_line, sizeof code.first_line))
        return 0;
    code.name = intern_text(identity->qualname);
    code.file = intern_text(identity->filename);
    spool_lock();
    uint32_t id = 0;
    /* Continues from the same slot, where another thread may have stored its own. A duplicate code object does no
     * harm. */
    while (atomic_load_explicit(&tables->code_slots[i], memory_order_relaxed) != 0)
        i = (i + 1) & mask;
    if (code_count < CODES) {
        id = code_count++;
        tables->codes[id] = code;
        if (spool_is_open_locked())
            write_code(id);
        atomic_store_explicit(&tables->code_slots[i], id, memory_order_release);
    }
    spool_unlock();
    return id;
}

static uint32_t node_id(uint32_t parent, uint32_t code, uintptr_t address, uintptr_t instruction)
{
    uint32_t offset = (uint32_t)(instruction - address);
    uint32_t mask = NODES * 2 - 1, i = (uint32_t)mixed((uint64_t)parent << 32 | code, offset) & mask;
    for (;; i = (i + 1) & mask) {
        uint32_t id = atomic_load_explicit(&tables->node_slots[i], memory_order_acquire);
        if (id == 0)
            break;
        const struct node *known = &tables->nodes[id];
        if (known->parent == parent && known->code == code && known->offset == offset)
            return id;
    }
    struct node node = {parent, code, offset, python_code_line(&python_layout, address, instruction)};
    spool_lock();
    uint32_t id = 0;
    while (atomic_load_explicit(&tables->node_slots[i], memory_order_relaxed) != 0)
        i = (i + 1) & mask;
    if (node_count < NODES) {
        id = node_count++;
        tables->nodes[id] = node;
        if (spool_is_open_locked())
            write_node(id);
        atomic_store_explicit(&tables->node_slots[i], id, memory_order_release);
    }
    spool_unlock();
    return id;
}

/* Hash of a frame and all frames below it. */
static inline uint64_t hash_of(uint64_t below, const struct stack_frame *frame, const struct identity *identity)
{
    uint64_t a = below ^ frame->code ^ (identity->linetable << 32 | identity->linetable >> 32);
    uint64_t b = frame->instruction ^ (identity->filename << 17 | identity->filename >> 47) ^
                 (identity->qualname << 41 | identity->qualname >> 23);
    __uint128_t product = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd1b54a32d192ed03u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Programs repeat a few stacks, and new ones share their lower frames. They are recognised by their hash alone; the
 * bits of it above the id are stored too. */
static inline uint32_t recent_stack(uint64_t hash)
{
    uint64_t found = atomic_load_explicit(&tables->recent[hash % RECENT], memory_order_relaxed);
    return (found ^ hash) >> NODE_BITS == 0 ? (uint32_t)(found % NODES) : 0;
}

static inline void keep_recent(uint64_t hash, uint32_t stack)
{
    atomic_store_explicit(&tables->recent[hash % RECENT], (hash & ~(uint64_t)(NODES - 1)) | stack,
                          memory_order_relaxed);
}

static uint32_t intern(const struct stack_frame *frames, const struct identity *identities, int depth)
{
    uint64_t hashes[STACK_DEPTH], hash = 0;
    uint32_t stack = 0;
    for (int i = depth - 1; i >= 0; i--)
        hashes[i] = hash = hash_of(hash, &frames[i], &identities[i]);
    int new = 0;
    while (new < depth && (stack = recent_stack(hashes[new])) == 0)
        new++;
    for (int i = new - 1; i >= 0; i--) { /* from the outermost */
        uint32_t code = code_id(frames[i].code, &identities[i]);
        uint32_t next = code ? node_id(stack, code, frames[i].code, frames[i].instruction) : 0;
        if (next == 0) {
            atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
            return stack;
        }
        stack = next;
        keep_recent(hashes[i], stack);
    }
    return stack;
}

/* Offset of the first field read from a code object. */
static uintptr_t first_field(void)
{
    uintptr_t first = python_layout.code_filename;
    if (python_layout.code_qualname < first)
        first = python_layout.code_qualname;
    return python_layout.code_linetable < first ? python_layout.code_linetable : first;
}

long stack_read_codes(struct stack_codes *codes, const struct stack_frame *frames, int depth, void *more,
                      const struct python_place *places, int count)
{
    uintptr_t first = first_field();
    struct iovec local[] = {{codes->fields, sizeof codes->fields[0] * (size_t)depth}, {more, 0}},
                 remote[STACK_DEPTH + 8];
    for (int i = 0; i < depth; i++)
        remote[i] = (struct iovec){(void *)(frames[i].code + first), CODE_SPAN};
    for (int i = 0; i < count; i++) {
        remote[depth + i] = (struct iovec){(void *)places[i].from, places[i].size};
        local[1].iov_len += places[i].size;
    }
    long size = python_copy(local, 2, remote, depth + count, local[0].iov_len + local[1].iov_len);
    return size < (long)local[0].iov_len ? -1 : size - (long)local[0].iov_len;
}

uint32_t stack_intern(const struct stack_codes *codes, const struct stack_frame *frames, int depth)
{
    struct identity identities[STACK_DEPTH];
    uintptr_t first = first_field();
    if (!make_tables())
        return 0;
    for (int i = 0; i < depth; i++) {
        const char *fields = codes->fields[i];
        memcpy(&identities[i].filename, fields + (python_layout.code_filename - first), sizeof(uintptr_t));
        memcpy(&identities[i].qualname, fields + (python_layout.code_qualname - first), sizeof(uintptr_t));
        memcpy(&identities[i].linetable, fields + (python_layout.code_linetable - first), sizeof(uintptr_t));
    }
    return intern(frames, identities, depth);
}

static inline uintptr_t load(uintptr_t from)
{
    uintptr_t value;
    memcpy(&value, (const void *)from, sizeof value);
    return value;
}

/* Not inlined into its callers, which may run on the small stack of a signal handler: only Python threads need this
 * much. */
static __attribute__((noinline)) uint32_t stack_from(uintptr_t frame, uint32_t *task)
{
    struct stack_frame frames[STACK_DEPTH];
    struct identity identities[STACK_DEPTH];
    int depth = 0;
    uintptr_t coroutine = 0;
    for (; frame != 0 && depth < STACK_DEPTH; frame = load(frame + python_layout.frame_previous)) {
        uint8_t owner = *(const uint8_t *)(frame + python_layout.frame_owner);
        if (owner >= OWNED_BY_C)
            continue; /* a C frame, or one of the interpreter itself */
        if (owner == OWNED_BY_GENERATOR)
            coroutine = frame;
        frames[depth].code = load(frame + python_layout.frame_code) & ~(uintptr_t)7;
        frames[depth].instruction = load(frame + python_layout.frame_instruction);
        identities[depth] = load_identity(frames[depth].code);
        depth++;
    }
    if (depth == 0 || !make_tables())
        return 0;
    int saved_errno = errno;
    python_reads_own = true;
    uint32_t stack = intern(frames, identities, depth);
    python_reads_own = false;
    if (task != NULL)
        *task = task_of_frame(coroutine);
    errno = saved_errno;
    return stack;
}

uint32_t stack_and_task(uint32_t *task)
{
    if (!python_is_readable())
        return 0;
    uintptr_t thread = (uintptr_t)python.this_thread_state();
    if (thread == 0)
        return 0;
    if (python_layout.thread_frame != 0)
        return stack_from(load(thread + python_layout.thread_frame), task);
    uintptr_t cframe = load(thread + python_layout.thread_cframe);
    return cframe ? stack_from(load(cframe + python_layout.cframe_frame), task) : 0;
}
