"""Layouts of records that all sources share, and of records of processes and threads; docs/spool.md lists them."""

from __future__ import annotations

from enum import IntEnum

from warpline.recording.spool.record_layout import RecordLayout

CLOCK_PAIR = 2
SOURCE_STATE = 3
RECORDING_STATE = 4
MESSAGE = 5
MARK = 6

COMM = 102
FORK = 103
EXIT = 104
PROCESS_SEEN = 105
THREAD_SEEN = 106
PROCESS_ENDED = 125


class Sighting(IntEnum):
    """Why a thread was recorded: it exists, it has ended, or it is part of the snapshot after a pause."""

    SEEN = 0
    GONE = 1
    SNAPSHOT = 2


clock_pair = RecordLayout([("monotonic_ns", "<u8"), ("realtime_ns", "<u8"), ("third_ns", "<u8")])
source_state = RecordLayout(
    [("name", "<u4"), ("enabled", "<u4"), ("reason", "<u4"), ("remedy", "<u4"), ("lost", "<u8")]
)
recording_state = RecordLayout([("time_ns", "<u8"), ("state", "<u4"), ("reason", "<u4")])
"""State as in the control page: 0 recording, 1 paused, 2 stopped."""
FOLLOWED = "capture range, as the recorder saw it"
"""The recorder's reason for a change that the program made. Its time is late, so it counts only if the program's own
record is missing."""
WARNING, LOSS = 1, 2  # severities of messages
message = RecordLayout([("time_ns", "<u8"), ("text", "<u4"), ("severity", "<u4")])
mark = RecordLayout([("time_ns", "<u8"), ("text", "<u4"), ("reserved", "<u4")])
"""A moment that somebody named from outside: ``warpline control mark``."""


comm = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("pid", "<u4"),
        ("tid", "<u4"),
        ("name", "<u4"),
        ("cpu", "<u2"),
        ("is_exec", "<u2"),
    ]
)
fork = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("pid", "<u4"),
        ("tid", "<u4"),
        ("parent_pid", "<u4"),
        ("parent_tid", "<u4"),
    ]
)
exit_ = RecordLayout([("time_ns", "<u8"), ("pid", "<u4"), ("tid", "<u4")])
process_seen = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("start_ns", "<u8"),
        ("pid", "<u4"),
        ("parent_pid", "<u4"),
        ("name", "<u4"),
        ("command", "<u4"),
    ]
)
"""A process found in /proc; ``start_ns`` is CLOCK_MONOTONIC, exact to a clock tick (10 ms)."""
thread_seen = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("start_ns", "<u8"),
        ("pid", "<u4"),
        ("tid", "<u4"),
        ("name", "<u4"),
        ("cpu", "<u2"),
        ("state", "u1"),
        ("event", "u1"),
    ]
)
"""A thread found in /proc. ``state`` is the letter of /proc/…/stat; ``event`` is a `Sighting`."""
process_ended = RecordLayout(
    [("time_ns", "<u8"), ("since_ns", "<u8"), ("cpu_ns", "<u8"), ("pid", "<u4"), ("reserved", "<u4")]
)
"""A process watched since ``since_ns`` has ended and freed its memory; ``cpu_ns`` is the CPU time of all its threads,
0 if unknown."""
