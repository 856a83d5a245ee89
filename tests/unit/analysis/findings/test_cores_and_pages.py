"""Cores a program may not run on, moves between cores, pages of memory: what was counted of them becomes findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.analysis.findings.test_engine import MS, threads_capture

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Finding, Severity
from warpline.analysis.framework.selection import View
from warpline.model import Flag
from warpline.model.waits import WaitKind
from warpline.storage import CaptureBuilder, open_capture

States = list[tuple[int, str, int]]
"""(length in ns, state, core) one after the other."""
_FLAGS = {"running": 0, "runnable": int(Flag.WAITING), "blocked": int(Flag.IDLE)}
PAGE = 4096
LOCK = int(WaitKind.LOCK)


def _write(
    path: Path,
    threads: list[States],
    meta: dict[str, Any],
    counters: dict[str, tuple[list[int], list[float]]] | None = None,
    samples: list[tuple[int, str]] | None = None,
) -> Path:
    """The capture of a program with these threads on two cores, its counters, and stacks sampled of its main thread."""
    with CaptureBuilder(path) as builder:
        process = builder.add_process(71, name="python")
        for core in range(2):
            builder.track(f"cpu/{core}", role="core")
        longest = 0
        for number, states in enumerate(threads):
            tid = 71 + number
            thread = builder.add_thread(process, tid, name="python")
            base = f"process/71.1/thread/{tid}.1"
            state, sampled = (
                builder.track(f"{base}/{role}", role=role, process=process, thread=thread)
                for role in ("state", "samples")
            )
            length = np.array([one for one, _, _ in states])
            builder.add_events(
                state, "thread_state", np.cumsum(length) - length, length,
                [builder.string(name) for _, name, _ in states],
                flags=[_FLAGS[name] for _, name, _ in states],
                attributes={"cpu": np.array([core for _, _, core in states])},
            )  # fmt: skip
            longest = max(longest, int(length.sum()))
            for time_ns, frame in (samples or []) if not number else []:
                stack = builder.stack(builder.string(frame))
                builder.add_events(
                    sampled, "sample", [time_ns], [0], [builder.string("sample")], attributes={"stack": [stack]}
                )  # fmt: skip
        for name, (times, values) in (counters or {}).items():
            track = builder.track(f"process/71.1/counters/{name}", role="counter", process=process)
            builder.add_counter(track, name, "", times, values)
        builder.set_span(0, longest)
        builder.meta.update(meta)
        builder.finish()
    return path


def _findings(path: Path, **told: object) -> dict[str, Finding]:
    """What stands out in a capture, were ``told`` in its metadata, too."""
    with open_capture(path) as capture:
        capture.meta = {**capture.meta, **told}
        return {found.id: found for found in diagnose(View(capture)).findings}


@pytest.fixture(scope="module")
def in_turn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two threads on two cores take turns, and nothing says that a core idled meanwhile."""
    runs, ready = (60 * MS, "running", 0), (60 * MS, "runnable", 0)
    return _write(tmp_path_factory.mktemp("cores") / "run.h5", [[runs, ready, runs], [ready, runs]], {})


@pytest.mark.parametrize(
    ("cores", "is_told"),
    [
        ([(0, [0])], True),
        ([(0, [0, 1])], False),
        ([], False),
        # Where it might run while nobody waited for a core does not count; what was seen first was so before.
        ([(0, [0, 1]), (1, [1])], True),
        ([(50 * MS, [1]), (170 * MS, [0, 1])], True),
        ([("x", None), 7], False),
    ],
)
def test_who_may_not_run_on_all_cores_is_told_on_a_busy_machine(
    in_turn: Path, cores: list[Any], is_told: bool
) -> None:
    told = [
        {"process": 0, "time_ns": one[0], "cores": one[1]} if isinstance(one, tuple) else one for one in cores
    ]
    found = _findings(in_turn, allowed_cores=told) if cores else _findings(in_turn)
    assert ("few_cores" in found) == is_told
    assert ("waits_for_core" in found) != is_told
    if is_told:
        few = found["few_cores"]
        assert (few.severity, few.time_ns, few.gain_ns) == (Severity.CRITICAL, 60 * MS, 60 * MS)
        assert "the program may use only 1 of 2 cores" in few.text


def test_what_moves_a_thread_is_what_was_sampled_between_its_cores(tmp_path: Path) -> None:
    # 0.8 ms on a core, 0.2 ms on the way to the other one.
    states: States = []
    for number in range(200):
        states += [(MS * 8 // 10, "running", number % 2), (MS * 2 // 10, "blocked", number % 2)]
    working = [(number * 10 * MS + MS // 2, "work (/src/x.py:3)") for number in range(15)]
    moving = [(number * 20 * MS + MS * 9 // 10, "bind (/src/x.py:7)") for number in range(5)]
    found = _findings(_write(tmp_path / "run.h5", [states], {}, samples=sorted(working + moving)))
    assert (found["migrations"].where.function, found["migrations"].where.line) == ("bind", 7)


def _faulting(path: Path, meta: dict[str, Any], grown: int = 0, is_counted: bool = True) -> Path:
    """40,000 faults in 200 ms of running, most of them in the second half, where x.py:7 runs."""
    times = [0, 100 * MS, 200 * MS]
    counters = {
        "Page faults": (times, [100_000.0, 300_000.0, np.nan]),
        "Resident memory": (times, [50_000.0 * PAGE, 50_000.0 * PAGE, (50_000.0 + grown) * PAGE]),
    }
    samples = [(place * 10 * MS, f"f (/src/x.py:{3 if place < 10 else 7})") for place in range(20)]
    return _write(path, [[(200 * MS, "running", 0)]], meta, counters if is_counted else {}, samples)


@pytest.mark.parametrize(("grown", "share"), [(0, 0.4), (30_000, 0.1), (50_000, 0.0)])
def test_pages_taken_anew_cost_what_was_measured(tmp_path: Path, grown: int, share: float) -> None:
    found = _findings(_faulting(tmp_path / "run.h5", {"page_fault_ns": 2_000}, grown))
    assert ("page_faults" in found) == (share > 0)
    if share:
        one = found["page_faults"]
        assert one.gain_ns == pytest.approx(share * 200 * MS, rel=0.01)
        assert (one.severity, one.time_ns, one.where.line) == (Severity.WARNING, 0, 7)
        assert f"{40_000 - grown:,} faults of 2.000 µs each (measured on this machine)" in one.text


def test_other_programs_do_not_make_page_faults_look_small(tmp_path: Path) -> None:
    times, values = [0, 200 * MS, 4000 * MS], [100_000.0, 0.0, np.nan]
    counters = {"Page faults": (times, values), "Resident memory": (times, [50_000.0 * PAGE] * 3)}
    states: States = [(200 * MS, "running", 0), (3800 * MS, "runnable", 0)]
    path = _write(tmp_path / "busy.h5", [states], {"page_fault_ns": 7_500}, counters)
    one = _findings(path)["page_faults"]
    # 150 ms of the 2 s to which the range without other programs is limited.
    assert one.severity == Severity.NOTE
    assert one.gain_ns == pytest.approx(150 * MS, rel=0.01)


def test_nothing_is_said_of_page_faults_that_were_not_counted_or_not_measured(tmp_path: Path) -> None:
    assert "page_faults" not in _findings(_faulting(tmp_path / "cost.h5", {}))
    counted = _faulting(tmp_path / "count.h5", {"page_fault_ns": 2_000}, is_counted=False)
    assert "page_faults" not in _findings(counted)


@pytest.mark.parametrize(("rate", "found_id"), [(1_000.0, "page_faults_disk"), (10.0, "waits_for_blocked")])
def test_blocked_while_pages_are_read_from_a_disk(tmp_path: Path, rate: float, found_id: str) -> None:
    states: States = [(MS, "running", 0), (MS, "blocked", 0)] * 100
    samples = [(place * 10 * MS, "walk (/src/x.py:5)") for place in range(20)]
    counters = {"Page faults read from a disk": ([0, 100 * MS, 200 * MS], [rate, rate, np.nan])}
    found = _findings(_write(tmp_path / "run.h5", [states], {"page_fault_ns": 2_000}, counters, samples))
    one = found[found_id]
    assert {"page_faults_disk", "waits_for_blocked"} & set(found) == {found_id}
    assert one.time_ns == 100 * MS
    assert one.gain_ns == (one.time_ns if rate > 100 else 0)
    assert one.where.line == 5


def test_what_a_holder_waits_for_is_told_beside_the_wait_for_its_lock(tmp_path: Path) -> None:
    # 80 ms for a lock: 30 of them its holder has no core.
    threads = [[(80 * MS, 2, LOCK, 1), (20 * MS, 0, 0, 0)], [(30 * MS, 1, 0, 0), (70 * MS, 0, 0, 0)]]
    with threads_capture(tmp_path / "lock.h5", threads) as capture:
        lock = next(one for one in diagnose(View(capture)).findings if one.id == "waits_for_lock")
    assert lock.time_ns == 50 * MS
    assert "takes 50.00 ms of 100.0 ms (50 %)" in lock.text
    assert "All waits for locks take 80.00 ms; where the holder itself waits" in lock.text
