"""Rings, sizes and times: what a recording keeps, and when it ends."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.unit.recording.recording_tools import needs_perf, python, record

from warpline.cli.limits import long_time_ns, size_bytes
from warpline.recording.finalise import finalise
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.nvtx import records as nvtx
from warpline.recording.sources.registry import lasting_types, passing_types
from warpline.recording.spool import limits as limits_module
from warpline.recording.spool.directory import new_spool
from warpline.recording.spool.file_layout import CHUNK, CLOSED_OFFSET, COMMITTED_OFFSET, HEADER_BYTES, PAGE
from warpline.recording.spool.limits import Limits, has_no_writer
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.writer import SpoolWriter
from warpline.storage import open_capture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

SAMPLE = np.dtype([("time_ns", "<u8"), ("index", "<u4"), ("metric", "<u4"), ("value", "<f8")])
NVML_SAMPLE = 601
S = 1_000_000_000
_RECORD_BYTES_OFFSET, _SIZE_OFFSET = 8, 16


def samples(first: int, count: int) -> np.ndarray:
    """Samples of a GPU, one a millisecond from a second on."""
    rows = np.zeros(count, SAMPLE)
    rows["time_ns"] = (first + np.arange(count)) * 1_000_000
    rows["metric"], rows["value"] = 1, 0.5
    return rows


def times_ms(path: Path) -> list[int]:
    """What a reader finds of them."""
    found: list[int] = (SpoolFile(path).records(NVML_SAMPLE, SAMPLE).values["time_ns"] // 1_000_000).tolist()
    return found


def test_a_ring_drops_old_records_and_frees_their_space(tmp_path: Path) -> None:
    path = tmp_path / "nvml.spool"
    writer = SpoolWriter(path, "nvml")
    limits = Limits(tmp_path, RecordingOptions(trace=(), ring_ns=20 * S), (NVML_SAMPLE,), now_ns=0)
    blocks = []
    for second in range(400):
        writer.append(NVML_SAMPLE, samples(second * 1000, 1000))
        assert writer.string(f"name {second}") == second + 1
        assert limits.look((second + 1) * S) == ""
        blocks.append(path.stat().st_blocks * 512)
        found = times_ms(path) if second % 57 == 0 else []
        # Whatever is of the ring is there, in order and once.
        assert not found or found == list(range(found[0], (second + 1) * 1000)), second
        assert not found or found[0] <= max(0, (second - 20) * 1000)
    assert max(blocks[200:]) <= 1.1 * max(blocks[:200])
    assert blocks[-1] < 400_000 * SAMPLE.itemsize / 2
    assert len(SpoolFile(path).strings) == 401
    writer.close()


def test_files_of_processes_that_ended_before_the_ring_are_removed(tmp_path: Path) -> None:
    ended, running = (SpoolWriter(tmp_path / f"agent.{pid}.1.spool", "agent") for pid in (11, 12))
    recorder = SpoolWriter(tmp_path / "recorder.spool", "recorder")
    limits = Limits(tmp_path, RecordingOptions(trace=(), ring_ns=20 * S), (), now_ns=0)
    limits.look(S)
    ended.close()
    recorder.close()
    for second in range(2, 22):
        limits.look(second * S)
    assert len(list(tmp_path.iterdir())) == 3
    limits.look(30 * S)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.12.1.spool", "recorder.spool"]
    running.close()


def close_chunks(path: Path, frees: set[int]) -> None:
    """What the agent does when threads end, told apart by ``free``."""
    with path.open("r+b") as file:
        position = HEADER_BYTES
        while True:
            file.seek(position)
            raw = file.read(CHUNK.size)
            if len(raw) < CHUNK.size:
                return
            size, free = CHUNK.unpack(raw)[4] or PAGE, CHUNK.unpack(raw)[6]
            if free in frees:
                file.seek(position + CLOSED_OFFSET)
                file.write((1).to_bytes(4, "little"))
            position += size


def test_records_of_threads_that_ended_before_the_ring_free_their_space(tmp_path: Path) -> None:
    path = tmp_path / "agent.11.1.spool"
    writer = SpoolWriter(path, "agent")
    limits = Limits(tmp_path, RecordingOptions(trace=(), ring_ns=20 * S), (NVML_SAMPLE,), now_ns=0)
    blocks = []
    for second in range(100):
        # Two threads a second, the later one ends first; one that lives on wrote before all others.
        for thread in (1, 2 * second + 2, 2 * second + 3):
            writer.append(NVML_SAMPLE, samples(second * 1000 + thread % 2, 1), free=thread)
        close_chunks(path, {2 * second + 3, 2 * second})
        limits.look((second + 1) * S)
        blocks.append(path.stat().st_blocks * 512)
    assert max(blocks[50:]) <= 1.1 * max(blocks[:50])
    # All that is of the ring is there, and all of the thread that lives on.
    found = SpoolFile(path).records(NVML_SAMPLE, SAMPLE).free.tolist()
    assert found.count(1) == 100
    assert set(range(164, 202)) <= set(found)
    writer.close()


def test_a_chunk_that_never_began_keeps_none_behind_it_in_the_ring(tmp_path: Path) -> None:
    path = tmp_path / "nvml.spool"
    writer = SpoolWriter(path, "nvml")
    for thread in (1, 2, 3):
        writer.append(NVML_SAMPLE, samples(0, 1), free=thread)
    writer.close()
    with path.open("r+b") as file:
        file.seek(HEADER_BYTES)
        size = CHUNK.unpack(file.read(CHUNK.size))[4]
        file.seek(HEADER_BYTES)
        file.write(bytes(size))  # taken by a process that was killed then
    close_chunks(path, {2, 3})
    limits = Limits(tmp_path, RecordingOptions(trace=(), ring_ns=20 * S), (NVML_SAMPLE,), now_ns=0)
    for second in range(1, 60):
        limits.look(second * S)
    assert not times_ms(path)


def ranges_of(path: Path) -> list[tuple[int, int, int]]:
    """What is left of pushes and pops: second, name, level."""
    left = SpoolFile(path).records(nvtx.NVTX_RANGE, nvtx.nvtx_range).values[["time_ns", "name", "level"]]
    return sorted((time // S, name, level) for time, name, level in left.tolist())


def test_open_ranges_stay_in_the_ring_until_they_end(tmp_path: Path) -> None:
    path = tmp_path / "agent.11.1.spool"
    writer = SpoolWriter(path, "agent")
    limits = Limits(
        tmp_path,
        RecordingOptions(trace=(), ring_ns=20 * S),
        passing_types(),
        now_ns=0,
        lasting=lasting_types(),
    )
    blocks = []
    for second in range(120):
        # An outer range from the beginning to the 80th second, in it 2,000 short ones a second.
        rows = np.zeros(4002, nvtx.nvtx_range)
        rows["time_ns"] = second * S + np.arange(4002)
        rows["name"] = np.where(np.arange(4002) % 2, 2, nvtx.POP)
        rows["level"] = 1
        first = {0: 1, 80: nvtx.POP}.get(second)
        if first is not None:
            rows["name"][0], rows["level"][0] = first, 0
        writer.append(nvtx.NVTX_RANGE, rows[0 if first is not None else 1 : -1], free=5)
        limits.look((second + 1) * S)
        blocks.append(path.stat().st_blocks * 512)
        outer = [entry for entry in ranges_of(path) if not entry[2]] if second in (60, 79, 119) else []
        if second in (60, 79):
            assert outer == [(0, 1, 0)]
    assert len(outer) <= 1
    assert (0, 1, 0) not in outer, "it ended before the ring"
    assert max(blocks[60:]) <= 1.2 * max(blocks[:60])
    writer.close()


def test_files_of_killed_processes_are_removed_as_well(tmp_path: Path) -> None:
    path = tmp_path / "agent.11.1.spool"
    child = os.fork()
    if not child:
        SpoolWriter(path, "agent")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    living = SpoolWriter(tmp_path / "agent.12.1.spool", "agent")
    if not has_no_writer(path):
        pytest.skip("the file system grants no leases")
    assert not has_no_writer(tmp_path / "agent.12.1.spool")
    limits = Limits(tmp_path, RecordingOptions(trace=(), ring_ns=20 * S), (), now_ns=0)
    limits.look(S)
    limits.look(15 * S)
    assert path.exists(), "it ended inside the ring"
    limits.look(30 * S)
    assert [entry.name for entry in tmp_path.iterdir()] == ["agent.12.1.spool"]
    living.close()


def test_on_a_file_system_that_hides_maps_writers_count_as_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent.11.1.spool"
    SpoolWriter(path, "agent")
    monkeypatch.setattr(limits_module, "_grants_lease", lambda _path: True)  # as overlayfs does
    assert not has_no_writer(path)


@pytest.mark.parametrize("value", [0, 1 << 20, 1 << 62, (1 << 64) - PAGE])
@pytest.mark.parametrize("offset", [_RECORD_BYTES_OFFSET, _SIZE_OFFSET, COMMITTED_OFFSET])
def test_a_program_that_overwrites_its_spool_does_not_end_the_recording(
    tmp_path: Path, offset: int, value: int
) -> None:
    path = tmp_path / "agent.11.1.spool"
    writer = SpoolWriter(path, "agent")
    limits = Limits(
        tmp_path,
        RecordingOptions(trace=(), ring_ns=20 * S),
        passing_types(),
        now_ns=0,
        lasting=lasting_types(),
    )
    rows = np.zeros(3000, nvtx.nvtx_range)
    for second in range(1, 60):
        writer.append(nvtx.NVTX_RANGE, rows, free=5)
        if second == 3:
            width = 4 if offset == _RECORD_BYTES_OFFSET else 8
            with path.open("r+b") as file:
                file.seek(first_chunk_of(path, nvtx.NVTX_RANGE) + offset)
                file.write((value % (1 << 8 * width)).to_bytes(width, "little"))
        assert limits.look(second * S) == ""
    writer.close()


def first_chunk_of(path: Path, record_type: int) -> int:
    """Where the first chunk with such records begins."""
    raw, position = path.read_bytes(), HEADER_BYTES
    while CHUNK.unpack_from(raw, position)[1] != record_type:
        position += CHUNK.unpack_from(raw, position)[4]
    return position


def spool_of_a_minute(folder: Path, ring_ns: int) -> Path:
    """A minute of samples, and a session that begins with them."""
    spool = folder / "run.h5.spool"
    options = RecordingOptions(trace=("nvml",), ring_ns=ring_ns)
    with new_spool(spool):
        Session(
            directory=spool,
            output=folder / "run.h5",
            command=("x",),
            working_directory="/",
            start_monotonic_ns=S,
            start_realtime_ns=100 * S,
            recorder_pid=1,
            target_pid=2,
            options=options,
            stop_monotonic_ns=61 * S,
        ).save()
        SpoolWriter(spool / "recorder.spool", "recorder").close()
        writer = SpoolWriter(spool / "nvml.spool", "nvml")
        device = np.array(
            [(S, 0, writer.string("GPU"), 1 << 30, writer.string("GPU-1"), 0)],
            [(name, "<u8" if name in ("t", "m") else "<u4") for name in ("t", "i", "n", "m", "u", "r")],
        )
        writer.append(600, device)
        writer.append(NVML_SAMPLE, samples(1000, 60_000))
        writer.close()
    return spool


@pytest.mark.parametrize(("ring_s", "kept_s"), [(0, 60), (10, 10), (600, 60)])
def test_a_capture_is_as_long_as_its_ring(tmp_path: Path, ring_s: int, kept_s: int) -> None:
    done = finalise(spool_of_a_minute(tmp_path, ring_s * S), tmp_path / "run.h5")
    with open_capture(done.path) as capture:
        assert capture.span == (0, kept_s * S)
        (counter,) = capture.counters
        assert len(counter.times) == pytest.approx(1000 * kept_s, abs=1)
        assert int(counter.times[0]) == 0
        # When that was does not change.
        assert capture.meta["start_utc_ns"] == (100 + 60 - kept_s) * S


def test_limits_of_size_and_time_end_a_recording_with_a_reason(tmp_path: Path) -> None:
    with (tmp_path / "x.spool").open("wb") as file:
        file.write(os.urandom(1 << 20))  # zeros take no room on file systems that compress
        file.flush()
        os.fsync(file.fileno())
    begun = time.monotonic_ns()
    small = Limits(tmp_path, RecordingOptions(trace=(), max_size_bytes=1 << 19), (), now_ns=begun)
    large = Limits(tmp_path, RecordingOptions(trace=(), max_size_bytes=1 << 30), (), now_ns=begun)
    short = Limits(tmp_path, RecordingOptions(trace=(), max_duration_ns=S), (), now_ns=begun)
    assert "--max-size" in small.look(begun + 1)
    assert large.look(begun + 10 * S) == ""
    assert short.look(begun + S // 2) == ""
    assert "--max-duration" in short.look(begun + S)


def test_sizes_and_times_accept_usual_units() -> None:
    assert [long_time_ns(text) for text in ("10m", "90s", "1.5h", "2min", "20ms")] == [
        600 * S,
        90 * S,
        5400 * S,
        120 * S,
        S // 50,
    ]
    assert [size_bytes(text) for text in ("500M", "2G", "1.5k", "7", "3 GiB", "1tb")] == [
        500 << 20,
        2 << 30,
        1536,
        7,
        3 << 30,
        1 << 40,
    ]
    for wrong in ("", "0", "-1s", "m", "1e9h", "nan", "9" * 400 + "h", "9" * 400):
        with pytest.raises(argparse.ArgumentTypeError):
            long_time_ns(wrong)
    for wrong in ("", "0", "-1", "2X", "G", "nan", "1e3", "9" * 400 + "G"):
        with pytest.raises(argparse.ArgumentTypeError):
            size_bytes(wrong)


@needs_perf
def test_a_recording_with_a_ring_ends_at_its_limit(tmp_path: Path) -> None:
    script = """
        import os, time
        print("begun", flush=True)
        deadline = time.monotonic() + 60
        while not os.path.exists("run.h5") and time.monotonic() < deadline: time.sleep(0.001)
        print("done", flush=True)
    """
    options = ["--ring", "200ms", "--max-duration", "700ms", "--trace", "cpu"]
    done = record(tmp_path, *python(script), options=options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [b"begun", b"done"]
    assert b"before have left the ring; the recording ended after --max-duration" in done.stderr
    with open_capture(tmp_path / "run.h5") as capture:
        assert capture.span == (0, S // 5)
        starts = np.asarray(capture.events.start)
        assert (starts >= 0).all()  # a program that had no core has none
        gone, ended = capture.warnings
        assert gone.startswith("--ring kept only the end: ")
        assert gone.endswith(" are gone")
        assert ended == "the recording ended after --max-duration"
        assert capture.meta["incomplete"] == [gone, ended]
        assert json.loads(json.dumps(capture.meta["recording"]))["ring_ns"] == S // 5
