"""A recording and a trace of the same run: one process, one clock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.interchange.import_tools import trace_file
from tests.unit.recording.recording_tools import needs_perf, python, record

from warpline.cli import main
from warpline.interchange import is_capture, join_files
from warpline.model import Cancelled, ImportFormatError, UsageError
from warpline.storage import Capture, CaptureBuilder, open_capture

MS = 1_000_000
UTC_NS = 1_700_000_000 * 10**9
BOOT_NS = 5_000 * 10**9
SPAN_NS = 100 * MS
STATE = "process/71.1/thread/72.1/state"


def recording(folder: Path, pid: int = 71) -> Path:
    """100 ms of thread 72 of a process, running for the first half, with a GPU; begun at `UTC_NS` and `BOOT_NS`."""
    path = folder / "run.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, SPAN_NS)
        builder.meta.update(
            start_utc_ns=UTC_NS, start_monotonic_ns=BOOT_NS, tool="warpline", trace=["cpu", "osrt"]
        )
        process = builder.add_process(pid, name="python", command="python train.py")
        group = builder.track(
            f"process/{pid}.1", title=f"python train.py [{pid}]", role="process", process=process
        )
        thread = builder.add_thread(process, 72, name="trainer")
        base = f"process/{pid}.1/thread/72.1"
        above = builder.track(
            base, title="trainer  72", role="thread", parent=group, process=process, thread=thread
        )
        for role, kind in (("state", "thread_state"), ("ranges", "range")):
            track = builder.track(f"{base}/{role}", role=role, parent=above, process=process, thread=thread)
            builder.add_events(track, kind, [0], [50 * MS], builder.string("running"))
        builder.add_device(0, "H100")
        builder.track("gpu/0", role="gpu", device=0, title="GPU 0  H100")
        builder.add_source("perf", True)
        builder.finish()
    return path


def span(
    name: str, start_ms: float, stop_ms: float, base_ns: int, pid: int = 71, tid: int = 72
) -> dict[str, Any]:
    us = base_ns / 1000 + start_ms * 1000
    return {"ph": "X", "name": name, "ts": us, "dur": (stop_ms - start_ms) * 1000, "pid": pid, "tid": tid}


def spans_of(capture: Capture, kind: str) -> dict[str, tuple[int, int, str]]:
    """Capture times in ms and the track of the events of a kind, by name."""
    found = {}
    for row in capture.kinds[kind].rows.tolist():
        start, stop = capture.event_span(row)
        uri = capture.tracks[capture.track_of_row(row)].uri
        found[capture.strings[int(capture.events.name[row])]] = (
            round(start / MS),
            round(stop / MS),
            uri.rpartition("/")[0],
        )
    return found


def joined(tmp_path: Path, *files: Path, **options: Any) -> Capture:
    return open_capture(join_files(files, tmp_path / "both.h5", **options))


@pytest.mark.parametrize(("base", "method"), [(UTC_NS, "utc"), (BOOT_NS, "monotonic")])
def test_a_programs_own_trace_joins_by_clock_and_process(tmp_path: Path, base: int, method: str) -> None:
    events = [span("epoch 1", 10, 20, base), span("worker", 30, 60, base, tid=99)]
    trace = trace_file(tmp_path, events)
    # The order of the files says nothing.
    with joined(tmp_path, trace, recording(tmp_path)) as capture:
        ranges = spans_of(capture, "range")
        assert ranges["epoch 1"] == (10, 20, "process/71.1/thread/72.1/ranges")
        assert ranges["running"] == (0, 50, "process/71.1/thread/72.1")
        assert ranges["worker"] == (30, 60, "process/71.1/thread/99.1")
        assert spans_of(capture, "thread_state")["running"] == (0, 50, "process/71.1/thread/72.1")
        assert [process.pid for process in capture.processes] == [71]
        assert [(thread.tid, thread.name) for thread in capture.threads] == [(72, "trainer"), (99, "")]
        # States and the trace's ranges are of one thread, so reports put them together.
        owners = {
            capture.tracks[capture.track_of_row(r)].thread for r in capture.kinds["range"].rows.tolist()
        }
        assert capture.track(STATE).thread in owners
        assert capture.track("process/71.1").title == "python train.py [71]"
        assert capture.span == (0, SPAN_NS)
        (clock,) = capture.clocks[1:]
        assert (clock.name, clock.method) == ("trace.json", method)
        assert capture.meta["alignment"]["method"] == method
        assert [entry["format"] for entry in capture.meta["imported_from"]] == ["warpline", "chrome"]
        assert "exported_from" not in capture.meta


def test_a_kineto_trace_joins_with_its_gpu_and_operators(tmp_path: Path) -> None:
    def event(category: str, name: str, start_ms: float, stop_ms: float, **fields: Any) -> dict[str, Any]:
        args = fields.pop("args", {})
        return span(name, start_ms, stop_ms, 0) | {"cat": category, "args": args} | fields

    gpu = {"device": 0, "context": 1, "stream": 7, "correlation": 5}
    events = [
        event("cpu_op", "aten::mm", 10, 30, args={"External id": 1}),
        event("cuda_runtime", "cudaLaunchKernel", 12, 13, args={"correlation": 5}),
        event("kernel", "gemm", 20, 120, pid=0, tid=7, args=gpu),
        {"ph": "M", "name": "process_name", "pid": 71, "args": {"name": "python3"}},
    ]
    trace = trace_file(
        tmp_path,
        events,
        schemaVersion=1,
        deviceProperties=[{"id": 0, "name": "H100"}],
        baseTimeNanoseconds=UTC_NS,
    )
    with joined(tmp_path, recording(tmp_path), trace) as capture:
        assert spans_of(capture, "operator")["aten::mm"] == (10, 30, "process/71.1/thread/72.1")
        kernel = int(capture.kinds["kernel"].rows[0])
        assert [round(t / MS) for t in capture.event_span(kernel)] == [20, 120]
        (call,) = capture.links_to(kernel)[0].tolist()
        assert capture.strings[int(capture.events.name[call])] == "cudaLaunchKernel"
        assert [device.name for device in capture.devices] == ["H100"]
        # The recording's names stay, and the capture lasts as long as what is in it.
        assert capture.processes[0].name == "python"
        assert capture.span == (0, 120 * MS)
        assert capture.meta["trace"] == ["cpu", "osrt"]
        assert capture.meta["trace_header"]["file"]["schemaVersion"] == 1


def test_traces_of_other_runs_are_refused(tmp_path: Path) -> None:
    run = recording(tmp_path)
    stranger = trace_file(tmp_path, [span("a", 1, 2, UTC_NS, pid=4711)], "stranger.json")
    with pytest.raises(ImportFormatError, match=r"4711.*was recorded \(71\)"):
        join_files([run, stranger], tmp_path / "both.h5")
    own = trace_file(tmp_path, [span("a", 1, 2, UTC_NS)], "own.json")
    with pytest.raises(ImportFormatError, match=r"stranger.*4711.*was recorded \(71\)"):
        join_files([run, own, stranger], tmp_path / "both.h5")
    late = trace_file(tmp_path, [span("a", 1, 2, UTC_NS + 3600 * 10**9)], "late.json")
    with pytest.raises(ImportFormatError, match=r"not from the same run"):
        join_files([run, late], tmp_path / "both.h5")
    assert not (tmp_path / "both.h5").exists()
    with joined(tmp_path, run, late, align="start") as capture:
        assert spans_of(capture, "range")["a"][:2] == (0, 1)
        assert capture.clocks[1].method == "start"
    with pytest.raises(UsageError, match="another file"):
        join_files([run, late], run)
    with pytest.raises(UsageError, match="not 2"):
        join_files([run, run], tmp_path / "both.h5")
    with pytest.raises(UsageError, match="collectives"):
        join_files([run, late], tmp_path / "both.h5", align="collectives")
    assert is_capture(run)
    assert not is_capture(late)
    assert not is_capture(tmp_path / "nothing.h5")


def test_several_traces_join_one_recording(tmp_path: Path) -> None:
    first = trace_file(tmp_path, [span("a", 10, 20, UTC_NS)], "a.json")
    second = trace_file(tmp_path, [span("b", 15, 25, BOOT_NS)], "b.json")
    with joined(tmp_path, recording(tmp_path), first, second) as capture:
        ranges = spans_of(capture, "range")
        assert ranges["a"][:2] == (10, 20)
        assert ranges["b"][:2] == (15, 25)
        assert [clock.method for clock in capture.clocks[1:]] == ["utc", "monotonic"]
        # Each trace has its own row, for their clocks may be moved apart.
        rows = capture.kinds["range"].rows.tolist()
        assert len({capture.track_of_row(row) for row in rows}) == len(rows) == 3
        assert {capture.tracks[capture.track_of_row(row)].clock for row in rows} == {0, 1, 2}


def test_joining_reports_progress_and_can_be_cancelled(tmp_path: Path) -> None:
    run, trace = recording(tmp_path), trace_file(tmp_path, [span("a", 10, 20, UTC_NS)])
    seen: list[float] = []
    with joined(tmp_path, run, trace, progress=lambda fraction, _text: seen.append(fraction)):
        assert seen == sorted(seen)
        assert 0 <= seen[0] < seen[-1] <= 1
    with pytest.raises(Cancelled):
        join_files([run, trace], tmp_path / "none.h5", cancelled=lambda: True)
    assert not (tmp_path / "none.h5").exists()


def test_the_command_line_joins_and_says_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, trace = recording(tmp_path), trace_file(tmp_path, [span("a", 10, 20, BOOT_NS)])
    out = tmp_path / "both.h5"
    assert main(["import", str(run), str(trace), "-o", str(out)]) == 0
    output = capsys.readouterr().out
    assert "trace.json: aligned by the machine's monotonic clock" in output
    assert "why this alignment: both use the machine's monotonic clock" in output
    assert main(["info", str(out), "--verify"]) == 0


PROGRAM = """
    import json, os, threading, time
    begin = CLOCK()
    time.sleep(0.05)
    event = {"ph": "X", "name": "nap", "ts": begin, "dur": CLOCK() - begin,
             "pid": os.getpid(), "tid": threading.get_native_id()}
    json.dump([event], open("trace.json", "w"))
"""


@needs_perf
@pytest.mark.parametrize(
    ("clock", "method"),
    [("(lambda: time.perf_counter() * 1e6)", "monotonic"), ("(lambda: time.time_ns() / 1e3)", "utc")],
)
def test_a_real_recording_agrees_with_the_programs_own_clock(tmp_path: Path, clock: str, method: str) -> None:
    done = record(tmp_path, *python(PROGRAM.replace("CLOCK()", f"{clock}()")), options=["--trace", "cpu"])
    assert done.returncode == 0, done.stderr
    with joined(tmp_path, tmp_path / "run.h5", tmp_path / "trace.json") as capture:
        assert capture.clocks[1].method == method
        nap = int(capture.kinds["range"].rows[0])
        start, stop = capture.event_span(nap)
        thread = capture.tracks[capture.track_of_row(nap)].thread
        (track,) = [t for t in capture.tracks if t.thread == thread and t.role == "state"]
        rows = capture.rows_in(capture.track_lanes(track.index), start, stop)
        begin, end = capture.event_times(rows)
        asleep = np.argmax(end - begin)
        # The sleep that the kernel saw lies in the one that the program measured; UTC may be adjusted meanwhile.
        assert end[asleep] - begin[asleep] >= 49 * MS
        assert start - MS <= begin[asleep]
        assert end[asleep] <= stop + MS
        assert json.loads((tmp_path / "trace.json").read_text())[0]["pid"] == capture.processes[0].pid
