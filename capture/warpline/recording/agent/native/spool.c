#define _GNU_SOURCE
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose.h"
#include "own_threads.h"
#include "sandbox.h"
#include "source_hooks.h"
#include "spool_internal.h"

#define FIRST_CHUNK (16u << 10)
/* A chunk's pages are populated at once. CUPTI's own thread may take longer for that than a thread of the program. */
#define LARGEST_CHUNK (256u << 10)
#define LARGEST_CUPTI_CHUNK (1u << 20)
#define CHUNK_MAGIC 0x4b4e4843u
#define KEYS_IN_THREAD 32
#define LARGEST_CONFINED_CHUNK (64u << 10) /* in a sandbox */

static const uint32_t slot_type[SLOT_COUNT] = {
#define SLOT(name) [SLOT_##name] = RECORD_##name,
    SLOTS(SLOT)
#undef SLOT
};

__thread struct writer *wl_self __attribute__((tls_model("initial-exec")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT, prepared = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static bool is_prepared, is_usable;
static char *folder;

static struct file_header *header; /* mapped; NULL until the first record */
static char path[4096];
static int failure;                    /* errno that ended writing; 0 while all is well */
static _Atomic uint64_t lost_unmapped; /* records lost while there was no header */
static struct cursor strings;
static struct writer *writers;
static struct writer *ended_writers; /* of threads that ended in a sandbox, where memory is not given back */
static uint32_t last_serial;
static struct writer common;    /* for records written under the lock */
static bool is_born_confined;   /* a child forked in a sandbox, which has written nothing yet */
static uint32_t parent_process; /* of a child forked in a sandbox; 0 otherwise */

/* Neither waits for our lock nor files opened under it are the program's. */
void spool_lock(void)
{
    wl_quiet++;
    wl_lock(&lock);
}

void spool_unlock(void)
{
    pthread_mutex_unlock(&lock);
    wl_quiet--;
}

bool spool_is_open_locked(void) { return header != NULL; }

void wl_count_lost(uint64_t records)
{
    /* The header is never unmapped while threads run, so this needs no lock. */
    struct file_header *to = __atomic_load_n(&header, __ATOMIC_ACQUIRE);
    atomic_fetch_add_explicit(to ? &to->lost : &lost_unmapped, records, memory_order_relaxed);
}

bool spool_fail_locked(int error)
{
    failure = error ? error : EIO;
    if (header != NULL)
        atomic_store_explicit(&header->error, (uint32_t)failure, memory_order_relaxed);
    return false;
}

int spool_open_file_locked(int flags) { return open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | flags, 0600); }

void *spool_map_locked(uint64_t offset, size_t size, int flags)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        offset + size > limit.rlim_cur) { /* growing beyond it would raise SIGXFSZ */
        spool_fail_locked(EFBIG);
        return NULL;
    }
    int fd = spool_open_file_locked(flags);
    if (fd < 0) {
        spool_fail_locked(errno);
        return NULL;
    }
    void *memory = MAP_FAILED;
    int error = spool_reserve_pages(fd, offset, size);
    if (error == 0) {
        memory = spool_map_pages(fd, offset, size);
        error = memory == MAP_FAILED ? errno : 0;
    }
    close(fd);
    if (error != 0) {
        spool_fail_locked(error);
        return NULL;
    }
    return memory;
}

static bool open_locked(void)
{
    struct record_clock_pair pair = spool_read_clocks();
    int length = snprintf(path, sizeof path, "%s/agent.%d.%llu.spool", folder, (int)getpid(),
                          (unsigned long long)pair.monotonic_ns);
    if (length < 0 || (size_t)length >= sizeof path)
        return spool_fail_locked(ENAMETOOLONG);
    struct file_header *made = spool_map_locked(0, PAGE, O_CREAT | O_EXCL);
    if (made == NULL)
        return false;
    made->version = 1;
    made->pid = (uint32_t)getpid();
    made->monotonic_ns = pair.monotonic_ns;
    made->realtime_ns = pair.realtime_ns;
    made->parent_pid = (uint64_t)getppid();
    made->size_cap = atomic_load_explicit(&wl_control->size_cap, memory_order_relaxed);
    strcpy(made->producer, "agent");
    atomic_store_explicit(&made->next, PAGE, memory_order_relaxed);
    atomic_store_explicit(&made->lost, atomic_exchange(&lost_unmapped, 0), memory_order_relaxed);
    uint64_t magic;
    memcpy(&magic, "WLSPOOL1", sizeof magic);
    /* Written last: a reader that sees it sees the rest. */
    __atomic_store_n((uint64_t *)(void *)made->magic, magic, __ATOMIC_RELEASE);
    __atomic_store_n(&header, made, __ATOMIC_RELEASE);

    strings_dump_locked();
    CALL_SOURCES(file_opened_locked);
    definitions_dump_locked();
    spool_append_locked(SLOT_CLOCK_PAIR, &pair, sizeof pair);
    return true;
}

struct file_header *spool_header_locked(void)
{
    return failure == 0 && (header != NULL || open_locked()) ? header : NULL;
}

static void unmap_chunk(struct cursor *cursor, bool is_done)
{
    if (cursor->chunk != NULL) {
        cursor->chunk->is_closed |= is_done;
        if (!wl_is_confined())
            munmap(cursor->chunk, cursor->chunk->size);
    }
    cursor->chunk = NULL;
    cursor->position = cursor->end = NULL;
}

static struct chunk_header *map_chunk_locked(uint64_t size)
{
    uint64_t offset = atomic_load_explicit(&header->next, memory_order_relaxed);
    if (header->size_cap != 0 && offset + size > header->size_cap) {
        spool_fail_locked(EFBIG);
        return NULL;
    }
    struct chunk_header *chunk = spool_map_locked(offset, size, 0);
    if (chunk != NULL)
        atomic_store_explicit(&header->next, offset + size, memory_order_release);
    return chunk;
}

/* A child forked in a sandbox writes into its parent's file: it may not open one. */
static void begin_child_locked(void)
{
    is_born_confined = false;
    CALL_SOURCES(file_opened_locked);
    definitions_dump_locked();
}

/* Gives `cursor` a new chunk with room for `need` bytes or more. The old one is complete and is unmapped. */
static bool allocate_locked(struct cursor *cursor, uint32_t type, uint32_t record_size, size_t need, uint32_t tid,
                            uint64_t free_field)
{
    if (failure != 0 || (header == NULL && (wl_is_confined() || !open_locked())))
        return false;
    if (UNLIKELY(is_born_confined))
        begin_child_locked();
    if (cursor->position != NULL && cursor->position + need <= cursor->end)
        return true; /* opening the file made room here */
    uint64_t size = cursor->next_size ? cursor->next_size : FIRST_CHUNK;
    uint64_t least = (sizeof(struct chunk_header) + need + PAGE - 1) / PAGE * PAGE;
    if (wl_is_confined() && size > LARGEST_CONFINED_CHUNK)
        size = LARGEST_CONFINED_CHUNK;
    if (size < least)
        size = least;
    struct chunk_header *chunk = wl_is_confined() ? spool_take_ready(header, size) : map_chunk_locked(size);
    if (chunk == NULL)
        return false;
    unmap_chunk(cursor, true);
    chunk->type = type;
    chunk->record_size = record_size;
    chunk->tid = tid;
    chunk->size = size;
    chunk->free = free_field;
    chunk->process = parent_process != 0 ? (uint32_t)wl_process : 0;
    chunk->parent = parent_process;
    atomic_store_explicit(&chunk->magic, CHUNK_MAGIC, memory_order_release);
    cursor->chunk = chunk;
    cursor->position = (uint8_t *)(chunk + 1);
    cursor->end = (uint8_t *)chunk + size;
    if (size < (type >= RECORD_CUPTI_KERNEL ? LARGEST_CUPTI_CHUNK : LARGEST_CHUNK))
        cursor->next_size = (uint32_t)size * 2;
    return true;
}

void *wl_next_chunk(struct writer *writer, enum slot slot, size_t size)
{
    if (writer->is_busy) { /* called from a signal handler that interrupted this function */
        wl_count_lost(1);
        return NULL;
    }
    int saved_errno = errno;
    writer->is_busy = true;
    spool_lock();
    struct cursor *cursor = &writer->cursors[slot];
    bool is_there = allocate_locked(cursor, slot_type[slot], (uint32_t)size, size, writer->tid, writer->serial);
    spool_unlock();
    writer->is_busy = false;
    errno = saved_errno;
    if (is_there)
        return cursor->position;
    wl_count_lost(1);
    return NULL;
}

bool spool_append_string_locked(uint32_t id, const char *text, uint32_t length)
{
    size_t size = (8 + (size_t)length + 7) & ~(size_t)7;
    if (strings.position == NULL || strings.position + size > strings.end) {
        if (!allocate_locked(&strings, RECORD_STRING, 0, size, 0, 0)) {
            wl_count_lost(1);
            return false;
        }
    }
    memcpy(strings.position, &id, 4);
    memcpy(strings.position + 4, &length, 4);
    memcpy(strings.position + 8, text, length); /* the padding is already zero, as all pages of a grown file */
    strings.position += size;
    atomic_store_explicit(&strings.chunk->committed, (uint64_t)(strings.position - (uint8_t *)(strings.chunk + 1)),
                          memory_order_release);
    return true;
}

void *spool_append_locked(enum slot slot, const void *record, size_t size)
{
    struct cursor *cursor = &common.cursors[slot];
    if (cursor->position == NULL || cursor->position + size > cursor->end) {
        cursor->next_size = cursor->next_size ? cursor->next_size : PAGE;
        if (!allocate_locked(cursor, slot_type[slot], (uint32_t)size, size, 0, 0)) {
            wl_count_lost(1);
            return NULL;
        }
    }
    void *to = memcpy(cursor->position, record, size);
    wl_commit(&common, slot, size);
    return to;
}

void spool_keep_chunk_locked(enum slot slot, size_t size)
{
    struct cursor *cursor = &common.cursors[slot];
    if (cursor->position + size > cursor->end)
        memset(cursor, 0, sizeof *cursor);
}

void wl_mark_finished(void)
{
    struct file_header *to = __atomic_load_n(&header, __ATOMIC_ACQUIRE);
    if (to != NULL && parent_process == 0)
        atomic_store_explicit(&to->finished, 1, memory_order_release);
}

static void release_writer_locked(struct writer *writer)
{
    for (int slot = 0; slot < SLOT_COUNT; slot++)
        unmap_chunk(&writer->cursors[slot], true);
    waiting_give_back_locked(writer);
    if (writer->previous != NULL)
        writer->previous->next = writer->next;
    else
        writers = writer->next;
    if (writer->next != NULL)
        writer->next->previous = writer->previous;
    if (wl_is_confined()) {
        writer->next = ended_writers;
        __atomic_store_n(&ended_writers, writer, __ATOMIC_RELAXED);
        return;
    }
    wl_release(writer->domains);
    wl_release(writer->operators);
    wl_release(writer->events);
    wl_release(writer->recent_names);
    wl_release(writer);
}

/* Takes the writer of an ended thread, with the memory that it had for open ranges and recent names. */
static struct writer *reuse_writer(void)
{
    if (LIKELY(__atomic_load_n(&ended_writers, __ATOMIC_RELAXED) == NULL))
        return NULL;
    spool_lock();
    struct writer *writer = ended_writers;
    if (writer != NULL)
        __atomic_store_n(&ended_writers, writer->next, __ATOMIC_RELAXED);
    spool_unlock();
    if (writer == NULL)
        return NULL;
    struct open_ranges *domains = writer->domains;
    struct open_operator *operators = writer->operators;
    struct open_event *events = writer->events;
    struct recent_name *recent_names = writer->recent_names;
    uint32_t domain_count = writer->domain_count, operator_room = writer->operator_room,
             event_room = writer->event_room;
    memset(writer, 0, sizeof *writer);
    for (uint32_t i = 0; i < domain_count; i++)
        domains[i] = (struct open_ranges){0, NVTX_LEVEL_UNBALANCED, 0};
    writer->domains = domains;
    writer->domain_count = domain_count;
    writer->operators = operators;
    writer->operator_room = operator_room;
    writer->events = events;
    writer->event_room = event_room;
    writer->recent_names = recent_names;
    return writer;
}

static void on_thread_end(void *writer)
{
    wl_self = NULL;
    spool_lock();
    release_writer_locked(writer);
    spool_unlock();
}

struct writer *wl_create_writer(void)
{
    int saved_errno = errno;
    wl_note_thread();
    struct writer *writer = reuse_writer();
    if (writer == NULL)
        writer = wl_allocate(sizeof *writer);
    if (writer != NULL) {
        writer->tid = wl_thread_id();
        spool_lock();
        writer->serial = ++last_serial;
        writer->next = writers;
        if (writers != NULL)
            writers->previous = writer;
        writers = writer;
        spool_unlock();
        /* The C library has room in the thread for its first keys, and allocates it for others. */
        if (!wl_is_confined() || thread_end < KEYS_IN_THREAD)
            pthread_setspecific(thread_end, writer);
        wl_self = writer;
    }
    errno = saved_errno;
    return writer;
}

static void before_fork(void) { spool_lock(); }
static void after_fork_in_parent(void) { spool_unlock(); }

/* The child opens its own file with its first record. The parent's file is shared memory, so the child unmaps it.
 * Levels of open ranges stay, because the child will pop them. */
static void after_fork_in_child(void)
{
    struct writer *own = wl_self;
    wl_forget_threads();
    wl_renew_sandbox_lock();
    if (wl_is_confined()) {
        parent_process = (uint32_t)wl_process;
        is_born_confined = header != NULL;
        wl_process = (int)wl_thread_id();
    } else {
        wl_process = (int)getpid();
    }
    waiting_forget_all();
    for (struct writer *writer = writers; writer != NULL; writer = writer->next)
        writer->waiting = NULL;
    for (struct writer *writer = writers, *next; writer != NULL; writer = next) {
        next = writer->next;
        for (int slot = 0; slot < SLOT_COUNT; slot++)
            unmap_chunk(&writer->cursors[slot], false);
        if (writer != own)
            release_writer_locked(writer);
    }
    for (int slot = 0; slot < SLOT_COUNT; slot++)
        unmap_chunk(&common.cursors[slot], false);
    unmap_chunk(&strings, false);
    if (own != NULL) {
        memset(own->cursors, 0, sizeof own->cursors);
        own->tid = wl_thread_id();
        own->is_busy = false;
    }
    memset(common.cursors, 0, sizeof common.cursors);
    memset(&strings, 0, sizeof strings);
    if (!wl_is_confined()) {
        if (header != NULL)
            munmap(header, PAGE);
        header = NULL;
        failure = 0;
        atomic_store(&lost_unmapped, 0);
    }
    spool_unlock();
}

static void prepare_once(void)
{
    is_prepared = pthread_key_create(&thread_end, on_thread_end) == 0 &&
                  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0 &&
                  atexit(wl_mark_finished) == 0;
}

/* A relative path would break when the program changes its directory. */
static bool set_folder_locked(const char *directory)
{
    char *copy = directory != NULL && directory[0] == '/' ? strdup(directory) : NULL;
    if (copy == NULL || !spool_map_control(copy)) {
        free(copy);
        return false;
    }
    free(folder);
    folder = copy;
    return true;
}

static void start_once(void)
{
    int saved_errno = errno;
    pthread_once(&prepared, prepare_once);
    is_usable = is_prepared && getenv(CONFINED_VARIABLE) == NULL && set_folder_locked(getenv("WARPLINE_SPOOL"));
    errno = saved_errno;
}

bool wl_start(void)
{
    pthread_once(&once, start_once);
    return is_usable;
}

/* Other threads keep writing to their old chunks, which stay mapped until they need the next one. */
bool wl_join(const char *directory)
{
    int saved_errno = errno;
    wl_start();
    spool_lock();
    bool is_joined = is_prepared && !wl_is_confined() && set_folder_locked(directory);
    if (is_joined) {
        wl_mark_finished();
        for (struct writer *writer = writers; writer != NULL; writer = writer->next)
            for (int slot = 0; slot < SLOT_COUNT; slot++)
                __atomic_store_n(&writer->cursors[slot].end, NULL, __ATOMIC_RELAXED);
        /* Old records may still be pointed at, and lost records are counted without the lock: both stay mapped. */
        memset(common.cursors, 0, sizeof common.cursors);
        unmap_chunk(&strings, false);
        __atomic_store_n(&header, NULL, __ATOMIC_RELEASE);
        failure = 0;
        is_usable = true;
    }
    spool_unlock();
    errno = saved_errno;
    return is_joined;
}
