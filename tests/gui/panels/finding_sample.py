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
        id="waits_for_lock",
        severity=Severity.CRITICAL,
        title="Waiting for lock",
        text="Waiting for lock takes 40.00 ms of 100.0 ms (40 %), 10 times.",
        time_ns=40 * MS,
        share=0.4,
        gain_ns=30 * MS,
        where=Where(
            file="/srv/project/train.py", line=14, function="hold", process=71, thread="pin_memory (74)"
        ),
        remedy="Hold the lock for less.",
        chain=(
            Hop(
                "waits for lock",
                Where(
                    file="/srv/project/train.py",
                    line=7,
                    function="want",
                    process=71,
                    thread="MainThread (71)",
                ),
                waits[3],
            ),
            Hop(
                "runs",
                Where(
                    file="/srv/project/train.py",
                    line=14,
                    function="hold",
                    process=71,
                    thread="pin_memory (74)",
                ),
                runs[3],
            ),
            Hop("launches", Where(thread="MainThread (71)"), call, 26 * MS, 27 * MS),
        ),
        evidence=Evidence(np.array(spans, np.int64), tuple(waits), (state,)),
    )
    second = Finding(
        id="waits_for_core", severity=Severity.NOTE, title="Waiting for a core",
        text="Waiting for a core takes 6.000 ms.", time_ns=6 * MS, share=0.06, gain_ns=6 * MS,
        remedy="Run fewer threads.",
    )  # fmt: skip
    parts = (BudgetPart("running", "running", 60 * MS), BudgetPart("lock", "lock", 40 * MS))
    return Diagnosis(
        Budget(waited_for="MainThread (71)", start_ns=0, stop_ns=100 * MS, parts=parts), (first, second)
    )
