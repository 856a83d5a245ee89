"""When the agent flushes what CUPTI holds, follows the recorder, and leaves a program alone: with the simulated GPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.native.conftest import PAUSED, RECORDING, STOPPING, Session, names, with_sanitizer
from tests.native.cupti_tools import KERNEL, PRELUDE, run

from warpline.recording.sources.cuda import records


def test_flush_at_the_end_of_the_program(gpu_session: Session, tmp_path: Path) -> None:
    log = tmp_path / "flushes"
    run(gpu_session, PRELUDE + "for _ in range(100): launch()", SIMULATED_CUPTI_FLUSHES=str(log))
    assert len(gpu_session.spool().records(*KERNEL).values) == 100
    assert log.read_text().splitlines()[-1].startswith("1 "), "the last flush is a forced one"


def test_flush_after_an_exception(gpu_session: Session) -> None:
    run(gpu_session, PRELUDE + "for _ in range(100): launch()\nraise RuntimeError", status=1)
    assert len(gpu_session.spool().records(*KERNEL).values) == 100


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_flush_before_a_signal_ends_the_program(gpu_session: Session, number: signal.Signals) -> None:
    program = (
        PRELUDE
        + """
for _ in range(100): launch()
print("ready", flush=True)
while True: time.sleep(100)
"""
    )
    # Python handles SIGINT itself unless it begins ignored or is given back before CUDA is loaded.
    program = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)\n" + program
    process = gpu_session.start(sys.executable, "-c", program)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == -number
    spool = gpu_session.spool()
    assert len(spool.records(*KERNEL).values) == 100
    assert spool.header.finished


def test_a_programs_own_handler_is_left_alone(gpu_session: Session) -> None:
    program = (
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
        + PRELUDE
        + "launch(); os.kill(os.getpid(), signal.SIGTERM); time.sleep(10)"
    )
    run(gpu_session, program, status=5)
    assert len(gpu_session.spool().records(*KERNEL).values) == 1


def test_a_killed_program_keeps_what_was_flushed(gpu_session: Session) -> None:
    process = gpu_session.start(sys.executable, "-c", PRELUDE + "converse()")
    assert process.stdin is not None
    process.stdin.write("for _ in range(1000): launch()\n")
    process.stdin.flush()
    gpu_session.wait_for(*KERNEL, 1000)
    process.kill()
    process.communicate()
    spool = gpu_session.spool()
    assert len(spool.records(*KERNEL).values) == 1000
    assert not spool.header.finished


def test_flush_before_the_device_is_reset(gpu_session: Session, tmp_path: Path) -> None:
    log = tmp_path / "flushes"
    program = PRELUDE + "launch(); cuda.simulatedReset(); os.kill(os.getpid(), signal.SIGKILL)"
    run(gpu_session, program, status=-signal.SIGKILL, SIMULATED_CUPTI_FLUSHES=str(log))
    assert len(gpu_session.spool().records(*KERNEL).values) == 1


def say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "ok\n"


def wait_until(process: subprocess.Popen[str], condition: str) -> None:
    """Until an expression is true inside the program."""
    say(process, f"while not ({condition}): time.sleep(0.001)")


def test_pause_resume_and_stop_reach_cupti(gpu_session: Session) -> None:
    process = gpu_session.start(sys.executable, "-c", PRELUDE + "converse()")
    say(process, "cupti = ctypes.CDLL('libcupti.so.12')")
    say(process, "launch('recorded')")
    gpu_session.set_state(PAUSED)
    wait_until(process, "not cupti.simulated_is_enabled(10)")
    say(process, "launch('paused')")
    gpu_session.set_state(RECORDING)
    wait_until(process, "cupti.simulated_is_enabled(10)")
    say(process, "launch('resumed')")
    gpu_session.set_state(STOPPING)
    wait_until(process, "not cupti.simulated_is_enabled(10)")
    say(process, "launch('stopped')")
    gpu_session.wait_for(*KERNEL, 2)  # flushed at the stop, not only at the end
    process.communicate(timeout=60)
    assert names(gpu_session.spool(), *KERNEL) == ["recorded", "resumed"]


def test_the_profiler_calls_bound_the_capture(gpu_session: Session) -> None:
    gpu_session.set_page(state=PAUSED)
    program = (
        PRELUDE
        + """
launch("before")
cuda.simulatedProfiler(1); launch("inside"); cuda.simulatedSynchronize(7); cuda.simulatedProfiler(0)
cupti = ctypes.CDLL('libcupti.so.12')
while cupti.simulated_is_enabled(10): time.sleep(0.001)
launch("after")
"""
    )
    run(gpu_session, program, WARPLINE_CAPTURE_RANGE="cuda-profiler")
    spool = gpu_session.spool()
    assert names(spool, *KERNEL) == ["inside"]
    assert gpu_session.page() == (PAUSED, 2)
    # The context and the stream were made before the range; what they are is known nevertheless.
    assert len(spool.records(records.CUPTI_DEVICE, records.cupti_device).values) == 1


def test_the_profiler_calls_mean_nothing_otherwise(gpu_session: Session) -> None:
    run(gpu_session, PRELUDE + "cuda.simulatedProfiler(0); launch('still recorded')")
    assert names(gpu_session.spool(), *KERNEL) == ["still recorded"]
    assert gpu_session.page() == (RECORDING, 0)


def test_a_forked_child_does_not_touch_cupti(gpu_session: Session, tmp_path: Path) -> None:
    log = tmp_path / "flushes"
    program = (
        PRELUDE
        + """
launch("parent")
child = os.fork()
if child == 0:
    signal.raise_signal(signal.SIGTERM)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
child = os.fork()
if child == 0:
    sys.exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
launch("parent again")
"""
    )
    run(gpu_session, program, SIMULATED_CUPTI_FLUSHES=str(log))
    assert sorted(names(gpu_session.spool(), *KERNEL)) == ["parent", "parent again"]


def test_a_program_without_cuda_pays_nothing(gpu_session: Session) -> None:
    gpu_session.run(sys.executable, "-c", "pass")
    assert gpu_session.spools() == []


def test_nothing_of_ours_is_left_running_or_open(gpu_session: Session) -> None:
    program = (
        PRELUDE
        + """
launch()
looks = []
for _ in range(50):  # the thread that flushes has a descriptor while it maps the next part of its file
    looks.append([len(os.listdir(f"/proc/self/{of}")) for of in ("task", "fd")])
    time.sleep(0.01)
print(*map(min, zip(*looks)))
"""
    )
    with_agent = gpu_session.run(sys.executable, "-c", program).stdout.split()
    environment = with_sanitizer({**os.environ, "LD_LIBRARY_PATH": gpu_session.variables["LD_LIBRARY_PATH"]})
    plain = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(with_agent[0]) == int(plain[0]) + 1, "one thread, which flushes"
    assert with_agent[1] == plain[1]
