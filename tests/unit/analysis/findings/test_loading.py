"""Whether batches are made in the main process or by workers, of recordings whose hooks tell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.findings.test_engine import MS

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.framework.selection import View
from warpline.model import Flag
from warpline.model.waits import WaitKind
from warpline.storage import CaptureBuilder, open_capture


@pytest.mark.parametrize("in_main", [True, False])
def test_who_makes_the_batches_decides_the_advice(tmp_path: Path, in_main: bool) -> None:
    # The main thread runs while it gets a batch: to make it, or to take it from a worker.
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        for pid in (71, 72):
            process = builder.add_process(pid, name="python")
            thread = builder.add_thread(process, pid, name="python")
            base = f"process/{pid}.1/thread/{pid}.1"
            state, phases = (
                builder.track(f"{base}/{role}", role=role, process=process, thread=thread)
                for role in ("state", "phases")
            )
            builder.add_events(state, "thread_state", [0], [100 * MS], [builder.string("running")])
            if pid == 71:
                code = builder.string("DataLoader.__next__")
                builder.add_events(phases, "phase", [0, 50 * MS], [40 * MS, 40 * MS], [code, code])
            if (pid == 71) == in_main:
                builder.add_events(phases, "phase", [1 * MS], [30 * MS], [builder.string("fetch batch")])
        builder.finish()
    with open_capture(path) as capture:
        found = {finding.id: finding for finding in diagnose(View(capture)).findings}
    expected = "Data loading in the main process" if in_main else "Slow transfer of batches from workers"
    assert found["data_loading"].title == expected
    assert ("num_workers" in found["data_loading"].remedy) == in_main


def test_a_program_with_both_kinds_of_loaders_is_told_who_kept_it_waiting(tmp_path: Path) -> None:
    # Training waits for a worker for 80 ms; validation loads in the main process for 10 ms.
    path = tmp_path / "both.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        fetch = builder.string("fetch batch")
        for pid in (71, 72):
            process = builder.add_process(pid, name="python")
            thread = builder.add_thread(process, pid, name="python")
            base = f"process/{pid}.1/thread/{pid}.1"
            state, phases = (
                builder.track(f"{base}/{role}", role=role, process=process, thread=thread)
                for role in ("state", "phases")
            )
            builder.add_events(state, "thread_state", [0], [100 * MS], [builder.string("running")])
            if pid == 71:
                code = builder.string("DataLoader.__next__")
                builder.add_events(phases, "phase", [0, 85 * MS], [80 * MS, 11 * MS], [code, code])
                builder.add_events(phases, "phase", [86 * MS], [9 * MS], [fetch])
            else:
                builder.add_events(phases, "phase", [0], [79 * MS], [fetch])
        # Names of both in the stacks of samples decide nothing.
        builder.string("_SingleProcessDataLoaderIter._next_data")
        builder.string("_MultiProcessingDataLoaderIter._next_data")
        builder.finish()
    with open_capture(path) as capture:
        (finding,) = (one for one in diagnose(View(capture)).findings if one.id == "data_loading")
    assert finding.title != "Data loading in the main process"
    assert "main process." not in finding.text


@pytest.mark.parametrize(
    ("what", "wait", "says"),
    [
        (0, 0, "The workers compute in"),
        (2, WaitKind.SLEEP, "A worker sleeps"),
        (1, 0, "have no core"),
        (2, WaitKind.LOCK, "A worker waits for a lock"),
    ],
)
def test_what_workers_do_meanwhile_is_said(tmp_path: Path, what: int, wait: int, says: str) -> None:
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        for pid in (71, 72):
            process = builder.add_process(pid, name="python")
            thread = builder.add_thread(process, pid, name="python")
            base = f"process/{pid}.1/thread/{pid}.1"
            state, phases, calls = (
                builder.track(f"{base}/{role}", role=role, process=process, thread=thread)
                for role in ("state", "phases", "osrt")
            )
            is_main = pid == 71
            kind = int(WaitKind.PIPE) if is_main else int(wait)
            here = 2 if is_main else what
            name = builder.string(("running", "runnable", "blocked")[here])
            flags = (0, int(Flag.WAITING), int(Flag.IDLE))[here]
            given = {"wait": np.array([kind], np.uint8)} if here == 2 else {}
            builder.add_events(state, "thread_state", [0], [90 * MS], [name], flags=[flags], attributes=given)
            builder.add_events(state, "thread_state", [90 * MS], [10 * MS], [builder.string("running")])
            if is_main:
                call = {"wait": np.array([kind], np.uint8), "ended_by": np.array([72])}
                builder.add_events(calls, "osrt", [0], [90 * MS], [builder.string("read")], attributes=call)
                name = builder.string("DataLoader.__next__")
                builder.add_events(phases, "phase", [0], [90 * MS], [name])
            else:
                builder.add_events(phases, "phase", [0], [90 * MS], [builder.string("fetch batch")])
        builder.finish()
    with open_capture(path) as capture:
        first = diagnose(View(capture)).findings[0]
    assert (first.id, first.title) == ("data_loading", "Workers load too slowly")
    assert says in first.text


@pytest.mark.parametrize(("slow", "expected"), [(1, "prefetch_factor"), (4, "Give workers less to do")])
def test_workers_that_wait_for_work_should_load_further_ahead(
    tmp_path: Path, slow: int, expected: str
) -> None:
    # A batch of 40 ms keeps the main process waiting; after the others, which are quick, the worker has nothing to do.
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 200 * MS)
        for pid in (71, 72):
            process = builder.add_process(pid, name="python")
            thread = builder.add_thread(process, pid, name="python")
            base = f"process/{pid}.1/thread/{pid}.1"
            state, phases, calls = (
                builder.track(f"{base}/{role}", role=role, process=process, thread=thread)
                for role in ("state", "phases", "osrt")
            )
            for step in range(5):
                start, works = 40 * step * MS, (40 if step < slow else 5) * MS
                first, second = (("running", 0), ("blocked", int(Flag.IDLE)))
                if pid == 71:
                    first, second = second, first
                spans = [(start, works, *first), (start + works, 40 * MS - works, *second)]
                for begin, lasts, name, flag in spans:
                    if not lasts:
                        continue
                    given = {"wait": np.array([int(WaitKind.PIPE)], np.uint8)} if flag else {}
                    builder.add_events(
                        state, "thread_state", [begin], [lasts], [builder.string(name)], flags=[flag], attributes=given
                    )  # fmt: skip
                if pid == 71:
                    call = {"wait": np.array([int(WaitKind.PIPE)], np.uint8), "ended_by": np.array([72])}
                    builder.add_events(
                        calls, "osrt", [start], [works], [builder.string("read")], attributes=call
                    )
                    builder.add_events(
                        phases, "phase", [start], [works], [builder.string("DataLoader.__next__")]
                    )
                else:
                    builder.add_events(phases, "phase", [start], [works], [builder.string("fetch batch")])
        builder.finish()
    with open_capture(path) as capture:
        found = {finding.id: finding for finding in diagnose(View(capture)).findings}
    assert expected in found["data_loading"].remedy
    assert ("wait 70 % of the time for something to do" in found["data_loading"].text) == (slow == 1)


@pytest.mark.parametrize("builds", [True, False])
def test_workers_that_build_their_data_anew_in_each_epoch_should_be_kept(
    tmp_path: Path, builds: bool
) -> None:
    # The first batch of a worker takes 40 ms, as its data set builds a vocabulary; later ones take 5 ms.
    path = tmp_path / "run.h5"
    lengths = (40, 5, 5) if builds else (15, 15, 15)
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 240 * MS)
        for number, pid in enumerate((71, 72, 73, 74, 75)):
            begin, end = (60 * (number - 1) * MS, 60 * number * MS) if number else (0, 240 * MS)
            process = builder.add_process(pid, name="python", start_ns=begin, stop_ns=end)
            thread = builder.add_thread(process, pid, name="python", start_ns=begin, stop_ns=end)
            base = f"process/{pid}.1/thread/{pid}.1"
            state, phases, calls = (
                builder.track(f"{base}/{role}", role=role, process=process, thread=thread)
                for role in ("state", "phases", "osrt")
            )
            pipe = np.array([int(WaitKind.PIPE)], np.uint8)
            for epoch in range(4) if not number else (number - 1,):
                now = (60 * epoch + 1) * MS
                for length in (part * MS for part in lengths):
                    name, flag = ("running", 0) if number else ("blocked", int(Flag.IDLE))
                    builder.add_events(
                        state, "thread_state", [now], [length], [builder.string(name)], flags=[flag],
                        attributes={} if number else {"wait": pipe},
                    )  # fmt: skip
                    phase = "fetch batch" if number else "DataLoader.__next__"
                    builder.add_events(phases, "phase", [now], [length], [builder.string(phase)])
                    if not number:
                        call = {"wait": pipe, "ended_by": np.array([72 + epoch])}
                        builder.add_events(
                            calls, "osrt", [now], [length], [builder.string("read")], attributes=call
                        )
                    now += length
        builder.finish()
    with open_capture(path) as capture:
        found = {finding.id: finding for finding in diagnose(View(capture)).findings}
    assert ("persistent_workers=True" in found["data_loading"].remedy) == builds
    assert ("Starting 3 replacement workers takes 105.0 ms of it, at" in found["data_loading"].text) == builds
