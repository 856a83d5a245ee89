"""Where the kernel refuses perf: states are estimated from /proc, and the file says so and how to change it."""

from __future__ import annotations

import errno
import json
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds
from tests.unit.recording.recording_tools import WARPLINE, States, python, wait_for_samples

from warpline.model.errors import RecordingError
from warpline.model.flags import Flag
from warpline.model.waits import WaitKind
from warpline.recording import proc_files
from warpline.recording.doctor import check_sources
from warpline.recording.perf_events import rings as perf
from warpline.recording.perf_events.abi import RingTooLarge
from warpline.recording.proc_files import parse_core_times, parse_stat
from warpline.recording.record import record
from warpline.recording.session import RecordingOptions
from warpline.recording.sources.procfs.estimates import dominant_states, state_ratios
from warpline.recording.sources.registry import default_trace
from warpline.recording.states.state import State
from warpline.recording.unavailable import Unavailable
from warpline.storage import open_capture

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")
SYSCALL = {"x86_64": 298, "aarch64": 241}.get(platform.machine(), 0)

REFUSE = """
import ctypes, os, struct, sys
number, code = int(sys.argv[1]), int(sys.argv[2])
def step(what, yes, no, value): return struct.pack("<HBBI", what, yes, no, value)
program = b"".join([
    step(0x20, 0, 0, 0),                       # load the number of the system call
    step(0x15, 0, 1, number),                  # ours?
    step(0x06, 0, 0, 0x00050000 | code),       # then fail with this errno
    step(0x06, 0, 0, 0x7FFF0000),              # else allow
])
buffer = ctypes.create_string_buffer(program, len(program))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(Filter(4, ctypes.addressof(buffer)))):
    sys.exit(99)
os.execv(sys.argv[3], sys.argv[3:])
"""

BUSY_THEN_ASLEEP = """
    import json, os, sys, threading, time
    def sleeper():
        open("/proc/self/task/%d/comm" % threading.get_native_id(), "w").write("sleeper")
        over.wait()
    over = threading.Event()
    thread = threading.Thread(target=sleeper); thread.start()
    pipe = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(pipe[1])
        os.read(pipe[0], 1); os._exit(0)
    def counted(): return [int(word) for word in open("/proc/thread-self/schedstat").read().split()[:2]]
    print("ready", flush=True)
    sys.stdin.readline()
    before = counted()
    end = time.thread_time() + 0.4
    while time.thread_time() < end: pass
    print(json.dumps([os.getpid(), child, before, counted()]), flush=True)
    sys.stdin.readline()
    os.close(pipe[1]); os.waitpid(child, 0)
    over.set(); thread.join()
"""


def refusing(folder: Path, code: int, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", REFUSE, str(SYSCALL), str(code), sys.executable, *WARPLINE[1:], *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe)


def skip_without_seccomp(status: int) -> None:
    if status == 99:
        pytest.skip("seccomp is not available here")


def refused(folder: Path, code: int, *words: str) -> subprocess.CompletedProcess[bytes]:
    with refusing(folder, code, *words) as running:
        output, error = running.communicate(timeout=90)
    skip_without_seccomp(running.returncode)
    return subprocess.CompletedProcess(words, running.returncode, output, error)


@linux_only
@pytest.mark.parametrize(
    ("code", "reason", "remedy"),
    [
        (errno.EPERM, "Operation not permitted [EPERM]; a seccomp filter", "--cap-add PERFMON"),
        (
            errno.EACCES,
            "Permission denied [EACCES]; kernel.perf_event_paranoid is",
            "sysctl kernel.perf_event_paranoid=2",
        ),
    ],
)
def test_states_are_estimated_with_a_reason(tmp_path: Path, code: int, reason: str, remedy: str) -> None:
    words = ("record", "--no-check", "-o", "run.h5", "--", *python(BUSY_THEN_ASLEEP))
    with refusing(tmp_path, code, *words) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        line = running.stdout.readline()
        while line:
            wait_for_samples(tmp_path / "run.h5.spool")
            running.stdin.write(b"\n")
            running.stdin.flush()
            if line != b"ready\n":
                break
            line = running.stdout.readline()
        _output, error = running.communicate(timeout=90)
    skip_without_seccomp(running.returncode)
    assert running.returncode == 0, error
    pid, child, before, after = json.loads(line)
    states = States(tmp_path / "run.h5")
    source = states.sources["perf"]
    assert not source.enabled
    assert reason in source.reason
    assert remedy in source.remedy
    assert states.sources["procfs"].enabled
    assert reason.encode() in error
    assert remedy.encode() in error
    assert error.count(b"\n") == 1
    assert ((states.flags & Flag.ESTIMATED) != 0).all()
    uri = f"process/{pid}.1/thread/{pid}.1/counters"
    names = ("running", "runnable", "blocked")
    shares = [states.counters[f"{uri}/{name}"][2][:-1] for name in names]
    total = np.sum(shares, axis=0)
    assert np.nanmin(total) == pytest.approx(1)
    assert np.nanmax(total) == pytest.approx(1)
    # Recorded from before the thread was busy until after; what the kernel counted before nobody looked at.
    elapsed = np.diff(states.counter_times[f"{uri}/running"])
    ran, waited = (float(np.nansum(share * elapsed)) for share in shares[:2])
    assert 0.9 * (after[0] - before[0]) <= ran <= 1.2 * after[0]
    assert waited >= 0.9 * (after[1] - before[1]) - 20e6
    # A thread that waits for a core in most of each interval is "runnable" throughout.
    busy = ("running",) if ran > 2 * waited else ("running", "runnable")
    assert sum(states.total(name, states.of(pid)) for name in busy) > 0
    sleeper = next(thread for thread in states.threads if thread.name == "sleeper")
    for asleep in (sleeper.tid, child):
        own = states.of(asleep)
        assert states.total("blocked", own) > 0.5 * int(states.duration[own].sum()) > 0
    assert states.slices == 0


ASLEEP = """
    import os, time
    for _ in range(5):
        time.sleep(0.06)
    def last():
        time.sleep(0.8)
    print("last", flush=True)
    while not os.path.exists("end"): last()
"""


@linux_only
def test_estimated_states_have_reasons_of_waits(tmp_path: Path) -> None:
    words = ("record", "-q", "-o", "run.h5", "--trace", "cpu,osrt,python,native", "--", *python(ASLEEP))
    with refusing(tmp_path, errno.EPERM, *words) as running:
        assert running.stdout is not None
        if running.stdout.readline():
            wait_for_samples(tmp_path / "run.h5.spool")
        (tmp_path / "end").touch()
        _output, error = running.communicate(timeout=90)
    skip_without_seccomp(running.returncode)
    assert running.returncode == 0, error
    with open_capture(tmp_path / "run.h5") as capture:
        table = capture.kinds["thread_state"]
        told = [
            (capture.strings[values["place"]], capture.event_span(int(row)))
            for row, values in ((row, table.at(int(row))) for row in table.stored_rows)
            if values.get("wait") == WaitKind.SLEEP and values.get("place")
        ]
        flags = capture.events.flags[table.stored_rows]
        sources = {source.name: source for source in capture.sources}
    assert (flags & Flag.ESTIMATED).all()
    assert {place.partition(" (")[0] for place, _span in told} <= {"<module>", "last"}
    # The call says when, the samples that the thread was blocked.
    assert any(place.startswith("last (") and stop - start > 100_000_000 for place, (start, stop) in told)
    assert not sources["native"].enabled
    assert "EPERM" in sources["native"].reason


@linux_only
def test_doctor_says_what_is_refused_and_how_to_enable_it(tmp_path: Path) -> None:
    done = refused(tmp_path, errno.EPERM, "doctor", "--quick", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["sources"]}
    assert checks["perf"]["available"] is False
    assert "EPERM" in checks["perf"]["reason"]
    assert "PERFMON" in checks["perf"]["remedy"]
    assert checks["procfs"]["available"] is True
    assert {check["trace"] for check in checks.values()} >= {"cpu", "nvml"}
    text = refused(tmp_path, errno.EPERM, "doctor", "--quick").stdout.decode()
    assert "because:" in text
    assert "remedy:" in text


def test_every_refusal_has_a_reason_and_a_remedy() -> None:
    for number in (errno.EACCES, errno.EPERM, errno.ENOSYS, errno.EMFILE, errno.EBUSY):
        refusal = perf.explain(OSError(number, "text"))
        assert errno.errorcode[number] in refusal.reason
        assert refusal.remedy


class ClosableRing:
    def close(self) -> None:
        pass


def test_rings_get_smaller_until_they_may_be_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def open_ring(attributes: bytes, pid: int, cpu: int, pages: int) -> object:
        tried.append(pages)
        if pages > 16:
            raise RingTooLarge(errno.EPERM, "Operation not permitted")
        return ClosableRing()

    monkeypatch.setattr(perf, "open_ring", open_ring)
    monkeypatch.setattr(perf, "online_cpus", lambda: [0, 1])
    assert len(perf.open_rings(1, enable_on_exec=True)) == 2
    assert tried == [128, 64, 32, 16, 16]
    monkeypatch.setattr(perf, "_SMALLEST_RING_PAGES", 32)
    with pytest.raises(Unavailable, match="locked in memory"):
        perf.open_rings(1, enable_on_exec=True)


@pytest.mark.fuzz
@settings(max_examples=rounds(33, 5_000), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=30),
    st.data(),
)
def test_ratios_sum_to_one_and_events_take_the_largest(
    steps: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    elapsed, run, wait = (np.array(column, np.int64) for column in zip(*steps, strict=True))
    times, runs, waits = (np.r_[0, np.cumsum(column)] for column in (elapsed, run, wait))
    ratios = state_ratios(times, runs, waits)
    np.testing.assert_allclose(ratios.sum(axis=1), 1)
    assert (ratios >= 0).all()
    valid = np.array(data.draw(st.lists(st.booleans(), min_size=len(steps), max_size=len(steps))))
    start, stop, state, _row = dominant_states(times, ratios, valid)
    found = {}
    for first, last, what in zip(start.tolist(), stop.tolist(), state.tolist(), strict=True):
        for index in range(len(steps)):
            if first <= times[index] and times[index + 1] <= last:
                found[index] = what
    expected = {i: int(np.argmax(ratios[i])) + int(State.RUNNING) for i in range(len(steps)) if valid[i]}
    assert found == expected


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=40),
    st.integers(1, 30),
)
def test_a_wait_for_a_core_is_placed_before_its_counted_end(
    turns: list[tuple[int, int, int]], period: int
) -> None:
    # Blocked, then waiting, then running: what the kernel says at every moment, and what was so.
    truth = [
        state for turn in turns for state, length in zip("bwr", turn, strict=True) for _ in range(length)
    ]
    run, wait, pending = [0], [0], 0
    for state in truth:
        pending = pending + 1 if state == "w" else pending
        run.append(run[-1] + (state == "r"))
        wait.append(wait[-1] + (pending if state != "w" else 0))
        pending = pending if state == "w" else 0
    looks = np.array([*range(0, len(truth), period), len(truth)])
    looks = np.unique(looks)
    if len(looks) < 2:
        return
    ratios = state_ratios(looks, np.array(run)[looks], np.array(wait)[looks])
    sums = np.rint((ratios * np.diff(looks)[:, None]).sum(axis=0)).astype(int).tolist()
    counted = wait[-1]
    assert sums == [truth.count("r"), counted, len(truth) - truth.count("r") - counted]
    assert (ratios >= 0).all()


def test_names_with_blanks_and_parentheses_in_stat() -> None:
    fields = " ".join(str(number) for number in range(4, 53))
    stat = parse_stat(f"12 (a) b (c)) R {fields}".encode())
    assert stat is not None
    assert (stat.name, chr(stat.state), stat.parent_pid, stat.cpu) == ("a) b (c)", "R", 4, 39)
    assert parse_stat(b"12 (a") is None
    assert parse_stat(b"12 (a) R 1 2") is None


def test_core_times_leave_iowait_out_of_busy() -> None:
    raw = b"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 10 1 5 100 50 2 3 4 99 99\ncpu12 1 0 0 9 0 0 0 0 0 0\nintr 5\n"
    assert parse_core_times(raw) == [(0, 25, 175), (12, 1, 10)]


def test_other_systems_get_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpline.recording.platforms.is_linux", lambda: False)
    monkeypatch.setattr("warpline.recording.doctor.is_linux", lambda: False)
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    with pytest.raises(
        RecordingError, match=r"recording needs Linux \(.*\), and this is Darwin; .*warpline record --on HOST"
    ):
        record(["true"], tmp_path / "run.h5", RecordingOptions(trace=default_trace()))
    assert not list(tmp_path.iterdir())
    checks = check_sources()
    assert not any(check.available for check in checks)
    assert all("needs Linux" in check.reason for check in checks)


def test_cpu_time_of_a_process_is_read_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first pair is torn: the core was taken away for 40 ms between the clock and the process's time.
    readings = iter([1_000_000, 41_000_000, 41_010_000, 41_012_000])
    used = iter([40_000_000, 40_011_000])
    monkeypatch.setattr("warpline.recording.proc_files.time.monotonic_ns", lambda: next(readings))
    monkeypatch.setattr("warpline.recording.proc_files.time.clock_gettime_ns", lambda _clock: next(used))
    assert proc_files.process_cpu_ns(1) == (41_011_000, 1_000, 40_011_000)
