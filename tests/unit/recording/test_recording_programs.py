"""Programs of every sort are recorded: what the kernel counted is in the capture, and they notice nothing."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.unit.recording.recording_tools import (
    NOBODY,
    States,
    needs_perf,
    python,
    python_for_anybody,
    record,
    shared_folder,
    without_privileges,
)

from warpline.model.tracks import Process, Thread
from warpline.recording.sources.collector import Watched
from warpline.recording.sources.perf import records
from warpline.recording.sources.perf.collect import PerfCollector
from warpline.recording.spool.reader import SpoolFile
from warpline.storage import open_capture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")


@pytest.fixture
def shared() -> Iterator[Path]:
    yield from shared_folder()


def lifetime(life: Process | Thread) -> int:
    assert life.start_ns is not None
    assert life.stop_ns is not None
    return life.stop_ns - life.start_ns


SWITCHING = """
    import json, os, resource, threading, time
    def work():
        for _ in range(150):
            time.sleep(0.0005)
            sum(range(20_000))
    child = os.fork()
    if child == 0:
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        os._exit(0)
    _pid, status, usage = os.wait4(child, 0)
    print(json.dumps([child, usage.ru_nvcsw, usage.ru_nivcsw, usage.ru_utime + usage.ru_stime, os.getuid()]))
"""


@needs_perf
def test_switches_are_those_that_the_kernel_counted_for_an_unprivileged_user(shared: Path) -> None:
    done = record(shared, *python(SWITCHING, python_for_anybody()), prefix=without_privileges())
    assert done.returncode == 0, done.stderr
    child, voluntary, preempted, cpu_s, uid = json.loads(done.stdout)
    assert uid == (NOBODY if os.geteuid() == 0 else os.getuid())
    states = States(shared / "run.h5")
    assert states.sources["perf"].enabled
    assert states.sources["perf"].lost == 0
    own = states.of_process(child)
    blocked = int((own & (states.name == "blocked")).sum())
    runnable = int((own & (states.name == "runnable")).sum())
    # Each thread's last time out is its exit, which the kernel counts and nobody sees; each new thread waits once
    # for its first turn.
    assert voluntary > 500
    assert abs(blocked + 1 - voluntary) <= 3
    assert abs(runnable - 5 - preempted) <= 3
    assert states.total("running", own) == pytest.approx(cpu_s * 1e9, rel=0.1, abs=15e6)


@needs_perf
def test_states_of_a_thread_are_without_gaps_and_cores_run_one_thing_at_a_time(tmp_path: Path) -> None:
    done = record(tmp_path, *python(SWITCHING))
    child = json.loads(done.stdout)[0]
    states = States(tmp_path / "run.h5")
    for thread, life in enumerate(states.threads):
        own = np.flatnonzero(states.thread == thread)
        own = own[np.argsort(states.start[own])]
        assert (states.start[own][1:] == (states.start + states.duration)[own][:-1]).all()
        if life.start_ns and life.stop_ns:
            assert int(states.duration[own].sum()) == life.stop_ns - life.start_ns
    assert len([t for t in states.threads if states.processes[t.process].pid == child]) == 5
    with open_capture(tmp_path / "run.h5") as capture:
        for track in capture.tracks:
            if track.role == "core":
                assert len(capture.track_lanes(track.index)) <= 1
                rows = capture.rows_of_track(track.index)
                start, duration = capture.events.start[rows], capture.events.duration[rows]
                assert (start[1:] >= start[:-1] + duration[:-1]).all()
        ran = capture.kinds["cpu_slice"]
        process, valid = ran.column("process")
        assert {capture.processes[index].pid for index in np.unique(process[valid]).tolist()} <= {
            life.pid for life in capture.processes
        }


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("import sys; sys.exit(3)", 3),
        ("raise RuntimeError('crash')", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("import ctypes; ctypes.string_at(0)", 139),
        ("import os; os.abort()", 134),
        ("import os; os.execvp('sh', ['sh', '-c', 'exit 5'])", 5),
        ("import os; os.fork() or os._exit(9); os.wait()", 0),
        ("import os; os.fork() or (os.setsid(), __import__('time').sleep(0.3))", 0),
        ("pass", 0),
    ],
)
def test_the_exit_status_is_the_programs(tmp_path: Path, program: str, status: int) -> None:
    done = record(tmp_path, *python(program), options=["--trace", "cpu"])
    assert done.returncode == status
    states = States(tmp_path / "run.h5")
    assert states.meta["exit_status"] == status
    assert states.processes[0].exit_status == status
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.h5"]
    line = done.stderr.splitlines()[-1]
    assert re.match(
        rb"warpline: run\.h5: [\d,]+ events in [\d.]+ m?s, nothing lost($|; thread states are est)", line
    )


def test_what_cannot_be_run_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "script").write_text("exit 7\n")
    (tmp_path / "script").chmod(0o755)
    for command, status, word in (
        ("./missing", 127, b"No such file"),
        ("./text", 126, b"denied"),
        (".", 126, b"denied"),
    ):
        done = record(tmp_path, command)
        assert (done.returncode, done.stderr.count(b"\n")) == (status, 1)
        assert command.encode() in done.stderr
        assert word in done.stderr
    assert record(tmp_path, "missing-in-path").returncode == 127
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script", "text"]
    # A script without an interpreter line runs as it does from a shell.
    assert record(tmp_path, "./script").returncode == 7


@pytest.mark.parametrize(
    "options",
    [
        ["-o", "missing/run.h5"],
        ["--trace", "cpu,nonsense"],
        ["--duration", "soon"],
        ["--capture-range", "x"],
        ["-o", "."],
    ],
)
def test_failures_of_the_recording_are_125_and_one_line(tmp_path: Path, options: list[str]) -> None:
    done = record(tmp_path, "true", options=options)
    assert done.returncode == 125
    assert done.stderr.startswith(b"warpline: error: ")
    assert done.stderr.count(b"\n") == 1
    assert not list(tmp_path.iterdir())


@needs_perf
def test_fork_exec_and_names(tmp_path: Path) -> None:
    program = """
        import os, subprocess, threading, time
        def named():
            open("/proc/self/task/%d/comm" % threading.get_native_id(), "w").write("worker-x")
            time.sleep(0.05)
        thread = threading.Thread(target=named); thread.start()
        time.sleep(0.15)
        subprocess.run(["sleep", "0.15"])
        child = os.fork()
        if child == 0:
            time.sleep(0.15); os._exit(4)
        os.waitpid(child, 0); thread.join()
        print(child, os.getpid())
    """
    done = record(tmp_path, *python(program))
    child, parent = map(int, done.stdout.split())
    states = States(tmp_path / "run.h5")
    by_pid = {process.pid: process for process in states.processes}
    assert by_pid[child].parent_pid == parent
    assert by_pid[child].command == by_pid[parent].command
    sleeping = next(process for process in states.processes if process.name == "sleep")
    assert sleeping.command == "sleep 0.15"
    assert sleeping.parent_pid == parent
    assert lifetime(sleeping) >= 150_000_000
    worker = next(thread for thread in states.threads if thread.name == "worker-x")
    assert lifetime(worker) >= 50_000_000
    assert states.total("blocked", states.of(worker.tid)) >= 50_000_000
    assert all(f"process/{process.pid}.1" in states.tracks for process in states.processes)


@needs_perf
def test_two_hundred_threads_that_live_ten_milliseconds(tmp_path: Path) -> None:
    program = """
        import threading, time
        for _ in range(4):
            threads = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(50)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
    """
    assert record(tmp_path, *python(program), options=["--trace", "cpu"]).returncode == 0
    states = States(tmp_path / "run.h5")
    short = [t for t in states.threads if t.start_ns and t.stop_ns and t.stop_ns - t.start_ns >= 10_000_000]
    assert len(short) == 200
    for thread in short:
        # A thread id may be used again within the run, so look at this thread and not at its id.
        own = states.thread == states.threads.index(thread)
        assert int(states.duration[own].sum()) == lifetime(thread)
        assert "blocked" in set(states.name[own])


@needs_perf
def test_a_program_that_lives_ten_milliseconds(tmp_path: Path) -> None:
    assert record(tmp_path, "sleep", "0.01").returncode == 0
    states = States(tmp_path / "run.h5")
    assert 10_000_000 <= states.total("blocked") < 60_000_000
    assert states.processes[0].command == "sleep 0.01"


def test_a_hundred_megabytes_pass_through(tmp_path: Path) -> None:
    program = "import sys; block = b'x' * (1 << 20); [sys.stdout.buffer.write(block) for _ in range(100)]"
    with open(tmp_path / "out", "wb") as out:
        assert record(tmp_path, *python(program), stdout=out).returncode == 0
    assert (tmp_path / "out").stat().st_size == 100 << 20


def test_streams_arguments_and_directory_belong_to_the_program(tmp_path: Path) -> None:
    program = (
        "import sys, os; print(sys.stdin.read().upper(), sys.argv[1:], os.getcwd()); sys.stderr.write('err')"
    )
    words = ["--", "-o", "x y", "--trace", "\u00e9"]
    done = record(tmp_path, *python(program), *words, stdin=None, input=b"hello")
    assert done.stdout.decode() == f"HELLO {words} {tmp_path}\n"
    assert done.stderr.startswith(b"errwarpline: run.h5")
    assert States(tmp_path / "run.h5").meta["working_directory"] == str(tmp_path)


def test_arguments_that_are_no_text_reach_the_program_as_they_are(tmp_path: Path) -> None:
    odd = b"caf\xe9\xff"
    done = record(tmp_path, "printf", "%s", os.fsdecode(odd))
    assert done.returncode == 0, done.stderr
    assert done.stdout == odd
    assert States(tmp_path / "run.h5").meta["command_line"][2].startswith("caf")


LOOK_AROUND = """
    import json, os, signal, sys
    status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
    print(json.dumps({
        "environment": dict(os.environ), "modules": sorted(m for m in sys.modules if "warpline" in m or m == "numpy"),
        "blocked": status["SigBlk"], "ignored": int(status["SigIgn"], 16) & ~0x1001000, "group": os.getpgid(0),
        "descriptors": sorted(os.listdir("/proc/self/fd")), "ppid_group": os.getpgid(os.getppid()),
    }))
"""


def test_the_program_finds_everything_as_without_us(tmp_path: Path) -> None:
    environment = {**os.environ, "SECRET_TOKEN": "a-very-secret-value"}
    bare = subprocess.run(
        python(LOOK_AROUND), capture_output=True, stdin=subprocess.DEVNULL, env=environment, check=True
    )
    read, write = os.pipe()
    done = record(
        tmp_path,
        *python(LOOK_AROUND),
        options=["--trace", "cpu", "--status-fd", str(write)],
        env=environment,
        pass_fds=(write,),
    )
    os.close(write)
    os.close(read)
    without, with_us = json.loads(bare.stdout), json.loads(done.stdout)
    assert with_us["environment"] == without["environment"]
    assert with_us["modules"] == []
    assert with_us["blocked"] == without["blocked"]
    assert with_us["ignored"] == without["ignored"]
    assert with_us["descriptors"] == without["descriptors"]
    assert with_us["group"] == with_us["ppid_group"]
    assert b"a-very-secret-value" not in (tmp_path / "run.h5").read_bytes()


@needs_perf
def test_counters_of_cores_and_processes(tmp_path: Path) -> None:
    program = """
        import os, time
        block = bytearray(os.urandom(1 << 20) * 64)
        end = time.monotonic() + 0.7
        while time.monotonic() < end: pass
        print(os.getpid())
    """
    done = record(tmp_path, *python(program))
    states = States(tmp_path / "run.h5")
    pid = int(done.stdout)
    name, unit, cpu = states.counters[f"process/{pid}.1/counters/cpu"]
    assert (name, unit) == ("CPU", "cores")
    assert 0.2 < np.nanmax(cpu) <= 1.05
    _name, unit, memory = states.counters[f"process/{pid}.1/counters/memory"]
    assert unit == "bytes"
    assert np.nanmax(memory) > 64 << 20
    name, unit, busy = states.counters["cpu/0"]
    assert (name, unit) == ("Utilization", "ratio")
    assert ((busy >= 0) & (busy <= 1) | np.isnan(busy)).all()
    accounting = states.meta["thread_accounting"]
    assert accounting[0]["run_ns"] == pytest.approx(states.total("running"), rel=0.2)


@needs_perf
def test_blocked_says_that_it_includes_the_wait_for_a_core(shared: Path) -> None:
    options = ["--trace", "cpu"]
    record(shared, "sleep", "0.05", prefix=without_privileges(), options=options)
    with open_capture(shared / "run.h5") as capture:
        table = capture.kinds["thread_state"]
        reasons, valid = table.column("reason")
        names = capture.events.name[table.rows]
        blocked = capture.strings.id("blocked")
        assert (np.asarray(valid) == (names == blocked)).all()
        texts = {capture.strings[int(i)] for i in np.unique(reasons[valid])}
        assert texts
        assert all("wait for a core" in text for text in texts)


@needs_perf
def test_ctrl_c_reaches_the_program_once_and_the_capture_is_written(tmp_path: Path) -> None:
    program = """
        import signal, sys, time
        count = 0
        def handler(*_):
            global count
            count += 1
        signal.signal(signal.SIGINT, handler)
        print("ready", flush=True)
        end = time.monotonic() + 5
        while not count and time.monotonic() < end: time.sleep(0.02)
        time.sleep(0.1)
        sys.exit(40 + count)
    """
    words = [sys.executable, "-m", "warpline", "record", "-o", "run.h5", "--", *python(program)]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == b"ready\n"
        # Somebody means the recorder alone: it hands the signal on.
        recorder.send_signal(signal.SIGINT)
        recorder.communicate()
    assert recorder.returncode == 41
    assert States(tmp_path / "run.h5").total("blocked") > 50_000_000


@needs_perf
def test_ctrl_c_in_a_terminal_arrives_once_and_the_second_ends_the_waiting(tmp_path: Path) -> None:
    program = "import signal, time; signal.signal(2, lambda *_: print('got it', flush=True))"
    program += "\nprint('ready', flush=True)"
    program += "\nwhile True: time.sleep(1)"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        command = [
            sys.executable,
            "-m",
            "warpline",
            "record",
            "-o",
            "run.h5",
            "--",
            sys.executable,
            "-c",
            program,
        ]
        os.execv(sys.executable, command)
    output = b""

    def read_until(word: bytes, patience_s: float) -> bool:
        nonlocal output
        end = time.monotonic() + patience_s
        while word not in output and time.monotonic() < end:
            if select.select([terminal], [], [], 0.05)[0]:
                output += os.read(terminal, 4096)
        return word in output

    assert read_until(b"ready", 30), output
    os.write(terminal, b"\x03")
    assert read_until(b"got it", 30), output
    assert not read_until(b"nothing lost", 0.3), "one Ctrl-C must not end the recording"
    # Equal signals that wait for a process count once, so one that comes too soon may have to be repeated.
    for _ in range(3):
        os.write(terminal, b"\x03")
        if read_until(b"nothing lost", 10):
            break
    _pid, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130
    states = States(tmp_path / "run.h5")
    target = states.processes[0].pid
    try:
        os.kill(target, signal.SIGKILL)
    except ProcessLookupError:
        pass
    assert states.meta["exit_status"] is None


def test_nothing_with_threads_is_imported_before_the_program_is_forked() -> None:
    program = "import sys, warpline.cli, warpline.cli.record, warpline.recording.record; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


HAND_TO_HAND = """
import json, os, resource
there, back = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    for _ in range(3000): os.read(there[0], 1); os.write(back[1], b"x")
    os._exit(0)
for _ in range(3000): os.write(there[1], b"x"); os.read(back[0], 1)
usage = os.wait4(child, 0)[2]
own = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps(own.ru_nvcsw + own.ru_nivcsw + usage.ru_nvcsw + usage.ru_nivcsw), flush=True)
"""


@needs_perf
def test_provoked_loss_is_counted_exactly(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    waiting = ["sh", "-c", 'read line; exec "$0" "$@"', *python(HAND_TO_HAND)]
    with subprocess.Popen(waiting, stdin=pipe, stdout=pipe) as program:
        collector = PerfCollector(Watched(tmp_path, program.pid), ring_pages=4)
        can_tell = collector.rings[0].dropped() is not None
        output, _ = program.communicate(b"go\n", timeout=60)
    collector.close()
    if not can_tell:
        pytest.skip("kernels before 6.0 do not tell the last loss")
    spool = SpoolFile(tmp_path / "perf.spool")
    got = len(spool.records(records.SWITCH, records.switch).values)
    lost = int(spool.records(records.LOST, records.lost).values["count"].sum())
    switches = json.loads(output)
    assert lost == collector.lost > 1000
    # Names, forks and exits are records as well; the first and the last moments of each process are the kernel's.
    assert abs(got + lost - 2 * switches) <= 12
