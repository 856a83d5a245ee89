"""A ring of a program that starts processes and threads for ever: who ended before it costs nothing."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpline.recording.finalise import finalise
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.perf import records as perf_records
from warpline.recording.sources.registry import life_types, passing_types
from warpline.recording.spool import living, records
from warpline.recording.spool.file_layout import HEADER_BYTES
from warpline.recording.spool.limits import Limits
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.threads import ThreadTable
from warpline.recording.spool.writer import SpoolWriter
from warpline.storage import open_capture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

S = 1_000_000_000
RING = 10 * S
MAIN = 7
FIRST, EACH = 1000, 1000
_RECORD_BYTES_OFFSET = 8
_LIVES = {records.FORK: 12, records.EXIT: 12, records.COMM: 12, records.PROCESS_SEEN: 16}


def begin(writer: SpoolWriter, pids: np.ndarray, time_ns: int) -> None:
    """What is told of processes that begin."""
    name = writer.string("child")
    forks, comms = np.zeros(len(pids), records.fork), np.zeros(len(pids), records.comm)
    seen = np.zeros(len(pids), records.process_seen)
    for rows in (forks, comms, seen):
        rows["time_ns"], rows["pid"] = time_ns, pids
    forks["tid"] = comms["tid"] = pids
    forks["parent_pid"] = forks["parent_tid"] = seen["parent_pid"] = MAIN
    comms["name"] = seen["name"] = seen["command"] = name
    comms["is_exec"], seen["start_ns"] = 1, time_ns
    writer.append(records.FORK, forks)
    writer.append(records.COMM, comms)
    writer.append(records.PROCESS_SEEN, seen)


def end(writer: SpoolWriter, pids: np.ndarray, time_ns: int) -> None:
    """What is told of processes that end."""
    exits = np.zeros(len(pids), records.exit_)
    exits["time_ns"], exits["pid"], exits["tid"] = time_ns, pids, pids
    writer.append(records.EXIT, exits)


def test_records_of_lives_before_the_ring_free_their_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "perf.spool"
    writer = SpoolWriter(path, "perf")
    limits = Limits(
        tmp_path,
        RecordingOptions(trace=(), ring_ns=RING),
        passing_types(),
        now_ns=0,
        lasting=None,
        lives=life_types(),
    )
    there: set[int] = set()
    monkeypatch.setattr(living, "is_there", there.__contains__)
    assert _LIVES.items() <= life_types().items()
    blocks = []
    for second in range(250):
        # Each lives for half a second, but for one of each of the first fifty seconds.
        pids = FIRST + second * EACH + np.arange(EACH)
        begin(writer, pids, second * S)
        if second < 50:
            there.add(int(pids[-1]))
            pids = pids[:-1]
        end(writer, pids, second * S + S // 2)
        limits.look((second + 1) * S)
        blocks.append(path.stat().st_blocks * 512)
        if second % 61 == 0:
            found = set(SpoolFile(path).records(records.FORK, records.fork).values["pid"].tolist())
            # Of those that are there, and of those of the ring, nothing is missing.
            assert there <= found
            assert set(range(FIRST + max(0, second - 9) * EACH, FIRST + (second + 1) * EACH)) <= found
    # All of it would be 25 MB.
    assert max(blocks) < 12_000_000
    assert max(blocks[180:]) <= 1.2 * max(blocks[80:180])
    writer.close()


def test_a_capture_of_a_ring_has_no_threads_that_ended_before_it(tmp_path: Path) -> None:
    options = RecordingOptions(trace=("cpu",), ring_ns=RING)
    Session(
        directory=tmp_path,
        output=tmp_path / "x.h5",
        command=("x",),
        working_directory="/",
        start_monotonic_ns=S,
        start_realtime_ns=S,
        recorder_pid=1,
        target_pid=MAIN,
        options=options,
        stop_monotonic_ns=61 * S,
    ).save()
    writer = SpoolWriter(tmp_path / "perf.spool", "perf")
    for second in range(1, 60):
        begin(writer, np.array([100 + second]), second * S)
        if second not in (5, 58):
            end(writer, np.array([100 + second]), second * S + S // 2)
        row = np.zeros(2, perf_records.switch)
        row["time_ns"] = second * S + 100, second * S + 200
        row["pid"] = row["tid"] = 100 + second
        row["misc"] = 0, 1 << 13
        writer.append(perf_records.SWITCH, row)
    writer.close()
    procfs = SpoolWriter(tmp_path / "procfs.spool", "procfs")
    text = procfs.string("0 1")
    for second in (2, 5, 55):
        procfs.append_packed(127, struct.pack("<QII", second * S + 3, 100 + second, text))
    procfs.close()
    with open_capture(finalise(tmp_path, tmp_path / "x.h5").path) as capture:
        begun = {process.pid for process in capture.processes}
        assert begun == {105, *range(151, 160)}
        assert all(process.name == "child" for process in capture.processes)
        cores = capture.meta["allowed_cores"]
        assert [capture.processes[entry["process"]].pid for entry in cores] == [105, 155]
        assert [entry["time_ns"] for entry in cores] == [0, 4 * S + 3]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(2, 6), st.integers(0, 100), st.integers(0, 30)), max_size=30),
    st.integers(0, 130),
)
def test_forgetting_old_threads_keeps_the_others_unchanged(
    lives: list[tuple[int, int, int]], start: int
) -> None:
    """Threads by their ids at moments of the ring are the same with what ended before it and without."""
    whole, cut = ThreadTable(), ThreadTable()
    steps = []
    for tid, begin, length in lives:
        steps.append((begin, 0, tid))
        steps.append((begin + length, 1, tid))
    for time_ns, what, tid in sorted(steps):
        for table in (whole, cut):
            if what:
                table.add_exit(time_ns, tid, tid)
            else:
                table.add_fork(time_ns, tid, tid, MAIN, MAIN)
    cut.forget_before(start)
    assert all(thread.death_ns is None or thread.death_ns >= start for thread in cut.threads)
    for thread in cut.threads:
        for time_ns in {max(thread.birth_ns, start), (thread.death_ns or 200) - 1}:
            if thread.birth_ns <= time_ns and time_ns >= start:
                one = whole.threads[int(whole.lookup(thread.tid, thread.tid, time_ns)[0])]
                other = cut.threads[int(cut.lookup(thread.tid, thread.tid, time_ns)[0])]
                assert (one.birth_ns, one.death_ns, one.generation) == (
                    other.birth_ns,
                    other.death_ns,
                    other.generation,
                )
                assert whole.processes[one.process].pid == cut.processes[other.process].pid


def test_damaged_chunks_of_lives_do_not_end_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "perf.spool"
    writer = SpoolWriter(path, "perf")
    limits = Limits(
        tmp_path, RecordingOptions(trace=(), ring_ns=RING), (), now_ns=0, lasting=None, lives=life_types()
    )
    for second in range(1, 80):
        begin(writer, 2**32 - 1 - np.arange(1000), second * S)
        if second % 20 == 1:
            with path.open("r+b") as file:
                file.seek(HEADER_BYTES + _RECORD_BYTES_OFFSET)
                file.write(struct.pack("<I", (0, 3, 2**31, 24)[second // 20]))
        assert limits.look(second * S) == ""
    writer.close()
