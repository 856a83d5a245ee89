"""Layouts of the samples of /proc in spool files; docs/spool.md lists them."""

from __future__ import annotations

from warpline.recording.spool.record_layout import RecordLayout

THREAD_SAMPLE = 120
CORE_TIMES = 121
PROCESS_SAMPLE = 122
STANDSTILL = 123
PAGE_FAULTS = 126
ALLOWED_CORES = 127

thread_sample = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("run_ns", "<u8"),
        ("wait_ns", "<u8"),
        ("slices", "<u8"),
        ("pid", "<u4"),
        ("tid", "<u4"),
        ("cpu", "<u2"),
        ("state", "u1"),
        ("reserved", "u1", (5,)),
    ]
)
"""/proc/PID/task/TID/schedstat (cumulative) with the state letter and last core of /proc/PID/task/TID/stat."""
core_times = RecordLayout(
    [("time_ns", "<u8"), ("cpu", "<u4"), ("reserved", "<u4"), ("busy", "<u8"), ("total", "<u8")]
)
"""/proc/stat of one core, cumulative clock ticks; iowait counts as not busy."""
process_sample = RecordLayout(
    [("time_ns", "<u8"), ("cpu_ns", "<u8"), ("rss_bytes", "<u8"), ("pid", "<u4"), ("within_ns", "<u4")]
)
"""CPU time of all threads a process ever had, read at ``time_ns`` ± ``within_ns`` and up to a tick old."""
standstill = RecordLayout(
    [
        ("since_ns", "<u8"),
        ("time_ns", "<u8"),
        ("argument", "<u8"),
        ("pid", "<u4"),
        ("tid", "<u4"),
        ("system_call", "<i4"),
        ("where", "<u4"),
        ("text", "<u4"),
        ("second", "<u4"),
    ]
)
"""A thread that has not run since ``since_ns``: /proc/PID/task/TID/syscall and wchan, and the target of the descriptor
in the call's first argument."""
page_faults = RecordLayout(
    [("time_ns", "<u8"), ("minor", "<u8"), ("major", "<u8"), ("pid", "<u4"), ("each_ns", "<u4")]
)
"""Page faults of a process, cumulative, and the machine's cost of one without reading from a disk."""
allowed_cores = RecordLayout([("time_ns", "<u8"), ("pid", "<u4"), ("cores", "<u4")])
"""The cores on which a process may run from now on (sched_getaffinity): space-separated numbers."""
