"""Who a record belongs to when the kernel uses ids again, and what finalising makes of it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.recording.finalise import finalise
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.perf import records as perf_records
from warpline.recording.sources.registry import default_trace
from warpline.recording.spool import records
from warpline.recording.spool.threads import BEFORE, ThreadTable, command_title
from warpline.recording.spool.writer import SpoolWriter
from warpline.storage import open_capture


def test_an_id_that_is_used_again_is_another_process() -> None:
    table = ThreadTable()
    table.add_name(0, 100, 100, "shell", True)
    table.add_fork(10, 200, 200, 100, 100)
    table.add_name(11, 200, 200, "first", True)
    table.add_exit(20, 200, 200)
    table.add_fork(30, 200, 200, 100, 100)
    table.add_exit(40, 200, 200)
    assert [
        (life.pid, life.generation, life.name, life.start_ns, life.stop_ns) for life in table.processes
    ] == [
        (100, 1, "shell", None, None),
        (200, 1, "first", 10, 20),
        (200, 2, "shell", 30, 40),
    ]
    assert table.lookup(200, 200, [5, 10, 19, 29, 30, 99]).tolist() == [1, 1, 1, 1, 2, 2]
    assert [table.process_of(200, time_ns) for time_ns in (5, 15, 35)] == [1, 1, 2]


def test_a_thread_id_that_is_used_again_within_a_process() -> None:
    table = ThreadTable()
    for birth in (10, 30, 50):
        table.add_fork(birth, 100, 101, 100, 100)
        table.add_exit(birth + 5, 100, 101)
    assert [life.generation for life in table.threads if life.tid == 101] == [1, 2, 3]
    assert len({life.process for life in table.threads}) == 1


def test_a_process_ends_with_its_last_thread() -> None:
    table = ThreadTable()
    table.add_name(0, 100, 100, "x", True)
    table.add_fork(1, 100, 101, 100, 100)
    table.add_exit(5, 100, 100)
    assert table.processes[0].stop_ns is None
    table.add_exit(9, 100, 101)
    assert table.processes[0].stop_ns == 9


def test_exec_ends_the_other_threads_and_forgets_the_command() -> None:
    table = ThreadTable()
    table.add_name(0, 100, 100, "python", True)
    table.add_process(0, 100, 1, "python", "python\0a.py")
    table.add_fork(1, 100, 101, 100, 100)
    table.add_name(5, 100, 100, "sh", True)
    assert table.threads[1].death_ns == 5
    assert table.processes[0].command == ""
    table.add_process(0, 100, 1, "sh", "sh\0-c\0true")
    assert table.processes[0].command == "sh\0-c\0true"
    assert len(table.processes) == 1


def test_a_zombie_in_proc_is_not_a_new_process() -> None:
    table = ThreadTable()
    table.add_fork(10, 200, 200, 100, 100)
    table.add_exit(20, 200, 200)
    table.add_process(9, 200, 100, "x", "x")
    table.add_thread(25, 9, 200, 200, "x")
    assert len(table.threads) == 1
    assert len(table.processes) == 1
    table.add_thread(90, 80, 200, 200, "y")
    assert [life.generation for life in table.threads] == [1, 2]


def test_names_depend_on_the_time() -> None:
    table = ThreadTable()
    table.add_name(0, 1, 1, "a", True)
    table.add_name(10, 1, 1, "b", False)
    table.add_fork(12, 1, 2, 1, 1)
    table.add_name(20, 1, 1, "a", False)
    texts, number = table.names_at(np.array([0, 0, 0, 0, 1, 1]), np.array([-5, 5, 10, 25, 12, 99]))
    assert [texts[index] for index in number.tolist()] == ["a", "a", "b", "a", "b", "b"]


def test_an_unannounced_thread_is_added_once() -> None:
    table = ThreadTable()
    found = table.lookup([7, 7, 7], [8, 9, 8], [1, 2, 3])
    assert found.tolist() == [0, 1, 0]
    assert [(life.tid, life.birth_ns) for life in table.threads] == [(8, BEFORE), (9, BEFORE)]
    assert [life.pid for life in table.processes] == [7]


@pytest.mark.fuzz
@example([(1, False), (1, True), (1, False), (2, True)], [(1, 0)])
@settings(max_examples=rounds(26, 5_000), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=40),
    st.lists(st.tuples(st.integers(1, 8), st.integers(0, 45)), min_size=1, max_size=40),
)
def test_lookup_agrees_with_a_search_through_all_lives(
    steps: list[tuple[int, bool]], asked: list[tuple[int, int]]
) -> None:
    table = ThreadTable()
    for time_ns, (tid, is_birth) in enumerate(steps):
        if is_birth:
            table.add_fork(time_ns, 1, tid, 1, 1)
        else:
            table.add_exit(time_ns, 1, tid)
    tids, times = (np.array(column) for column in zip(*asked, strict=True))
    found = table.lookup(1, tids, times)
    for index, tid, time_ns in zip(found.tolist(), tids.tolist(), times.tolist(), strict=True):
        uses = [number for number, life in enumerate(table.threads) if life.tid == tid]
        begun = [number for number in uses if table.threads[number].birth_ns <= time_ns]
        assert index == (begun[-1] if begun else uses[0])


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("/usr/bin/python3\0/srv/models/train.py\0--epochs\x003", "python3 train.py --epochs 3 [7]"),
        ("sleep 5", "sleep 5 [7]"),
        ("", "comm [7]"),
        ("x\0" + "y" * 100, "x " + "y" * 57 + "… [7]"),
    ],
)
def test_titles_of_processes_are_short(command: str, title: str) -> None:
    assert command_title(command, "comm", 7) == title


def a_recording(folder: Path) -> Session:
    """Process 200 twice, on one core, with switches of each; times from 1000."""
    folder.mkdir()
    writer = SpoolWriter(folder / "perf.spool", "perf")
    for birth in (2000, 5000):
        writer.append_packed(records.FORK, struct.pack("<QIIII", birth, 200, 200, 100, 100))
        rows = np.zeros(3, perf_records.switch)
        rows["type"], rows["size"], rows["pid"], rows["tid"], rows["cpu"] = 14, 32, 200, 200, 3
        rows["time_ns"] = birth + np.array([100, 300, 600])
        rows["misc"] = [0, 0x2000, 0]
        writer.append(perf_records.SWITCH, rows)
        writer.append_packed(records.EXIT, struct.pack("<QII", birth + 700, 200, 200))
    writer.append_packed(perf_records.LOST, struct.pack("<QQII", 6000, 17, 3, 0))
    writer.close()
    session = Session(
        directory=folder,
        output=folder,
        command=("sh",),
        working_directory="/",
        start_monotonic_ns=1000,
        start_realtime_ns=0,
        recorder_pid=1,
        target_pid=100,
        options=RecordingOptions(trace=default_trace()),
        stop_monotonic_ns=9000,
    )
    session.save()
    return session


def test_re_used_ids_are_tracks_of_their_own_in_the_capture(tmp_path: Path) -> None:
    a_recording(tmp_path / "s")
    done = finalise(tmp_path / "s", tmp_path / "x.h5")
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.span == (0, 8000)
        for generation, birth in ((1, 1000), (2, 4000)):
            track = (
                capture.track(f"process/200.{generation}/thread/200.1/state")
                if generation == 1
                else capture.track("process/200.2/thread/200.2/state")
            )
            rows = capture.rows_of_track(track.index)
            assert (capture.events.start[rows] - birth).tolist() == [0, 100, 300, 600]
            assert capture.events.duration[rows].tolist() == [100, 200, 300, 100]
            names = [capture.strings[int(number)] for number in capture.events.name[rows]]
            assert names == ["runnable", "running", "blocked", "running"]
        core = capture.rows_of_track(capture.track("cpu/3").index)
        assert capture.events.start[core].tolist() == [1100, 1600, 4100, 4600]
        source = next(source for source in capture.sources if source.name == "perf")
        assert source.lost == done.lost == 17
        assert "dropped 17 records" in source.reason


def test_a_failing_translator_does_not_affect_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object) -> None:
        raise ValueError("a record that makes no sense")

    a_recording(tmp_path / "s")
    monkeypatch.setattr("warpline.recording.sources.nvtx.translate.translate", broken)
    finalise(tmp_path / "s", tmp_path / "x.h5")
    with open_capture(tmp_path / "x.h5") as capture:
        assert any("a record that makes no sense" in warning for warning in capture.warnings)
        assert not next(source for source in capture.sources if source.name == "nvtx").enabled
        assert len(capture.kinds["thread_state"].rows) == 8
