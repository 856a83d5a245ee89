"""A process lives until the kernel has taken its memory apart, and what that costs is its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.recording.recording_tools import needs_perf, python, record, stolen_ns

import warpline
from warpline.model import Flag
from warpline.recording.spool.threads import ThreadTable

PROGRAM = "import os, signal; b = b'x' * (400 << 20); os.kill(os.getpid(), signal.SIGKILL)"


def test_the_last_thread_lives_until_its_process_is_gone() -> None:
    table = ThreadTable()
    table.add_name(0, 100, 100, "x", True)
    table.add_fork(1, 100, 101, 100, 100)
    table.add_exit(5, 100, 100)
    table.add_exit(90_000_000, 100, 101)
    table.add_process_end(200_000_000, 2, 100, 77)
    assert (table.processes[0].stop_ns, table.processes[0].cpu_ns) == (200_000_000, 77)
    assert [(life.exit_ns, life.death_ns) for life in table.threads] == [(None, 5), (90_000_000, 200_000_000)]


def test_the_first_thread_stays_when_all_are_killed_at_once() -> None:
    table = ThreadTable()
    table.add_name(0, 100, 100, "x", True)
    table.add_fork(1, 100, 101, 100, 100)
    table.add_exit(5, 100, 100)
    table.add_exit(9, 100, 101)
    table.add_process_end(20, 2, 100, 0)
    assert [(life.exit_ns, life.death_ns) for life in table.threads] == [(5, 20), (None, 9)]


def test_a_process_that_was_watched_is_not_the_next_one_with_its_id() -> None:
    table = ThreadTable()
    table.add_fork(1, 100, 100, 60, 60)
    table.add_exit(5, 100, 100)
    table.add_fork(7, 100, 100, 60, 60)
    table.add_process_end(6, 2, 100, 0)
    assert [(life.exit_ns, life.death_ns) for life in table.threads if life.tid == 100] == [
        (5, 6),
        (None, None),
    ]


def test_a_process_gone_without_an_exit_record_has_ended() -> None:
    table = ThreadTable()
    table.add_fork(1, 100, 100, 60, 60)
    table.add_fork(2, 100, 101, 100, 100)
    table.add_process_end(6, 2, 100, 0)
    assert [life.death_ns for life in table.threads if life.tid in (100, 101)] == [6, 6]
    assert table.processes[-1].stop_ns == 6


@needs_perf
@pytest.mark.parametrize("is_child", [False, True])
def test_the_cost_of_freeing_memory_is_counted(tmp_path: Path, is_child: bool) -> None:
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PROGRAM!r}])"
    stolen = stolen_ns()
    record(tmp_path, *python(parent if is_child else PROGRAM), options=["--trace", "cpu"])
    stolen = stolen_ns() - stolen
    with warpline.open(tmp_path / "run.h5") as capture:
        states = capture.events("thread_state").to_pandas()
        (process,) = (
            p for p in capture.processes if (p.parent_pid in {q.pid for q in capture.processes}) == is_child
        )
        accounting = {row["tid"]: row["run_ns"] for row in capture.metadata["thread_accounting"]}
    own = states[states.thread_id == process.pid].sort_values("start_ns")
    torn = own[(own["flags"] & int(Flag.ESTIMATED)) != 0]
    assert torn.duration_ns.sum() > 1_000_000
    stops = (own.start_ns + own.duration_ns).to_numpy()
    assert np.array_equal(stops[:-1], own.start_ns.to_numpy()[1:]), "no gap, no overlap"
    running = own[own.name == "running"].duration_ns.sum()
    if not is_child:  # we wait for it ourselves, and ask before
        assert running == pytest.approx(accounting[process.pid], rel=0.02, abs=2_000_000 + stolen)
