"""A capture of two threads that fight for a lock, with everything known about each wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from warpline.model import Flag
from warpline.model.waits import WaitKind
from warpline.storage import CaptureBuilder

US = 1_000
MS = 1_000_000
FIGHTERS = "process/71.1/thread/{}.1"
LIBRARY = "/usr/lib/python3.11/threading.py"
SHORT = 2_000
"""Waits for the GIL of 5 us each, every 10 us, at the end of the first fighter."""


def write_wait_sample(
    path: Path, source: Path, start_utc_ns: int | None = None, *, reached_as: str = ""
) -> Path:
    """100 ms of ``fighter-1`` (72) and ``fighter-2`` (73), which run lines of the file ``source``.

    72: running 0–10 ms; lock 10–30 on line 3 inside the library, held by 73, who gave it back on line 4; running
    30–50; sleep 50–70 on line 5; blocked 70–75 for reasons not known; running 75–80; GIL in short stretches 80–100.
    73: running 0–30; the same lock on line 3 from 30–50 and from 60–64; running else.
    """
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        builder.add_source("osrt", True)
        if start_utc_ns is not None:
            builder.meta.update(start_utc_ns=start_utc_ns)
        if reached_as:
            builder.meta.update(host={"name": "the-box", "reached_as": reached_as})
        process = builder.add_process(71, name="python", command="python fight.py")
        group = builder.track("process/71.1", title="python fight.py [71]", role="process", process=process)
        threads = {}
        for tid in (72, 73):
            thread = builder.add_thread(process, tid, name=f"fighter-{tid - 71}")
            above = builder.track(
                FIGHTERS.format(tid),
                title=f"fighter-{tid - 71}  {tid}",
                role="thread",
                parent=group,
                process=process,
                thread=thread,
                sort_key=tid,
            )
            threads[tid] = {
                role: builder.track(
                    f"{FIGHTERS.format(tid)}/{role}",
                    title=role,
                    role=role,
                    parent=above,
                    process=process,
                    thread=thread,
                )
                for role in ("state", "osrt", "ranges", "samples")
            }
        own = _Stack(builder, f"fight ({source}:3)")
        lock = _Stack(builder, f"Lock.acquire ({LIBRARY}:327)", own)
        nap = _Stack(builder, f"fight ({source}:5)")
        _Waits(builder, threads[72]).add(
            [
                (0, 10, "running", 0, "", None),
                (10, 30, "blocked", WaitKind.LOCK, "lock, held by fighter-2 (73)", lock),
                (30, 50, "running", 0, "", None),
                (50, 70, "blocked", WaitKind.SLEEP, "sleep", nap),
                (70, 75, "blocked", 0, "includes the wait for a core; wake-ups were not traced", None),
                (75, 80, "running", 0, "", None),
            ]
        )
        _Waits(builder, threads[73]).add(
            [
                (0, 30, "running", 0, "", None),
                (30, 50, "blocked", WaitKind.LOCK, "lock, held by fighter-1 (72)", lock),
                (50, 60, "running", 0, "", None),
                (60, 64, "blocked", WaitKind.LOCK, "lock, held by fighter-1 (72)", lock),
                (64, 100, "running", 0, "", None),
            ]
        )
        _add_short(builder, threads[72]["state"], nap)
        _add_calls(builder, threads, source, lock)
        builder.add_events(
            threads[73]["ranges"], "range", [8 * MS], [22 * MS], builder.string("holds the lock")
        )
        busy = _Stack(builder, f"spin ({source}:8)", own)
        builder.add_events(
            threads[72]["samples"],
            "sample",
            np.array([2, 4, 6, 8, 20, 47]) * MS,
            np.zeros(6, np.int64),
            busy.frame,
            flags=int(Flag.INSTANT),
            attributes={"stack": [stack.id for stack in (busy, busy, busy, busy, lock, busy)]},
        )
        builder.finish()
    return path


class _Stack:
    """A stack and the string id of its innermost frame."""

    def __init__(self, builder: CaptureBuilder, frame: str, above: _Stack | None = None) -> None:
        self.frame = builder.string(frame)
        self.id: int = builder.stack(self.frame, above.id) if above is not None else builder.stack(self.frame)


class _Waits:
    """Adds states of one thread with their reasons."""

    def __init__(self, builder: CaptureBuilder, tracks: dict[str, int]) -> None:
        self.builder, self.track = builder, tracks["state"]

    def add(self, states: list[tuple[int, int, str, int, str, _Stack | None]]) -> None:
        b = self.builder
        start, stop, names, waits, reasons, stacks = zip(*states, strict=True)
        reason, known = b.strings(list(reasons)), np.array([bool(wait) for wait in waits])
        b.add_events(
            self.track,
            "thread_state",
            np.array(start) * MS,
            (np.array(stop) - np.array(start)) * MS,
            b.strings(list(names)),
            flags=np.array([int(Flag.IDLE) if name == "blocked" else 0 for name in names], np.uint8),
            attributes={
                "cpu": np.ma.MaskedArray(
                    np.zeros(len(names), np.int32), [name == "blocked" for name in names]
                ),
                "wait": np.ma.MaskedArray(np.array(waits, np.uint8), ~known),
                "reason": np.ma.MaskedArray(reason, reason == 0),
                "stack": np.ma.MaskedArray([stack.id if stack else 0 for stack in stacks], ~known),
                "place": np.ma.MaskedArray([stack.frame if stack else 0 for stack in stacks], ~known),
            },
        )


def _add_short(builder: CaptureBuilder, track: int, stack: _Stack) -> None:
    """Running and waiting for the GIL by turns, from 80 to 100 ms."""
    at = 80 * MS + np.arange(SHORT) * 10 * US
    for name, begin, flag in (("running", at, 0), ("blocked", at + 5 * US, int(Flag.IDLE))):
        count, waits = len(begin), name == "blocked"
        builder.add_events(
            track,
            "thread_state",
            begin,
            5 * US,
            builder.string(name),
            flags=flag,
            attributes={
                "wait": np.ma.MaskedArray(
                    np.full(count, int(WaitKind.GIL), np.uint8), np.full(count, not waits)
                ),
                "stack": np.ma.MaskedArray(np.full(count, stack.id), np.full(count, not waits)),
                "place": np.ma.MaskedArray(np.full(count, stack.frame), np.full(count, not waits)),
            },
        )


def _add_calls(
    builder: CaptureBuilder, threads: dict[int, dict[str, int]], source: Path, stack: _Stack
) -> None:
    """The calls in which the lock was waited for, and the moments at which it was given back."""
    given = builder.string(f"fight ({source}:4)")

    def call(tid: int, start: int, stop: int, name: str, **attributes: Any) -> int:
        return builder.add_events(
            threads[tid]["osrt"],
            "osrt",
            [start * MS],
            [(stop - start) * MS],
            builder.string(name),
            attributes={key: [value] for key, value in attributes.items()},
        )

    waits = {"wait": int(WaitKind.LOCK), "place": stack.frame, "stack": stack.id, "holder_place": given}
    first = call(72, 10, 30, "sem_wait", holder=73, ended_by=73, address=0x7F00, **waits)
    second = call(73, 30, 50, "sem_wait", holder=72, ended_by=72, address=0x7F00, **waits)
    call(73, 60, 64, "sem_wait", holder=72, address=0x7F00, **waits)
    call(72, 50, 70, "nanosleep", wait=int(WaitKind.SLEEP), place=builder.string(f"fight ({source}:5)"))
    for tid, moment, wait in ((73, 30, first), (72, 50, second)):
        release = builder.add_events(
            threads[tid]["osrt"],
            "release",
            [moment * MS],
            [0],
            builder.string("release"),
            flags=int(Flag.INSTANT),
            attributes={"address": [0x7F00], "place": [given]},
        )
        builder.add_links("release", [release], [wait])


SOURCE = """\
def fight(stop):
    while not stop.is_set():
        with LOCK:
            spin(0.008)
        time.sleep(0.002)

def spin(seconds):
    value = sum(range(200))
"""
