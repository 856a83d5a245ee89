"""Which libcupti the agent uses, which calls it keeps, and what it says about refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.native.conftest import Session, states
from tests.native.cupti_tools import KERNEL, PRELUDE, RUNTIME, run

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


def test_nothing_is_flushed_while_cuda_is_being_initialised(gpu_session: Session, tmp_path: Path) -> None:
    log = tmp_path / "flushes"
    program = PRELUDE + f"assert not os.path.exists({str(log)!r}); launch(); cuda.simulatedSynchronize(7)"
    run(gpu_session, program, SIMULATED_CUDA_INIT_MS="900", SIMULATED_CUPTI_FLUSHES=str(log))
    assert gpu_session.count(*KERNEL) == 1
    assert log.exists()
