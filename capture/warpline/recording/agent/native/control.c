/* The page shared with the recorder: the recording state, and capture ranges. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
