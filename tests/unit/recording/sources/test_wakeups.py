"""Wake-ups: samples of the tracepoint taken apart, blocked time split, links to who did it."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from tests.unit.recording.recording_tools import (
    WARPLINE,
    States,
    needs_perf,
    python,
    status_lines,
    wait_for_a_look,
)

from warpline.recording.finalise import finalise
from warpline.recording.perf_events.abi import RING_PAGES
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.collector import Watched
from warpline.recording.sources.perf import records as perf_records
from warpline.recording.sources.perf.translate import _switch_marks
from warpline.recording.sources.registry import default_trace
from warpline.recording.sources.wakeups import records as wakeup_records
from warpline.recording.sources.wakeups.collect import (
    WakeupCollector,
    find_tracepoint,
    parse_format,
    ring_pages,
    split_samples,
)
from warpline.recording.spool import records
from warpline.recording.spool.writer import SpoolWriter
from warpline.recording.unavailable import Unavailable
from warpline.storage import CaptureBuilder, open_capture

FORMAT = """name: sched_waking
ID: 375
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t pid;	offset:24;	size:4;	signed:1;
	field:int prio;	offset:28;	size:4;	signed:1;
	field:int target_cpu;	offset:32;	size:4;	signed:1;
"""


def sample(waker: int, time_ns: int, wakee: int, flags: int = 0) -> bytes:
    raw = struct.pack("<HBBi16siii", 375, flags, 0, waker, b"name", wakee, 120, 1)
    body = struct.pack("<IIQIII", waker, waker, time_ns, 2, 0, len(raw)) + raw
    return struct.pack("<IHH", 9, 0, 8 + len(body)) + body


def lost(count: int) -> bytes:
    body = struct.pack("<QQ", 1, count) + bytes(24)
    return struct.pack("<IHH", 2, 0, 8 + len(body)) + body


def test_samples_are_decoded_by_the_kernels_own_description() -> None:
    tracepoint = parse_format(FORMAT)
    assert tracepoint.identifier == 375
    raw = sample(5, 100, 6) + sample(7, 101, 8, 0x08) + lost(9) + sample(5, 102, 6) + lost(2)
    samples, missing = split_samples(raw, tracepoint.sample)
    assert samples == [(5, 5, 100, 2, 0, 6), (7, 7, 101, 2, 8, 8), (5, 5, 102, 2, 0, 6)]
    assert missing == 11
    assert split_samples(raw[:50], tracepoint.sample)[0] == []
    with pytest.raises(ValueError, match="sched_waking"):
        parse_format(FORMAT.replace("pid_t pid;", "pid_t who;"))


class FakeRing:
    """A ring that can hold so many pages at most; its content is read once."""

    descriptor = -1

    def __init__(self, content: bytes) -> None:
        self.content = content

    def take(self) -> bytes:
        content, self.content = self.content, b""
        return content

    def close(self) -> None:
        """Nothing to close."""


def test_of_the_dropped_wakeups_of_all_programs_the_share_of_this_one_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fourth is the program's; a machine that refuses large rings gets smaller ones."""
    content = sample(5, 100, 6) + 3 * sample(5, 101, 99) + lost(1001)
    pages = []

    def fake_ring(_attributes: bytes, _pid: int, _cpu: int, count: int) -> FakeRing:
        pages.append(count)
        if count > RING_PAGES:
            raise PermissionError(1, "refused")
        return FakeRing(content)

    module = "warpline.recording.sources.wakeups.collect"
    monkeypatch.setattr(f"{module}.find_tracepoint", lambda: parse_format(FORMAT))
    monkeypatch.setattr(f"{module}.online_cpus", lambda: [0, 1])
    monkeypatch.setattr(f"{module}.open_ring", fake_ring)
    with closing(WakeupCollector(Watched(directory=tmp_path, root_pid=6))) as collector:
        assert pages == [1024, RING_PAGES, RING_PAGES]
        assert collector.report().lost == 0
        collector.hold()
        collector.drain()
        source = collector.report()
    assert (collector.events, source.lost) == (2, 501)
    assert "dropped 2,002 wake-ups of all programs" in source.reason


def test_rings_take_no_more_memory_on_a_machine_with_many_cores() -> None:
    assert [ring_pages(cpus) for cpus in (1, 16, 24, 64, 1000)] == [1024, 1024, 512, 256, RING_PAGES]


def test_without_tracefs_the_remedy_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("warpline.recording.sources.wakeups.collect._TRACEFS", (tmp_path,))
    with pytest.raises(Unavailable) as caught:
        find_tracepoint()
    assert "mount -t tracefs" in caught.value.remedy


def test_a_wakeup_ends_a_blocked_state_and_links_to_the_waker(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    writer = SpoolWriter(folder / "perf.spool", "perf")
    for tid in (101, 102):
        writer.append_packed(records.FORK, struct.pack("<QIIII", 1000, 100, tid, 100, 100))
    switches = [
        (101, 1100, 0, 0),
        (102, 1100, 1, 0),
        (101, 1200, 0, 0x2000),
        (101, 1600, 0, 0),
        (101, 1700, 0, 0x2000),
    ]
    rows = np.zeros(len(switches), perf_records.switch)
    rows["type"], rows["size"], rows["pid"] = 14, 32, 100
    for name, column in zip(("tid", "time_ns", "cpu", "misc"), zip(*switches, strict=True), strict=True):
        rows[name] = column
    writer.append(perf_records.SWITCH, rows)
    # By thread 102, then while running (says nothing), then by an interrupt, then of a stranger.
    for time_ns, waker, tid in ((1500, 102, 101), (1650, 102, 101), (1800, 0, 101), (1850, 102, 999)):
        writer.append_packed(wakeup_records.WAKING, struct.pack("<QIIII", time_ns, waker, waker, tid, 1))
    writer.close()
    Session(
        directory=folder,
        output=folder,
        command=("x",),
        working_directory="/",
        start_monotonic_ns=1000,
        start_realtime_ns=0,
        recorder_pid=1,
        target_pid=100,
        options=RecordingOptions(trace=default_trace()),
        stop_monotonic_ns=2000,
    ).save()
    finalise(folder, tmp_path / "x.h5")
    with open_capture(tmp_path / "x.h5") as capture:
        woken = capture.rows_of_track(capture.track("process/100.1/thread/101.1/state").index)
        names = [capture.strings[int(number)] for number in capture.events.name[woken]]
        spans = list(
            zip(
                names,
                capture.events.start[woken].tolist(),
                capture.events.duration[woken].tolist(),
                strict=True,
            )
        )
        assert spans == [
            ("runnable", 0, 100),
            ("running", 100, 100),
            ("blocked", 200, 300),
            ("runnable", 500, 100),
            ("running", 600, 100),
            ("blocked", 700, 100),
            ("runnable", 800, 200),
        ]
        assert len(capture.links.from_row) == 1
        source, target = int(capture.links.from_row[0]), int(capture.links.to_row[0])
        assert target == woken.start + 3
        other = capture.rows_of_track(capture.track("process/100.1/thread/102.1/state").index)
        assert other.start <= source < other.stop
        assert capture.strings[int(capture.events.name[source])] == "running"
        assert capture.links.kind_name(int(capture.links.kind[0])) == "wakeup"
        woken_by, valid = capture.kinds["thread_state"].column("woken_by")
        assert np.asarray(woken_by)[np.asarray(valid)].tolist() == [102]


@needs_perf
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="tracepoints need root")
def test_runnable_time_agrees_with_the_scheduler(tmp_path: Path) -> None:
    # tracefs in a mount namespace of its own: the machine stays as it is.
    prefix = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        'mount -t tracefs none /sys/kernel/tracing && exec "$@"',
        "sh",
    ]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("tracefs cannot be mounted here")
    program = """
        import os, sys, threading, time
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        def waited(thread):
            return int(open("/proc/self/task/%d/schedstat" % thread.native_id).read().split()[1])
        def work():
            while not is_over.is_set():
                time.sleep(0.001)
                end = time.perf_counter() + 0.002
                while time.perf_counter() < end: pass
            never.wait()
        is_over, never = threading.Event(), threading.Event()
        threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
        [thread.start() for thread in threads]
        while min(map(waited, threads)) < 100_000_000: time.sleep(0.01)
        is_over.set()
        print(*(thread.native_id for thread in threads), flush=True)
        sys.stdin.readline()
        os._exit(0)
    """
    with status_lines() as (statuses, number):
        words = [
            *prefix,
            *WARPLINE,
            "record",
            "-o",
            "run.h5",
            "--status-fd",
            str(number),
            "--",
            *python(program),
        ]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            words, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=[number]
        ) as running:
            assert running.stdout is not None
            # The first thread has waited before its exec too, when it was not yet the program, and the agent's have
            # no states.
            threads = set(map(int, running.stdout.readline().split()))
            wait_for_a_look(tmp_path / "run.h5.spool", statuses)
            _output, error = running.communicate(b"\n", timeout=90)
    assert running.returncode == 0, error
    states = States(tmp_path / "run.h5")
    if not states.sources["wakeups"].enabled:
        pytest.skip(states.sources["wakeups"].reason)
    compared = 0
    for row in states.meta["thread_accounting"]:
        own = states.of(row["tid"]) & (states.start + states.duration <= row["time_ns"])
        if row["run_queue_ns"] > 80_000_000 and row["tid"] in threads:
            assert states.total("runnable", own) == pytest.approx(row["run_queue_ns"], rel=0.2)
            compared += 1
    assert compared >= 3


def test_an_impossible_core_number_is_damage(tmp_path: Path) -> None:
    columns = {
        "pid": np.array([7, 7, 7], np.uint32),
        "tid": np.array([7, 7, 0], np.uint32),
        "time_ns": np.array([10, 20, 30], np.uint64),
        "cpu": np.array([1, 520_627_911, 1], np.uint32),
        "misc": np.zeros(3, np.uint16),
    }
    spool = SimpleNamespace(columns=lambda _type, _dtype, names: [columns[name] for name in names])
    threads = SimpleNamespace(lookup=lambda pid, _tid, _time: np.zeros(len(pid), np.int64))
    translation = SimpleNamespace(start_ns=0, stop_ns=100, threads=threads)
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        marks = _switch_marks(cast("Any", translation), [cast("Any", spool)], builder)
        (skipped,) = builder.contents().skipped
    assert marks.cpu.tolist() == [1]
    assert skipped.count == 2
