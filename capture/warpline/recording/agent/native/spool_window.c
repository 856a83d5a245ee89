/* What a process prepares of its spool file before it enters a sandbox, in which it may map and allocate nothing: the
 * rest of the file, mapped far beyond its end, from which chunks are taken without a system call. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spool_internal.h"

/* What is allocated at first, and the largest mapping. */
#define READY_BYTES (1u << 20)
#define LARGEST_WINDOW (1ull << 30)

static struct file_header *file; /* whose rest is mapped */
static uint8_t *window;
static uint64_t window_offset, window_size; /* in the file */

/* Takes a chunk from the window. Forked children share it, so the file's own counter decides who gets what. NULL if the
 * recorder has allocated no more: that is no failure, because it may later. */
struct chunk_header *spool_take_ready(struct file_header *header, uint64_t size)
{
    uint64_t offset = atomic_load_explicit(&header->next, memory_order_relaxed);
    do {
        if (window == NULL || offset < window_offset ||
            offset + size > atomic_load_explicit(&header->allocated, memory_order_acquire))
            return NULL;
    } while (!atomic_compare_exchange_weak(&header->next, &offset, offset + size));
    return (struct chunk_header *)(void *)(window + (offset - window_offset));
}

/* Maps the rest of the file far beyond its end. Its first bytes are allocated here, the others by the recorder. */
static bool map_window_locked(struct file_header *header)
{
    uint64_t offset = atomic_load_explicit(&header->next, memory_order_relaxed), ready = READY_BYTES;
    if (header->size_cap != 0 && offset + ready > header->size_cap)
        ready = (header->size_cap > offset ? header->size_cap - offset : 0) / PAGE * PAGE;
    uint8_t *first = ready != 0 ? spool_map_locked(offset, ready, 0) : NULL;
    if (first == NULL)
        return false;
    munmap(first, ready);
    int fd = spool_open_file_locked(0);
    if (fd < 0)
        return spool_fail_locked(errno);
    void *memory = MAP_FAILED;
    uint64_t size = LARGEST_WINDOW;
    for (; memory == MAP_FAILED && size >= ready; size /= 2)
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    close(fd);
    if (memory == MAP_FAILED)
        return spool_fail_locked(ENOMEM);
    file = header;
    window = memory;
    window_offset = offset;
    window_size = size * 2;
    atomic_store_explicit(&header->allocated, offset + ready, memory_order_release);
    return true;
}

bool spool_confine(struct writer *writer)
{
    spool_lock();
    struct file_header *header = spool_header_locked();
    bool is_ready = header != NULL && map_window_locked(header);
    spool_unlock();
    if (!is_ready)
        return false;
    if (writer->waiting == NULL)
        wl_make_waiting(writer);
    return true;
}

void spool_announce_confined(void)
{
    uint64_t none = 0;
    if (window != NULL && atomic_compare_exchange_strong(&file->mapped, &none, window_offset + window_size))
        atomic_fetch_add(&wl_control->confined, 1);
}

/* Chunks that were taken meanwhile stay mapped until they are full. */
void spool_leave_window(void)
{
    spool_lock();
    if (window != NULL) {
        uint64_t taken = atomic_load_explicit(&file->next, memory_order_relaxed) - window_offset;
        atomic_store(&file->allocated, 0);
        munmap(window + taken, window_size - taken);
        window = NULL;
    }
    spool_unlock();
}
