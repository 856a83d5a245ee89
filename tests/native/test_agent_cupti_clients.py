"""Other profilers in the recorded program: what the agent changes in CUPTI only serves the agent, and is taken back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.native.conftest import Session, column, simulated_gpu_environment, states
from tests.native.cupti_tools import KERNEL, PRELUDE, RUNTIME, run

OTHERS = (
    PRELUDE
    + """
clients = ctypes.CDLL("libclients.so")
clients.kinetoClockError.restype = ctypes.c_int64
def seen(is_paddle):
    return [clients.clientCount(is_paddle, what) for what in range(3)]
"""
)


@pytest.mark.parametrize("is_paddle", [False, True])
def test_a_refused_agent_leaves_the_clock_to_the_programs_profiler(
    gpu_session: Session, is_paddle: bool
) -> None:
    """Another tool is subscribed, so CUPTI refuses the agent. The program's profiler works as without it."""
    start = "clients.paddleStart()" if is_paddle else "clients.kinetoStart(0)"
    stop = "clients.paddleStop()" if is_paddle else "clients.kinetoStop()"
    program = (
        OTHERS
        + f"""
assert {start} == 0
for _ in range(10): launch()
cuda.simulatedSynchronize(7)
{stop}
print(*seen({is_paddle}), min(abs(clients.kinetoClockError()) for _ in range(9)) < 10**9)
"""
    )
    done = gpu_session.run(sys.executable, "-c", program, SIMULATED_CUPTI_REFUSE="subscribe=39")
    assert done.stdout.split() == ["10", "0", "0", "True"]
    assert not states(gpu_session.spool())["cuda"][0]


def test_a_subscriber_before_the_agent_keeps_its_clock(gpu_session: Session) -> None:
    program = OTHERS.replace(
        "assert cuda.cuInit(0) == 0",
        "assert ctypes.CDLL('libclients.so').kinetoStart(1) == 0; cuda.cuInit(0)",
    )
    program += """
for _ in range(10): launch()
cuda.simulatedSynchronize(7)
clients.kinetoStop()
print(*seen(False), min(abs(clients.kinetoClockError()) for _ in range(9)) < 10**9)
"""
    done = gpu_session.run(sys.executable, "-c", program)
    assert done.stdout.split() == ["10", "0", "0", "True"]
    enabled, reason, _remedy = states(gpu_session.spool())["cuda"]
    assert not enabled
    assert "MULTIPLE_SUBSCRIBERS" in reason


LEAVING = (
    OTHERS
    + """
agent = ctypes.CDLL(os.environ["WARPLINE_AGENT"])
cupti = ctypes.CDLL("libcupti.so.12")
def settings():
    kind = ctypes.c_uint32()
    cupti.cuptiGetThreadIdType(ctypes.byref(kind))
    return kind.value, min(abs(clients.kinetoClockError()) for _ in range(9)) < 10**9
during = settings()
launch()
agent.warpline_leave_cuda()
print(*during, *settings())
assert clients.kinetoStart(1) == 0
for _ in range(10): launch()
cuda.simulatedSynchronize(7)
clients.kinetoStop()
print(*seen(False))
agent.warpline_join_cuda()
print(*settings())
launch()
cuda.simulatedSynchronize(7)
"""
)


def test_the_clock_of_unseen_profilers_stays_and_leaving_gives_thread_ids_back(gpu_session: Session) -> None:
    done = gpu_session.run(sys.executable, "-c", LEAVING)
    assert done.stdout.splitlines() == ["1 True 0 True", "10 0 0", "1 True"]
    spool = gpu_session.spool()
    assert len(spool.records(*KERNEL).values) == 2
    assert len(column(spool, *RUNTIME, "tid")) >= 2


def test_the_clients_work_without_the_agent(simulated_gpu: Path, session: Session) -> None:
    """What the tests above compare with."""
    session.variables = {**simulated_gpu_environment(simulated_gpu), "CUDA_INJECTION64_PATH": ""}
    run(
        session,
        OTHERS
        + """
starts = lambda: clients.kinetoStart(1), clients.paddleStart
stops = clients.kinetoStop, clients.paddleStop
for is_paddle in (0, 1):
    assert starts[is_paddle]() == 0
    for _ in range(10): launch()
    cuda.simulatedSynchronize(7)
    stops[is_paddle]()
    assert seen(is_paddle) == [10, 0, 0]
""",
    )
