/* Records of no particular source: clocks, and the state of a source. */
#include <errno.h>
#include <string.h>

#include "spool_internal.h"

void spool_write_common(enum slot slot, const void *record, size_t size)
{
    int saved_errno = errno;
    spool_lock();
    spool_append_locked(slot, record, size);
    spool_unlock();
    errno = saved_errno;
}

struct record_clock_pair spool_read_clocks(void)
{
    /* The middle of two reads, from the closest of several: a preemption between them would be an error. */
    struct record_clock_pair pair = {0};
    uint64_t closest = UINT64_MAX;
    for (int i = 0; i < 10 && closest > 1000; i++) {
        uint64_t before = wl_clock(CLOCK_MONOTONIC);
        uint64_t realtime = wl_clock(CLOCK_REALTIME);
        uint64_t gap = wl_clock(CLOCK_MONOTONIC) - before;
        if (gap < closest) {
            closest = gap;
            pair.monotonic_ns = before + gap / 2;
            pair.realtime_ns = realtime;
        }
    }
    return pair;
}

void wl_write_clock_pair(uint64_t third_ns)
{
    struct record_clock_pair pair = spool_read_clocks();
    pair.third_ns = third_ns;
    spool_write_common(SLOT_CLOCK_PAIR, &pair, sizeof pair);
}

void wl_write_source_state(const char *name, bool is_enabled, const char *reason, const char *remedy, uint64_t lost)
{
    struct record_source_state state = {
        wl_intern(name, strlen(name)),     is_enabled, wl_intern(reason, strlen(reason)),
        wl_intern(remedy, strlen(remedy)), lost,
    };
    spool_write_common(SLOT_SOURCE_STATE, &state, sizeof state);
}
