/* The page shared with the recorder: the recording state, and capture ranges. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox.h"
#include "spool_internal.h"

static struct control_page stopped = {.state = STATE_STOPPING};
struct control_page *wl_control = &stopped;
int wl_process;

bool spool_map_control(const char *folder)
{
    char name[4096];
    int length = snprintf(name, sizeof name, "%s/control", folder);
    if (length < 0 || (size_t)length >= sizeof name)
        return false;
    int fd = open(name, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    if (fd < 0)
        return false;
    void *memory = MAP_FAILED;
    if (fstat(fd, &status) == 0 && status.st_size >= (off_t)PAGE)
        memory = spool_map_pages(fd, 0, PAGE);
    close(fd);
    if (memory == MAP_FAILED)
        return false;
    if (memcmp(memory, "WLCTRL01", 8) != 0) {
        munmap(memory, PAGE);
        return false;
    }
    wl_process = (int)getpid();
    wl_control = memory;
    return true;
}

static struct control_page *left_control; /* the session's page, while nothing is recorded */

void spool_leave_control(void)
{
    left_control = wl_control;
    wl_control = &stopped;
}

void spool_return_control(void)
{
    if (left_control != NULL)
        wl_control = left_control;
    left_control = NULL;
}

void wl_capture_range(bool is_start)
{
    const uint32_t from = is_start ? STATE_PAUSED : STATE_RECORDING, to = is_start ? STATE_RECORDING : STATE_PAUSED;
    uint64_t now, old = atomic_load(&wl_control->change);
    /* The clock is read between the previous change and this one; a changed epoch shows that another change came
     * between. So times are in the order of the changes, across threads and processes. */
    do {
        /* Not while stopping: a program that ends its range then must not resume the recording. */
        if (old >> 32 != from)
            return;
        now = wl_clock(CLOCK_MONOTONIC);
    } while (!atomic_compare_exchange_weak(&wl_control->change, &old, (uint64_t)to << 32 | (uint32_t)(old + 1)));
    atomic_store(&wl_control->changed_ns, now);
    static const char reason[] = "capture range";
    struct record_recording_state record = {now, to, wl_intern(reason, sizeof reason - 1)};
    spool_write_common(SLOT_RECORDING_STATE, &record, sizeof record);
}

/* Replaces the first such value of the threads inside a snapshot's steps; whether there is one. */
static bool replace_inside(struct control_page *page, uint64_t old, uint64_t new)
{
    for (size_t i = 0; i < sizeof page->inside / sizeof page->inside[0]; i++) {
        uint64_t expected = old;
        if (atomic_compare_exchange_strong(&page->inside[i], &expected, new))
            return true;
    }
    return false;
}

static bool is_anybody_inside(struct control_page *page)
{
    for (size_t i = 0; i < sizeof page->inside / sizeof page->inside[0]; i++)
        if (atomic_load(&page->inside[i]) != 0)
            return true;
    return false;
}

void wl_step_ended(uint64_t count)
{
    static __thread uint64_t leaves_at, entered_as; /* 0: outside */
    struct control_page *page = wl_control;
    uint64_t self = (uint64_t)wl_process << 32 | wl_thread_id();
    if (entered_as != self) /* a forked child is not in the steps of its parent */
        leaves_at = 0;
    uint64_t most = atomic_load(&page->steps);
    while (most < count && !atomic_compare_exchange_weak(&page->steps, &most, count))
        ;
    uint64_t until = atomic_load(&page->until_step);
    if (leaves_at != 0 && (count >= leaves_at || until != leaves_at)) { /* over, or taken back */
        leaves_at = 0;
        /* The last one switches off: every process has all steps that it began. What died inside them stays, and the
         * recorder ends the snapshot. */
        if (replace_inside(page, self, 0) && !is_anybody_inside(page)) {
            wl_capture_range(false);
            if (is_anybody_inside(page)) /* it came between */
                wl_capture_range(true);
        }
    }
    if (leaves_at == 0 && count < until && count >= atomic_load(&page->first_step)) {
        if (!replace_inside(page, 0, self))
            return;
        leaves_at = until, entered_as = self;
        uint64_t never = 0;
        atomic_compare_exchange_strong(&page->began_ns, &never, wl_clock(CLOCK_MONOTONIC));
        wl_capture_range(true);
    }
}
