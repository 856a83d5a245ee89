"""What a ring leaves of each kind of record: nothing from before it, and what reaches into it begins with it."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from warpline.model import Flag
from warpline.recording.finalise import finalise
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.cuda import records as cuda
from warpline.recording.sources.nvtx import records as nvtx
from warpline.recording.sources.registry import recording_sources
from warpline.recording.spool import records
from warpline.recording.spool.record_layout import RecordLayout
from warpline.recording.spool.writer import SpoolWriter
from warpline.storage import open_capture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

S = 1_000_000_000
REALTIME = 1_760_000_000 * S
"""What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC here."""
STOP, RING = 61 * S, 10 * S
START = STOP - RING
PID = 7
_WIDE = 256
"""Bytes of a record of any type: readers use its beginning."""


def save_session(folder: Path) -> None:
    """A minute that was recorded with a ring of ten seconds."""
    options = RecordingOptions(trace=("cuda",), ring_ns=RING)
    Session(
        directory=folder,
        output=folder / "x.h5",
        command=("x",),
        working_directory="/",
        start_monotonic_ns=S,
        start_realtime_ns=S + REALTIME,
        recorder_pid=1,
        target_pid=PID,
        options=options,
        stop_monotonic_ns=STOP,
    ).save()


def agent_file(folder: Path) -> SpoolWriter:
    """The file of the one process."""
    path = folder / f"agent.{PID}.1.spool"
    writer = SpoolWriter(path, "agent")
    with path.open("r+b") as file:
        file.seek(12)
        file.write(struct.pack("<I", PID))
    return writer


def rows_in_seconds(layout: RecordLayout, pairs: list[tuple[int, int]], ahead_ns: int) -> np.ndarray:
    """Records from a second to another of CLOCK_MONOTONIC, in a clock that is ahead of it."""
    rows = np.zeros(len(pairs), layout)
    rows["start_ns"] = [START + first * S + ahead_ns for first, _last in pairs]
    rows["end_ns"] = [START + last * S + ahead_ns for _first, last in pairs]
    return rows


@pytest.mark.parametrize(("clock", "ahead_ns"), [(0, 0), (0, REALTIME), (1, REALTIME)])
def test_work_of_a_gpu_is_cut_to_the_ring_whatever_its_clock(
    tmp_path: Path, clock: int, ahead_ns: int
) -> None:
    writer = agent_file(tmp_path)
    pairs = np.zeros(2, records.clock_pair)
    pairs["monotonic_ns"] = [S, STOP]
    pairs["realtime_ns"] = pairs["monotonic_ns"] + np.uint64(REALTIME)
    writer.append(records.CLOCK_PAIR, pairs)
    session = np.zeros(1, cuda.cupti_session)
    session["clock"] = clock
    writer.append(cuda.CUPTI_SESSION, session)
    work = [(-9, -8), (-3, 2), (4, 5)]
    kernels = rows_in_seconds(cuda.cupti_kernel, work, ahead_ns)
    kernels["queued_ns"] = kernels["start_ns"] - np.uint64(S)
    writer.append(cuda.CUPTI_KERNEL, kernels)
    writer.append(cuda.CUPTI_RUNTIME, rows_in_seconds(cuda.cupti_api, work, ahead_ns))
    memory = np.zeros(3, cuda.cupti_memory)
    memory["time_ns"] = [START + second * S + ahead_ns for second in (-5, 1, 2)]
    memory["operation"], memory["bytes"] = [1, 1, 2], [100, 10, 100]
    writer.append(cuda.CUPTI_MEMORY, memory)
    writer.close()
    save_session(tmp_path)
    done = finalise(tmp_path, tmp_path / "x.h5")
    assert not done.damaged
    with open_capture(done.path) as capture:
        found: dict[str, list[tuple[int, int]]] = {}
        events = capture.events
        for kind, start, duration in zip(
            events.kind.tolist(), events.start.tolist(), events.duration.tolist(), strict=True
        ):
            found.setdefault(capture.kind_of_code[kind], []).append((start, start + duration))
        assert sorted(found["kernel"]) == sorted(found["cuda_api"]) == [(0, 2 * S), (4 * S, 5 * S)]
        assert sorted(found["memory"]) == [(S, S), (2 * S, 2 * S)]
        (counter,) = capture.counters
        # What was taken before the ring still counts.
        assert counter.values.tolist() == [110, 10]


def test_ranges_started_before_the_ring_begin_at_its_start(tmp_path: Path) -> None:
    writer = agent_file(tmp_path)
    starts, ends = np.zeros(4, nvtx.nvtx_start), np.zeros(3, nvtx.nvtx_end)
    starts["range"], ends["range"] = [1, 2, 3, 4], [1, 2, 3]
    starts["name"] = [writer.string(name) for name in ("gone", "reaching", "inside", "endless")]
    starts["time_ns"] = [START + second * S for second in (-46, -11, 3, -20)]
    ends["time_ns"] = [START + second * S for second in (-45, 2, 4)]
    writer.append(nvtx.NVTX_START, starts)
    writer.append(nvtx.NVTX_END, ends)
    writer.close()
    save_session(tmp_path)
    with open_capture(finalise(tmp_path, tmp_path / "x.h5").path) as capture:
        events = capture.events
        found = {
            capture.strings[name]: (start, start + duration, bool(flags & Flag.CUT_START))
            for name, start, duration, flags in zip(
                events.name.tolist(),
                events.start.tolist(),
                events.duration.tolist(),
                events.flags.tolist(),
                strict=True,
            )
        }
    assert found == {
        "reaching": (0, 2 * S, True),
        "inside": (3 * S, 4 * S, False),
        "endless": (0, 10 * S, True),
    }


def pushed(seconds: float, name: int, level: int) -> tuple[int, int, int, int]:
    """A push of a range (or its pop) in domain 0, so many seconds from the ring's beginning."""
    return (START + round(seconds * S), name, 0, level)


def test_ranges_pushed_before_the_ring_keep_their_names(tmp_path: Path) -> None:
    writer = agent_file(tmp_path)
    epoch, step, gone = (writer.string(name) for name in ("epoch", "step", "gone"))
    pop = nvtx.POP
    rows = [
        pushed(-40, gone, 0), pushed(-39, pop, 0), pushed(-30, epoch, 0), pushed(-20, gone, 1), pushed(-19, pop, 1),
        pushed(-2, step, 1), pushed(1, pop, 1), pushed(2, step, 1), pushed(3, pop, 1), pushed(5, pop, 0),
    ]  # fmt: skip
    writer.append(nvtx.NVTX_RANGE, np.array(rows, nvtx.nvtx_range), free=3)
    endless = np.array([pushed(-35, epoch, 0)], nvtx.nvtx_range)
    writer.append(nvtx.NVTX_RANGE, endless, free=4)
    writer.close()
    save_session(tmp_path)
    with open_capture(finalise(tmp_path, tmp_path / "x.h5").path) as capture:
        events = capture.events
        columns = (events.name, events.start, events.duration, events.flags)
        found = sorted(
            (capture.strings[name], start, start + duration, bool(flags & Flag.CUT_START))
            for name, start, duration, flags in zip(*(column.tolist() for column in columns), strict=True)
        )
    assert found == [
        ("epoch", 0, 5 * S, True),
        ("epoch", 0, 10 * S, True),
        ("step", 0, S, True),
        ("step", 2 * S, 3 * S, False),
    ]


def test_no_record_of_any_type_is_before_the_ring(tmp_path: Path) -> None:
    sources = recording_sources()
    places = {number: (first, first) for source in sources for number, first in source.timed_records}
    places |= {number: (first, last) for source in sources for number, first, last in source.passing_records}
    places |= {number: (0, 8) for source in sources for number in source.passing_in_own_clock}
    places |= dict.fromkeys((nvtx.NVTX_START, nvtx.NVTX_END, cuda.CUPTI_MEMORY), (0, 0))
    when = [(-40, -30), (-20, -1), (-5, 3), (1, 2)]
    producers = ("agent", "perf", "procfs", "nvml", "recorder", "python", "stacks")
    for number, producer in enumerate(producers):
        path = tmp_path / f"{producer}.{number}.spool"
        writer = SpoolWriter(path, producer)
        writer.append(cuda.CUPTI_SESSION, np.zeros(1, cuda.cupti_session))
        for record_type, (first, last) in sorted(places.items()):
            rows = np.zeros((len(when), _WIDE), np.uint8)
            for row, (begin, end) in zip(rows, when, strict=True):
                row[last : last + 8] = np.frombuffer(struct.pack("<Q", START + end * S), np.uint8)
                row[first : first + 8] = np.frombuffer(struct.pack("<Q", START + begin * S), np.uint8)
            writer.append(record_type, rows.reshape(-1).view(np.dtype([("bytes", f"V{_WIDE}")])))
        writer.close()
    save_session(tmp_path)
    with open_capture(finalise(tmp_path, tmp_path / "x.h5").path) as capture:
        kinds = {capture.kind_of_code[kind] for kind in np.unique(capture.events.kind).tolist()}
        assert {"kernel", "memcpy", "memset", "memory", "cuda_api", "range"} <= kinds
        early = capture.events.start < 0
        assert not early.any(), {
            capture.kind_of_code[kind] for kind in np.unique(capture.events.kind[early]).tolist()
        }
        for counter in capture.counters:
            assert not len(counter.times) or int(counter.times[0]) >= 0
