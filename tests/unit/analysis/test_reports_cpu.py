"""What threads and cores did."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.unit.analysis.analysis_tools import Program, rows_of

from warpline.analysis.framework.selection import Selection
from warpline.model import Flag


def test_the_longest_runnable_time_is_unknown_if_not_recorded(tmp_path: Path) -> None:
    program = Program(tmp_path / "states.h5")
    b = program.builder
    flags = np.array([0, Flag.IDLE], np.uint8)
    names = b.strings(["running", "blocked"])
    b.add_events(program.tracks["state"], "thread_state", [0, 10], [10, 90], names, flags=flags)
    with program.finish() as capture:
        (row,) = rows_of(capture, "thread_state")
    assert (row["runnable_ns"], row["longest_runnable_ns"], row["running_ns"]) == (None, None, 10)


def test_the_wait_for_a_core_inside_blocked_has_a_column(tmp_path: Path) -> None:
    program = Program(tmp_path / "states.h5")
    b = program.builder
    flags = np.array([0, Flag.IDLE, 0, Flag.IDLE], np.uint8)
    names = b.strings(["running", "blocked", "running", "blocked"])
    waited = np.ma.MaskedArray([0, 30, 0, 0], [True, False, True, True])
    columns = {"core_wait_ns": waited}
    b.add_events(
        program.tracks["state"],
        "thread_state",
        [0, 10, 60, 70],
        [10, 50, 10, 30],
        names,
        flags=flags,
        attributes=columns,
    )
    b.meta["thread_accounting"] = [{"thread": 0, "run_queue_ns": 77}]
    b.set_span(0, 100)
    with program.finish() as capture:
        (row,) = rows_of(capture, "thread_state")
        assert (row["blocked_ns"], row["core_wait_ns"], row["run_queue_ns"]) == (80, 30, 77)
        (part,) = rows_of(capture, "thread_state", Selection(50, 100))
        # No more of it than lies inside.
        assert (part["blocked_ns"], part["core_wait_ns"]) == (40, 10)


def test_thread_states_and_cores(tmp_path: Path) -> None:
    program = Program(tmp_path / "states.h5")
    b = program.builder
    names = b.strings(["running", "runnable", "blocked", "running", "uninterruptible"])
    flags = np.array([0, Flag.WAITING, Flag.IDLE, 0, Flag.IDLE], np.uint8)
    b.add_events(
        program.tracks["state"], "thread_state", [0, 10, 30, 60, 70], [10, 20, 30, 10, 30], names, flags=flags
    )
    core = b.track("cpu/3", title="Core 3", role="core")
    b.add_events(core, "cpu_slice", [0, 60], [10, 10], b.strings(["Main", "Main"]))
    b.set_span(0, 100)
    with program.finish() as capture:
        (row,) = rows_of(capture, "thread_state")
        assert (row["running_ns"], row["runnable_ns"], row["blocked_ns"], row["uninterruptible_ns"]) == (
            20,
            20,
            30,
            30,
        )
        assert (row["switches"], row["longest_runnable_ns"], row["recorded_ns"]) == (2, 20, 100)
        (part,) = rows_of(capture, "thread_state", Selection(5, 65))
        assert (part["running_ns"], part["runnable_ns"], part["blocked_ns"]) == (10, 20, 30)
        (core_row,) = rows_of(capture, "core_utilization")
        assert (core_row["busy_ns"], core_row["ratio"], core_row["top_thread"]) == (20, 0.2, "Main")
