"""Tasks of pools: batches that wait for their last task, tasks handed out one by one; and waits told as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.analysis.findings.scenes import MS, PYTHON, Acts, Does
from tests.unit.analysis.findings.test_shapes import (
    CONDITION,
    IDLE_LOOP,
    LOOP,
    NETWORK,
    POLL,
    RESULT,
    SLEEP,
    WORKER,
    findings_of,
    place,
)

from warpline.model.waits import WaitKind


def test_a_pool_that_gets_one_task_after_another_has_no_queue(tmp_path: Path) -> None:
    task = Does(20 * MS, SLEEP, frames=("fetch (/src/app.py:5)", *WORKER))
    idle = Does(1 * MS, CONDITION, 0, WORKER[1:])
    main = Acts((Does(20 * MS, CONDITION, 1, RESULT), Does(1 * MS)) * 10)
    first = findings_of(tmp_path / "serial.h5", [main, Acts((task, idle) * 10)])[0]
    assert (first.id, place(first)) == ("one_at_a_time", "/src/app.py:30")


@pytest.mark.parametrize("is_slow", [True, False])
def test_the_slow_task_of_each_batch_is_a_straggler(tmp_path: Path, is_slow: bool) -> None:
    short = Does(20 * MS, SLEEP, frames=("thumb (/src/app.py:5)", "render (/src/app.py:9)", *WORKER))
    slow = Does(100 * MS, SLEEP, frames=("poster (/src/app.py:7)", "render (/src/app.py:9)", *WORKER))
    last, spare = (slow, 81) if is_slow else (short, 1)
    batch = last.length + 1 * MS
    idle = Does(spare * MS, CONDITION, 0, WORKER[1:])
    between = Does(1 * MS, CONDITION, 0, WORKER[1:])
    main = Acts((Does(batch - 1 * MS, CONDITION, 1, RESULT), Does(1 * MS)) * 6)
    threads = [main, Acts((last, between) * 6), *[Acts((short, idle) * 6)] * 3]
    found = {finding.id: finding for finding in findings_of(tmp_path / "batches.h5", threads)}
    assert ("stragglers" in found) == is_slow
    if is_slow:
        first = found["stragglers"]
        assert (first.severity, place(first), first.time_ns) == ("critical", "/src/app.py:7", 480 * MS)
        assert first.gain_ns == 360 * MS  # four workers share what one did
        assert "6 batches of tasks end with stragglers" in first.text
        assert "80.00 ms a batch" in first.text
        assert "3 other workers idle" in first.text


def test_a_lookup_in_a_step_blocks_the_event_loop(tmp_path: Path) -> None:
    frames = ("resolve (/src/app.py:3)", "handle (/src/app.py:7)", *LOOP)
    step = Does(10 * MS, NETWORK, None, frames, function="getaddrinfo", result=0, object="db.example.org")
    idle = Does(2 * MS, POLL, frames=IDLE_LOOP)
    found = findings_of(tmp_path / "lookup.h5", [Acts((step, idle) * 10)])
    assert found[0].id == "blocks_event_loop"
    assert "The calls: 10 getaddrinfo." in found[0].text
    assert "repeated_lookups" not in {finding.id for finding in found}


def test_a_blocked_loop_names_its_own_calls_not_those_of_the_peer(tmp_path: Path) -> None:
    frames = ("health (/src/app.py:3)", "handle (/src/app.py:7)", *LOOP)
    asks = Does(10 * MS, NETWORK, 1, frames, function="recv", result=2, object="socket:[7]")
    idle = Does(2 * MS, POLL, frames=IDLE_LOOP)
    answers = Does(
        10 * MS, SLEEP, frames=("serve (/src/app.py:9)",), function="nanosleep", result=0, object="clock"
    )
    threads = [Acts((asks, idle) * 10), Acts((answers, Does(2 * MS)) * 10)]
    first = findings_of(tmp_path / "peer.h5", threads)[0]
    assert (first.id, place(first)) == ("blocks_event_loop", "/src/app.py:3")
    assert "The calls: 10 recv." in first.text


def test_a_sleep_tells_how_often_and_how_long(tmp_path: Path) -> None:
    does = (Does(20 * MS, SLEEP, frames=("expose (/src/app.py:5)",)), Does(1 * MS)) * 10
    first = findings_of(tmp_path / "device.h5", [Acts(does)])[0]
    assert first.text == (
        "Sleeping takes 200.0 ms of 210.0 ms (95 %): expose (/src/app.py:5) sleeps 10 × 20.00 ms."
    )
    assert "stands for work" in first.remedy
    assert "event" not in first.remedy


def test_a_thread_for_each_task_of_a_batch_may_be_a_straggler(tmp_path: Path) -> None:
    starts = (f"Thread.run ({PYTHON}/threading.py:982)", f"Thread._bootstrap ({PYTHON}/threading.py:995)")
    joins = (f"Thread.join ({PYTHON}/threading.py:1112)", "compact (/src/app.py:12)")
    threads = [Acts(())] * 13
    main = []
    for batch in range(4):
        slow = 1 + 3 * batch
        main += [Does(80 * MS, WaitKind.JOIN, slow, joins), Does(1 * MS)]
        for place_in, length in enumerate((80, 10, 10)):
            work = Does(length * MS, SLEEP, frames=("shard (/src/app.py:5)", *starts))
            threads[slow + place_in] = Acts((work,), start=81 * batch * MS)
    threads[0] = Acts(tuple(main))
    first = findings_of(tmp_path / "joins.h5", threads)[0]
    assert (first.id, place(first), first.time_ns) == ("stragglers", "/src/app.py:5", 280 * MS)


def test_processes_that_run_from_start_to_end_are_no_batches(tmp_path: Path) -> None:
    starts = (f"BaseProcess.run ({PYTHON}/multiprocessing/process.py:108)",)
    joins = (f"BaseProcess.join ({PYTHON}/multiprocessing/process.py:149)", "main (/src/app.py:12)")
    step, report = (
        Does(10 * MS, WaitKind.FILE, frames=("step (/src/app.py:5)", *starts)),
        ("report (/src/app.py:7)", *starts),
    )
    # Each rank waits for the other at the end of a step, so that for a moment none is at work.
    reduce = ("all_reduce (/src/app.py:6)", *starts)
    meets, reduces = Does(2 * MS, CONDITION, 2, reduce), Does(32 * MS, CONDITION, 1, reduce)
    threads = [
        Acts((Does(252 * MS, WaitKind.CHILD, 1, joins),)),
        Acts((step, Does(30 * MS, NETWORK, 3, report), meets) * 6, process=1),
        Acts((step, reduces) * 6, process=2),
        Acts((Does(252 * MS, SLEEP, frames=("answer (/src/app.py:30)",)),), process=3),
    ]
    found = findings_of(tmp_path / "ranks.h5", threads)
    assert "stragglers" not in {finding.id for finding in found}


@pytest.mark.parametrize("askers", [1, 2])
def test_requests_of_the_only_thread_that_sends_them_are_one_after_another(
    tmp_path: Path, askers: int
) -> None:
    ask = Does(20 * MS, NETWORK, 1 + askers, ("ask (/src/app.py:5)", "geotag (/src/app.py:7)"))
    joins = (f"Thread.join ({PYTHON}/threading.py:1112)", "run (/src/app.py:12)")
    answers = Does(20 * MS, SLEEP, frames=("answer (/src/app.py:30)",))
    threads = [
        Acts((Does(400 * MS, WaitKind.JOIN, 1, joins),)),
        *[Acts((ask,) * 20)] * askers,
        Acts((answers,) * 20, process=1),
    ]
    first = findings_of(tmp_path / "stage.h5", threads)[0]
    assert (first.id == "serial_requests") == (askers == 1)
    if askers == 1:
        assert (place(first), first.time_ns, first.gain_ns) == ("/src/app.py:5", 400 * MS, 360 * MS)
        assert "more threads for this step" in first.remedy
