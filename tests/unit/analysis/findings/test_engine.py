"""Budgets, chains, the critical path and gains, held to what is known of made captures."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.analysis.analysis_tools import rows_of
from tests.unit.effort import rounds

from warpline.analysis.findings.blame import blame
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.diagnose import diagnose, open_case
from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.findings.scope import warm_up
from warpline.analysis.findings.segments import Index, Segments, join_segments, make_segments, tile
from warpline.analysis.findings.wait_graph import WaitGraph
from warpline.analysis.framework.selection import Selection, View
from warpline.model import Flag, UsageError
from warpline.model.waits import WaitKind
from warpline.storage import Capture, CaptureBuilder, open_capture

MS = 1_000_000
States = list[tuple[int, int, int, int]]
"""(length, 0 running, 1 runnable or 2 blocked, kind of wait, thread that ended it)."""


def threads_capture(
    path: Path,
    threads: list[States],
    steps: list[tuple[int, int]] = [],  # noqa: B006
    cores: int = 1,
    used: tuple[float, ...] = (),
    meta: Mapping[str, object] | None = None,
) -> Capture:
    """A program whose threads did one thing after another, each with its call where it was blocked."""
    builder = CaptureBuilder(path)
    process = builder.add_process(71, name="python")
    tracks = [builder.track(f"cpu/{core}", role="core") for core in range(cores)]
    longest = 1
    for number, states in enumerate(threads):
        tid = 71 + number
        thread = builder.add_thread(process, tid, name="python")
        base = f"process/71.1/thread/{tid}.1"
        state, calls, phases = (
            builder.track(f"{base}/{role}", role=role, process=process, thread=thread)
            for role in ("state", "osrt", "phases")
        )
        now = 0
        for length, what, wait, by in states:
            blocked = what == 2
            name = ("running", "runnable", "blocked")[what]
            flags = (0, int(Flag.WAITING), int(Flag.IDLE))[what]
            given = {"wait": np.array([wait], np.uint8)} if blocked else {}
            code = builder.string(name)
            builder.add_events(
                state, "thread_state", [now], [length], [code], flags=[flags], attributes=given
            )
            if blocked:
                call = {"wait": np.array([wait], np.uint8), "ended_by": np.array([71 + by % len(threads)])}
                builder.add_events(calls, "osrt", [now], [length], [builder.string("wait")], attributes=call)
            now += length
        longest = max(longest, now)
        for place, (start, stop) in enumerate(steps if not number else []):
            step = builder.string(f"ProfilerStep#{place}")
            builder.add_events(phases, "phase", [start], [stop - start], [step])
    for track, ratio in zip(tracks, used, strict=False):
        times = np.linspace(0, longest, 11).astype(np.int64)
        builder.add_counter(track, "Utilization", "ratio", times, np.full(11, ratio))
    builder.set_span(0, longest)
    builder.meta.update(meta or {})
    builder.finish()
    return open_capture(path)


STATES = st.lists(
    st.tuples(
        st.integers(1, 50_000),
        st.integers(0, 2),
        st.sampled_from([int(k) for k in WaitKind]),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.fuzz
@given(
    st.lists(STATES, min_size=1, max_size=4),
    st.lists(st.integers(0, 400_000), min_size=2, max_size=9, unique=True),
    st.booleans(),
)
@settings(max_examples=rounds(15, 300), deadline=None)
def test_every_nanosecond_has_one_cause_and_the_path_fills_the_range(
    tmp_path_factory: pytest.TempPathFactory, threads: list[States], borders: list[int], has_steps: bool
) -> None:
    ordered = sorted(borders)
    steps = list(pairwise(ordered)) if has_steps else []
    path = tmp_path_factory.mktemp("made") / "made.h5"
    with threads_capture(path, threads, steps) as capture:
        for selection in (Selection(), Selection(100, capture.span[1] // 2 + 101)):
            view = View(capture, selection)
            case = open_case(view)
            if isinstance(case, Diagnosis):
                continue
            found = diagnose(view)
            assert found.budget is not None
            whole = found.budget.stop_ns - found.budget.start_ns
            assert sum(part.time_ns for part in found.budget.parts) == whole
            assert case.pieces.length.min() > 0
            assert case.pieces.start[0] == found.budget.start_ns
            assert (case.pieces.start[1:] == case.pieces.stop[:-1]).all()
            for step in found.budget.steps:
                if found.budget.start_ns <= step.start_ns and step.stop_ns <= found.budget.stop_ns:
                    assert sum(step.times_ns) == step.stop_ns - step.start_ns
            segment, start, stop = case.graph.walk(case.actor)
            assert (start[0], stop[-1]) == (found.budget.start_ns, found.budget.stop_ns)
            assert (start[1:] == stop[:-1]).all()
            assert len(segment) == len(start)
            assert all(0 <= finding.gain_ns <= whole for finding in found.findings)
            # Nothing of two findings is the same time, and none claims more than the range.
            assert sum(finding.time_ns for finding in found.findings) <= whole


SEGMENTS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 900),
        st.integers(1, 200),
        st.sampled_from(list(Cause)),
        st.integers(-1, 4),
    ),
    max_size=40,
)


def made(rows: list[tuple[int, int, int, Cause, int]]) -> Segments:
    actor, start, length, cause, by = (
        np.array([row[column] for row in rows], np.int64) for column in range(5)
    )
    by = np.where((by == actor) | (cause >= Cause.RUNNABLE), -1, by)
    loose = join_segments([make_segments(actor, start, start + length, cause, by)])
    return tile(loose, np.arange(5), 0, 1000)


@given(SEGMENTS)
@settings(max_examples=rounds(60, 2_000), deadline=None)
def test_segments_of_everybody_fill_the_range(rows: list[tuple[int, int, int, Cause, int]]) -> None:
    segments = made(rows)
    for actor in range(5):
        own = segments.take(segments.actor == actor)
        assert (own.start[0], own.stop[-1]) == (0, 1000)
        assert (own.start[1:] == own.stop[:-1]).all()


@given(SEGMENTS, st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=1, max_size=5))
@settings(max_examples=rounds(60, 2_000), deadline=None)
def test_the_compiled_walks_are_those_of_python(
    rows: list[tuple[int, int, int, Cause, int]], parts: list[float]
) -> None:
    segments = made(rows)
    fast, slow = WaitGraph(segments, 0, 1000), WaitGraph(segments, 0, 1000, compiled=False)
    keep = np.resize(np.array(parts), len(segments))
    assert fast.replay(keep).tolist() == slow.replay(keep).tolist()
    for graph in (fast, slow):
        graph.hold(segments.cause == Cause.CONDITION)
    for actor in range(5):
        assert fast.gain_ns(actor, keep) == slow.gain_ns(actor, keep)
        for ours, theirs in zip(fast.walk(actor), slow.walk(actor), strict=True):
            assert ours.tolist() == theirs.tolist()


@given(SEGMENTS, st.lists(st.tuples(st.integers(-1, 6), st.integers(0, 999)), max_size=20))
@settings(max_examples=rounds(60, 2_000), deadline=None)
def test_the_compiled_pieces_are_those_of_numpy(
    rows: list[tuple[int, int, int, Cause, int]], moments: list[tuple[int, int]]
) -> None:
    segments = made(rows)
    fast, slow = Index(segments, 0, 1000), Index(segments, 0, 1000, compiled=False)
    who, when = np.array(moments, np.int64).reshape(-1, 2).T
    assert fast.at(who, when).tolist() == slow.at(who, when).tolist()
    for actor in range(6):
        for start, stop in ((0, 1000), (130, 777)):
            ours, theirs = (blame(segments, index, actor, start, stop) for index in (fast, slow))
            for name in ("start", "stop", "depth", "is_cycle", "root", "leaf"):
                assert getattr(ours, name).tolist() == getattr(theirs, name).tolist()
            width = min(ours.path.shape[1], theirs.path.shape[1])
            assert (ours.path[:, :width] == theirs.path[:, :width]).all()
            assert (theirs.path[:, width:] < 0).all()
            assert (ours.path[:, width:] < 0).all()


@given(SEGMENTS)
@settings(max_examples=rounds(60, 2_000), deadline=None)
def test_a_replay_without_any_change_changes_nothing(rows: list[tuple[int, int, int, Cause, int]]) -> None:
    segments = made(rows)
    graph = WaitGraph(segments, 0, 1000)
    assert graph.replay(np.ones(len(segments))).tolist() == segments.stop.tolist()
    nothing_left = graph.replay(np.zeros(len(segments)))
    assert (nothing_left <= segments.stop).all()


def test_the_next_limit_takes_over(tmp_path: Path) -> None:
    # The main thread joins two: one sleeps for 80 ms, the other for 50. Without the first the second is what is left.
    join, sleep = int(WaitKind.JOIN), int(WaitKind.SLEEP)
    threads = [
        [
            (10 * MS, 0, 0, 0),
            (70 * MS, 2, join, 1),
            (5 * MS, 0, 0, 0),
            (5 * MS, 2, join, 2),
            (5 * MS, 0, 0, 0),
        ],
        [(80 * MS, 2, sleep, 1)],
        [(90 * MS, 2, sleep, 2)],
    ]
    with threads_capture(tmp_path / "two.h5", threads) as capture:
        case = open_case(View(capture))
        assert not isinstance(case, Diagnosis)
        first = (case.segments.actor == 1) & (case.segments.cause == Cause.SLEEP)
        second = (case.segments.actor == 2) & (case.segments.cause == Cause.SLEEP)
        # It waits 75 ms for the second one then, instead of 70 for the first and 5 for the second.
        assert case.gain_ns(first) == 5 * MS - 5 * MS
        assert case.gain_ns(second) == 5 * MS
        assert case.gain_ns(first | second) == 75 * MS


def test_a_chain_ends_with_whoever_does_something(tmp_path: Path) -> None:
    lock, join, sleep = int(WaitKind.LOCK), int(WaitKind.JOIN), int(WaitKind.SLEEP)
    threads = [
        [(10 * MS, 0, 0, 0), (80 * MS, 2, join, 1), (10 * MS, 0, 0, 0)],
        [(85 * MS, 2, lock, 2), (5 * MS, 0, 0, 0)],
        [(85 * MS, 2, sleep, 2)],
    ]
    with threads_capture(tmp_path / "chain.h5", threads) as capture:
        found = diagnose(View(capture))
        assert found.budget is not None
        times = {part.cause: part.time_ns for part in found.budget.parts}
        assert times == {"running": 20 * MS, "lock": 75 * MS, "other_threads": 5 * MS}
        first = found.findings[0]
        assert (first.id, first.time_ns, first.severity) == ("waits_for_lock", 75 * MS, "critical")
        assert "in all" not in first.text
        assert [hop.where.thread for hop in first.chain] == ["python (71)", "python (72)", "python (73)"]
        path = rows_of(capture, "critical_path")
        assert [(row["track"], row["segment_ns"]) for row in path] == [
            ("python (73)", 85 * MS), ("python (72)", 5 * MS), ("python (71)", 10 * MS)
        ]  # fmt: skip
        assert sum(row["segment_ns"] for row in path) == 100 * MS
        assert diagnose(View(capture), of="process/71.1/thread/72.1/state").budget is not None
        with pytest.raises(UsageError, match="no track"):
            diagnose(View(capture), of="gpu/7")


def test_who_crowds_himself_out_is_told_and_who_has_neighbours_is_left_in_peace(tmp_path: Path) -> None:
    runs, ready = (60 * MS, 0, 0, 0), (60 * MS, 1, 0, 0)
    # Three on two cores: 180 ms of work need 90, and took 120, as the first one had to wait for the others.
    three = [[ready, runs], [runs], [runs]]
    # Two on two cores take turns: somebody else has the other one. A third is woken for a moment, and waits for long.
    turns = [[runs, ready, runs], [ready, runs], [ready, (1_000, 0, 0, 0)]]
    for name, threads, gain, worst in (
        ("three", three, 30 * MS, "warning"),
        ("turns", turns, 60 * MS, "note"),
    ):
        with threads_capture(tmp_path / f"{name}.h5", threads, cores=2) as capture:
            found = next(one for one in diagnose(View(capture)).findings if one.id == "waits_for_core")
            assert (found.severity, found.time_ns) == (worst, 60 * MS)
            assert found.gain_ns == pytest.approx(gain, rel=0.01)
            assert ("Other programs on this machine used 50 %" in found.text) == (worst == "note")
    # Nobody has the other one: something keeps the program from it.
    with threads_capture(tmp_path / "few.h5", turns, cores=2, used=(1.0, 0.0)) as capture:
        found = diagnose(View(capture)).findings[0]
        assert (found.id, found.severity) == ("few_cores", "critical")
        assert "while 1 of 2 cores were idle" in found.text


def test_warm_up_is_left_out_and_said(tmp_path: Path) -> None:
    borders = [0, 500, 900, 1000, 1100, 1200, 1300, 1400]
    steps = [(a * MS, b * MS) for a, b in pairwise(borders)]
    with threads_capture(tmp_path / "warm.h5", [[(1400 * MS, 0, 0, 0)]], steps) as capture:
        seen: list[float] = []
        found = diagnose(View(capture), lambda fraction, _text: seen.append(fraction))
        # The first steps are diagnosed, too: in their part of the whole.
        assert seen == sorted(seen)
        assert seen[-1] < 1
        assert len(seen) == len(set(seen))
        assert found.budget is not None
        assert (found.budget.start_ns, found.budget.stop_ns) == (900 * MS, 1400 * MS)
        assert [step.name for step in found.budget.steps] == [f"ProfilerStep#{n}" for n in range(2, 7)]
        assert found.notices[0].startswith(
            "Left out as warm-up: the first 2 steps, which take up to 500.0 ms"
        )
        rows = rows_of(capture, "time_budget")
        assert [(row["name"], row["step"], row["total_ns"]) for row in rows[:2]] == [
            ("running", None, 500 * MS), ("ProfilerStep#2", 0, 100 * MS)
        ]  # fmt: skip
        # Whoever selects a range is asked nothing else.
        part = diagnose(View(capture, Selection(0, 950 * MS))).budget
        assert part is not None
        assert (part.start_ns, part.stop_ns) == (0, 950 * MS)


@pytest.mark.parametrize(
    ("durations", "first"),
    [([9, 1, 1, 1, 1], 1), ([9, 5, 1, 1, 1, 1], 2), ([1, 9, 1, 1, 1], 0), ([9, 1], 0), ([1, 1, 1, 1], 0)],
)
def test_warm_up_is_at_the_beginning(durations: list[int], first: int) -> None:
    assert warm_up(np.array(durations, np.int64)) == first


def test_first_steps_that_wait_for_files_are_told_as_cold(tmp_path: Path) -> None:
    # Three steps read what later ones find in memory.
    states: States = []
    steps: list[tuple[int, int]] = []
    now = 0
    for number in range(12):
        wait = 40 * MS if number < 3 else MS
        states += [(wait, 2, int(WaitKind.FILE), 0), (20 * MS, 0, 0, 0)]
        steps.append((now, now + wait + 20 * MS))
        now = steps[-1][1]
    with threads_capture(tmp_path / "cold.h5", [states], steps) as capture:
        found = diagnose(View(capture))
        assert found.budget is not None
        assert found.budget.start_ns == 180 * MS
        cold = next(one for one in found.findings if one.id == "cold_cache")
        assert (cold.severity, cold.time_ns, cold.gain_ns) == ("note", 0, 0)
        assert cold.text.startswith("The first 3 steps take 117.0 ms longer than later ones, mostly for: ")
        assert cold.evidence.ranges.tolist() == [list(step) for step in steps[:3]]


def test_a_long_pause_after_a_slow_first_step_is_judged(tmp_path: Path) -> None:
    # Validation between the first step and the others is no warm-up: it is most of the time.
    steps = [(0, 100 * MS), *((start * MS, (start + 20) * MS) for start in range(600, 800, 20))]
    with threads_capture(tmp_path / "pause.h5", [[(800 * MS, 0, 0, 0)]], steps) as capture:
        found = diagnose(View(capture))
        assert found.budget is not None
        assert (found.budget.start_ns, found.budget.stop_ns) == (100 * MS, 800 * MS)
        assert len(found.budget.steps) == 10
        assert "the first step" in found.notices[0]


def test_time_before_or_after_the_steps_is_told_when_it_is_much(tmp_path: Path) -> None:
    states: States = [
        (400 * MS, 2, int(WaitKind.FILE), 0),
        (300 * MS, 0, 0, 0),
        (300 * MS, 2, int(WaitKind.SLEEP), 0),
    ]
    for begin, says in (
        (
            400,
            "400.0 ms of the 1.000 s recorded (40 %) pass before the first step, most of it in: waiting",
        ),
        (
            100,
            "300.0 ms of the 1.000 s recorded (30 %) pass after the last step, most of it in: sleeping",
        ),
        (250, ""),
    ):
        stop = 700 if begin < 250 else 900
        steps = [(at * MS, (at + 50) * MS) for at in range(begin, stop, 50)]
        with threads_capture(tmp_path / f"{begin}.h5", [states], steps) as capture:
            found = [one for one in diagnose(View(capture)).findings if one.id == "outside_steps"]
        assert [one.severity for one in found] == (["note"] if says else [])
        assert all(one.text.startswith(says) and one.time_ns == one.gain_ns == 0 for one in found)
        if begin == 400:
            assert found[0].remedy == "To analyse this part: warpline check --range 0.000s:0.400s."
            assert found[0].evidence.ranges.tolist() == [[0, 400 * MS]]


def test_a_part_outside_the_steps_without_a_main_cause_names_the_largest(tmp_path: Path) -> None:
    kinds = (WaitKind.FILE, WaitKind.SLEEP, WaitKind.NETWORK)
    states: States = [((160 - 20 * at) * MS, 2, int(kind), 0) for at, kind in enumerate(kinds)]
    steps = [(at * MS, (at + 50) * MS) for at in range(420, 920, 50)]
    with threads_capture(tmp_path / "mixed.h5", [[*states, (500 * MS, 0, 0, 0)]], steps) as capture:
        found = [one for one in diagnose(View(capture)).findings if one.id == "outside_steps"]
    assert "pass before the first step; the largest part is: waiting" in found[0].text


@pytest.mark.parametrize(
    ("meta", "says"),
    [
        ({"exit_status": 0, "stderr_tail": ["a warning"]}, None),
        ({}, None),
        (
            {"exit_status": 1, "stderr_tail": ["Traceback", "KeyError: 'x'", ""]},
            "The program ended with status 1. The last line of its standard error: KeyError: 'x'",
        ),
        ({"exit_signal": 11}, "The program was killed by signal 11 (SIGSEGV)."),
        (
            {"exit_status": 139, "stderr_tail": ["Fatal"]},
            "The program was killed by signal 11 (SIGSEGV). The last line of its standard error: Fatal",
        ),
        ({"exit_status": 200}, "The program ended with status 200."),
        ({"exit_signal": 77}, "The program ended with status 205."),
        ({"exit_status": 130, "exit_signal": 2, "stderr_tail": ["KeyboardInterrupt"]}, None),
    ],
)
def test_a_program_that_failed_is_the_first_note(
    tmp_path: Path, meta: dict[str, object], says: str | None
) -> None:
    with threads_capture(tmp_path / "run.h5", [[(100 * MS, 0, 0, 0)]], meta=meta) as capture:
        found = diagnose(View(capture)).findings
    notes = [one for one in found if one.id == "program_failed"]
    assert [one.text for one in notes] == ([] if says is None else [says])
    assert not notes or next(one for one in found if one.severity == "note") is notes[0]


def test_who_is_moved_all_the_time_is_told_and_who_is_left_alone_is_not(tmp_path: Path) -> None:
    for period, is_told in ((1, True), (20, False)):
        path = tmp_path / f"{period}.h5"
        builder = CaptureBuilder(path)
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 71, name="python")
        state = builder.track("process/71.1/thread/71.1/state", role="state", process=process, thread=thread)
        # Runs for 1 ms on a core, and is off it for 0.25 ms; another core every time, or every 20th.
        starts = np.arange(200) * 1_250_000
        core = (np.arange(200) // period) % 2
        runs, ready = builder.string("running"), builder.string("runnable")
        builder.add_events(
            state, "thread_state", starts, np.full(200, MS), runs, attributes={"cpu": core.astype(np.int32)}
        )
        builder.add_events(
            state, "thread_state", starts + MS, np.full(200, MS // 4), ready, flags=int(Flag.WAITING)
        )
        builder.set_span(0, 250 * MS)
        builder.finish()
        with open_capture(path) as capture:
            found = {one.id: one for one in diagnose(View(capture)).findings}
        assert ("migrations" in found) == is_told
        if is_told:
            assert found["migrations"].gain_ns == 199 * MS // 4
            assert "199 times" in found["migrations"].text
