"""Ends of a process that skip atexit: the last GPU records are kept, and no end waits long."""

from __future__ import annotations

import sys

import pytest
from tests.native.conftest import PAUSED, Session
from tests.native.cupti_tools import KERNEL, PRELUDE, run

WORK = "[launch() for _ in range(100)]; cuda.simulatedSynchronize(7)\n"


@pytest.fixture
def preloaded(gpu_session: Session) -> Session:
    """A recording whose agent the loader loads, as ``warpline record`` has it."""
    gpu_session.variables["LD_PRELOAD"] = str(gpu_session.agent)
    return gpu_session


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("os._exit(3)", 3),
        ("ctypes.CDLL(None)._Exit(4)", 4),
        ("ctypes.CDLL(None).quick_exit(5)", 5),
        ("threading.Thread(target=os._exit, args=(6,)).start(); time.sleep(60)", 6),
    ],
)
def test_the_last_kernels_are_kept(preloaded: Session, ending: str, status: int) -> None:
    run(preloaded, PRELUDE + WORK + ending, status=status)
    assert preloaded.count(*KERNEL) == 100


def test_forked_workers_keep_their_kernels(preloaded: Session) -> None:
    program = f"""
import multiprocessing
def work():
    exec({PRELUDE + WORK!r}, globals())
context = multiprocessing.get_context("fork")
workers = [context.Process(target=work) for _ in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
    assert worker.exitcode == 0, worker.exitcode
"""
    preloaded.run(sys.executable, "-c", program)
    assert preloaded.count(*KERNEL) == 200


def test_an_end_in_a_signal_handler_comes_at_once(preloaded: Session) -> None:
    program = f"""{PRELUDE}{WORK}
signal.signal(signal.SIGALRM, lambda *_: os._exit(7))
signal.setitimer(signal.ITIMER_REAL, 0.1)
while True:
    launch()
"""
    run(preloaded, program, status=7)
    assert preloaded.count(*KERNEL) >= 100


def test_an_end_does_not_wait_for_a_cupti_that_hangs(preloaded: Session) -> None:
    # CUPTI disables the kernels' kind first, and then does not come back, with its caller's lock held.
    program = f"""{PRELUDE}{WORK}
print("ready", flush=True)
cupti = ctypes.CDLL("libcupti.so.12")
while cupti.simulated_is_enabled(10):
    pass
print("hangs", flush=True)
os._exit(8)
"""
    process = preloaded.start(sys.executable, "-c", program, SIMULATED_CUPTI_DISABLE_MS="1000000")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    preloaded.set_state(PAUSED)
    assert process.stdout.readline() == "hangs\n"
    assert process.wait(60) == 8


def test_a_child_that_cannot_run_its_program_ends_alone(preloaded: Session) -> None:
    program = f"""{PRELUDE}{WORK}
import subprocess
for _ in range(3):
    try:
        subprocess.Popen(["/nonexistent"])
    except FileNotFoundError:
        pass
launch()
cuda.simulatedSynchronize(7)
"""
    run(preloaded, program)
    assert preloaded.count(*KERNEL) == 101
