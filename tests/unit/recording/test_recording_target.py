"""The recorded program is as without us: its streams, arguments, signals, status; and what cannot be run."""

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
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import (
    WARPLINE,
    States,
    needs_perf,
    python,
    record,
)
from tests.waiting import wait_until

from warpline.recording.control import send_command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")


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
    done = record(tmp_path, *python(program), options=["--trace", "cpu", "--no-check"])
    assert done.returncode == status
    states = States(tmp_path / "run.h5")
    assert states.meta["exit_status"] == status
    assert states.processes[0].exit_status == status
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.h5"]
    line = done.stderr.splitlines()[-1]
    assert re.match(
        rb"warpline: run\.h5: [\d,]+ events in [\d.]+ m?s, nothing lost($|; thread states are est)", line
    )


def test_a_program_that_cannot_run_leaves_no_files(tmp_path: Path) -> None:
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


def test_arguments_that_are_not_text_reach_the_program_unchanged(tmp_path: Path) -> None:
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


def test_the_program_finds_its_usual_environment(tmp_path: Path) -> None:
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
def test_ctrl_c_reaches_the_program_once_and_the_capture_is_written(tmp_path: Path) -> None:
    program = """
        import signal, sys, time
        count = 0
        def handler(*_):
            global count
            count += 1
        signal.signal(signal.SIGINT, handler)
        print("ready", flush=True)
        end = time.monotonic() + 60
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

    assert read_until(b"ready", 60), output
    os.write(terminal, b"\x03")
    assert read_until(b"got it", 60), output
    # Equal signals that wait for a process count once: the recorder must have taken the first.
    wait_until(lambda: not has_pending_interrupt(pid), "the recorder takes no signal")
    assert not read_until(b" events in ", 0.3), "one Ctrl-C must not end the recording"
    os.write(terminal, b"\x03")
    assert read_until(b" events in ", 90), output
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


def has_pending_interrupt(pid: int) -> bool:
    """Whether a Ctrl-C waits for a process that takes it from a descriptor."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (pending,) = (line.split()[1] for line in lines if line.startswith("ShdPnd"))
    return bool(int(pending, 16) >> (signal.SIGINT - 1) & 1)


def test_nothing_with_threads_is_imported_before_the_program_is_forked() -> None:
    program = "import sys, warpline.cli, warpline.cli.record, warpline.recording.record; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_recorder_and_its_collectors_run_without_numpy() -> None:
    program = """
import importlib, pkgutil, sys
sys.modules["numpy"] = None
import warpline.recording.recorder, warpline.recording.attach, warpline.recording.doctor
from warpline.recording import sources
modules = [name for _, name, _ in pkgutil.walk_packages(sources.__path__, sources.__name__ + ".")]
collectors = [name for name in modules if name.endswith((".source", ".collect", "_sampler", "_stacks"))]
for name in collectors:
    importlib.import_module(name)
print(len(collectors) > 12)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


ASKS_TO_BE_TRACED = """
import ctypes, os, signal
assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0
print(os.getpid(), flush=True)
os.kill(os.getpid(), signal.SIGUSR1)
"""
STOPS = "import os, signal; print(os.getpid(), flush=True); os.kill(os.getpid(), signal.SIGSTOP)"


@pytest.mark.parametrize("program", [ASKS_TO_BE_TRACED, STOPS])
def test_a_stopped_program_has_not_ended(tmp_path: Path, program: str) -> None:
    """A program that its parent traces (PTRACE_TRACEME) stops at each signal."""
    words = [
        *WARPLINE,
        "record",
        "-q",
        "-o",
        "run.h5",
        "--trace",
        "cpu",
        "--no-check",
        "--",
        *python(program),
    ]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        assert recorder.stderr is not None
        pid = int(recorder.stdout.readline())
        wait_until(lambda: process_state(pid) in "tT", "the program runs on")
        send_command(tmp_path / "run.h5.spool", "stop", timeout_s=60)
        wait_until((tmp_path / "run.h5").exists, "no capture was written")
        assert process_state(pid) in "tT"
        os.kill(pid, signal.SIGKILL)
        assert recorder.wait(60) == 137, recorder.stderr.read()
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_terminate_ends_a_stopped_program(tmp_path: Path) -> None:
    done = record(
        tmp_path,
        *python(STOPS),
        options=["--trace", "cpu", "--no-check", "--duration", "0.2s", "--terminate"],
    )
    assert done.returncode == 143
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def process_state(pid: int) -> str:
    """The letter of /proc/PID/stat."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0]
