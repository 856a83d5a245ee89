"""A diagnosis whose every number is known, over the rows of `tests.gui.sample`."""

from __future__ import annotations

import numpy as np
from tests.gui.sample import MS

from warpline.analysis.findings.finding import (
    Budget,
    BudgetPart,
    Diagnosis,
    Evidence,
    Finding,
    Hop,
    Severity,
    Where,
)
from warpline.storage import Capture


def states_of(capture: Capture, tid: int, name: str) -> list[int]:
    """Rows of a thread's states of a name, by start."""
    track = next(t.index for t in capture.tracks if t.uri == f"process/71.1/thread/{tid}.1/state")
    lane = int(np.flatnonzero(np.asarray(capture.lanes.track) == track)[0])
    first, count = int(capture.lanes.first[lane]), int(capture.lanes.count[lane])
    rows = range(first, first + count)
    return [row for row in rows if capture.strings[int(capture.events.name[row])] == name]


def known_diagnosis(capture: Capture) -> Diagnosis:
    """The main thread waits ten times 4 ms; the other thread keeps it waiting, and a launch before that one."""
    waits, runs = states_of(capture, 71, "blocked"), states_of(capture, 74, "running")
    spans = tuple((10 * MS * n + 6 * MS, 10 * MS * (n + 1)) for n in range(10))
    state = int(capture.track_of_row(waits[0]))
    call = int(capture.kinds["cuda_api"].rows[8])
    first = Finding(
        "waits_for_lock",
        Severity.CRITICAL,
        "Waiting for lock",
        "Waiting for lock takes 40.00 ms of 100.0 ms (40 %), 10 times.",
        40 * MS,
        0.4,
        30 * MS,
        Where("/srv/project/train.py", 14, "hold", 71, "pin_memory (74)"),
        "Hold the lock for less.",
        (
            Hop("waits for lock", Where("/srv/project/train.py", 7, "want", 71, "MainThread (71)"), waits[3]),
            Hop("runs", Where("/srv/project/train.py", 14, "hold", 71, "pin_memory (74)"), runs[3]),
            Hop("launches", Where(thread="MainThread (71)"), call, 26 * MS, 27 * MS),
        ),
        Evidence(np.array(spans, np.int64), tuple(waits), (state,)),
    )
    second = Finding(
        "waits_for_core", Severity.NOTE, "Waiting for a core", "Waiting for a core takes 6.000 ms.", 6 * MS, 0.06,
        6 * MS, Where(), "Run fewer threads.",
    )  # fmt: skip
    parts = (BudgetPart("running", "running", 60 * MS), BudgetPart("lock", "lock", 40 * MS))
    return Diagnosis(Budget("MainThread (71)", 0, 100 * MS, parts), (first, second))
