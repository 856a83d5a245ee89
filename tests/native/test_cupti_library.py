"""Which libcupti the agent uses, which calls it keeps, and what it says about refusals."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from tests.native.conftest import STOPPING, Session, states
from tests.native.cupti_tools import KERNEL, PRELUDE, RUNTIME, run

from warpline.recording.spool import records

SET_DEVICE = 16


def test_a_loaded_libcupti_of_cuda_11_is_the_only_one(gpu_session: Session, tmp_path: Path) -> None:
    older = tmp_path / "libcupti.so.11.8"
    library = (Path(gpu_session.variables["LD_LIBRARY_PATH"]) / "libcupti.so.12").read_bytes()
    older.write_bytes(library.replace(b"libcupti.so.12\0", b"libcupti.so.11\0"))
    program = f"""
import ctypes
ctypes.CDLL({str(older)!r})
{PRELUDE}
libraries = {{line.split()[-1] for line in open("/proc/self/maps") if "/libcupti.so" in line}}
assert libraries == {{{str(older)!r}}}, libraries
"""
    run(gpu_session, program)
    assert states(gpu_session.spool())["cuda"][0]


def test_a_slow_set_device_is_kept_and_a_fast_one_left_out(gpu_session: Session) -> None:
    run(
        gpu_session,
        PRELUDE + "cuda.simulatedSetDevice(0, u64(5_000_000)); cuda.simulatedSetDevice(0, u64(0))",
    )
    calls = gpu_session.spool().records(*RUNTIME).values
    slow = calls[(calls["function"] == SET_DEVICE) & (calls["end_ns"] - calls["start_ns"] > 4_000_000)]
    assert len(slow) == 1


@pytest.mark.parametrize(
    ("result", "remedy"),
    [
        (14, "CUPTI's other family of functions"),
        (41, "confidential-computing mode"),
        (42, "record on another one"),
        (43, "MIG"),
        (44, "record on another one"),
        (45, "record on another one"),
    ],
)
def test_a_refusal_has_its_own_remedy(gpu_session: Session, result: int, remedy: str) -> None:
    run(gpu_session, PRELUDE, SIMULATED_CUPTI_REFUSE=f"subscribe={result}")
    is_on, _reason, advice = states(gpu_session.spool())["cuda"]
    assert not is_on
    assert remedy in advice


HANGING = """
import ctypes, os, signal, sys, threading, time
cuda = ctypes.CDLL("libcuda.so.1")
threading.Thread(target=cuda.cuInit, args=(0,), daemon=True).start()
def has_agent():  # which is ready when it handles SIGTERM
    (caught,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("SigCgt"))
    return int(caught, 16) >> (signal.SIGTERM - 1) & 1
while not has_agent(): time.sleep(0.01)
"""


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("sys.exit(4)", 4),
        ("os._exit(5)", 5),
        ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(1000)", -signal.SIGTERM),
        ("raise RuntimeError", 1),
    ],
)
def test_a_program_ends_although_cuda_is_still_being_initialised(
    gpu_session: Session, end: str, status: int
) -> None:
    """In the simulation, CUPTI waits for `cuInit`, which takes longer here than any test."""
    variables = {"SIMULATED_CUDA_INIT_MS": "1000000", "LD_PRELOAD": str(gpu_session.agent)}
    run(gpu_session, HANGING + end, status=status, **variables)
    is_on, reason, _remedy = states(gpu_session.spool())["cuda"]
    assert is_on
    assert reason == "when the recording ended, CUDA was not initialised: cuInit had failed or not returned"


def test_the_end_of_the_recording_does_not_wait_for_the_initialisation(gpu_session: Session) -> None:
    process = gpu_session.start(
        sys.executable, "-c", HANGING + "time.sleep(1000)", SIMULATED_CUDA_INIT_MS="1000000"
    )
    gpu_session.wait_for(records.SOURCE_STATE, records.source_state, 1)
    gpu_session.set_state(STOPPING)
    gpu_session.wait_for(records.SOURCE_STATE, records.source_state, 2)
    assert "cuInit" in states(gpu_session.spool())["cuda"][1]
    assert process.poll() is None
    process.kill()
    process.communicate()


def test_nothing_is_flushed_while_cuda_is_being_initialised(gpu_session: Session, tmp_path: Path) -> None:
    log = tmp_path / "flushes"
    program = PRELUDE + "launch(); cuda.simulatedSynchronize(7)"
    run(gpu_session, program, SIMULATED_CUDA_INIT_MS="900", SIMULATED_CUPTI_FLUSHES=str(log))
    assert gpu_session.count(*KERNEL) == 1
    assert log.exists()
    assert "early" not in log.read_text()
