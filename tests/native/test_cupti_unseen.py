"""Another profiler in a program that the agent was not preloaded into: its calls of CUPTI are unseen."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.native.conftest import PAUSED, RECORDING, Record, Session, simulated_gpu_environment, states
from tests.native.cupti_tools import KERNEL, LOOKS, run
from tests.native.profiler_tools import run as run_script
from tests.native.profiler_tools import the_capture
from tests.native.test_agent_cupti_session import say, wait_until
from tests.native.test_cupti_sharing import CLIENTS

from warpline.recording.sources.cuda import records
from warpline.storage import open_capture

GAP = (records.CUPTI_GAP, records.cupti_gap)
JOINED = f"""{CLIENTS}
del os.environ["CUDA_INJECTION64_PATH"]
initialise()
agent = ctypes.CDLL(os.environ["WARPLINE_AGENT"])
"""


def test_a_profiler_that_takes_cupti_over_is_noticed(gpu_session: Session, tmp_path: Path) -> None:
    program = f"""{CLIENTS}{LOOKS}
initialise()
work(100)
wait_for_looks()
print(time.monotonic_ns())
assert start["paddle"]() == 0
work(100)
wait_for_looks()
stop["paddle"]()
work(100)
wait_for_looks()
assert counts("paddle")[:3] == [100, 0, 0], counts("paddle")
print(time.monotonic_ns())
"""
    gpu_session.variables["SIMULATED_CUPTI_FLUSHES"] = str(tmp_path / "flushes")
    done = gpu_session.run(sys.executable, "-c", program)
    taken, ended = map(int, done.stdout.split())
    (gap,) = gpu_session.spool().records(*GAP).values
    assert gap["start_ns"] <= taken
    assert gap["stop_ns"] >= ended
    assert gpu_session.count(*KERNEL) == 100


def test_a_recording_that_begins_again_has_cupti_again(gpu_session: Session, tmp_path: Path) -> None:
    """A pause and its end, long after another profiler took over and ended."""
    gpu_session.variables["SIMULATED_CUPTI_FLUSHES"] = str(tmp_path / "flushes")
    process = gpu_session.start(
        sys.executable, "-c", f"{CLIENTS}{LOOKS}\ninitialise()\nwork(100)\nwait_for_looks()\nconverse()"
    )
    gpu_session.wait_for(*KERNEL, 100)
    say(process, "assert start['paddle']() == 0; work(50); wait_for_looks(); time.sleep(1); stop['paddle']()")
    say(process, "cupti = ctypes.CDLL('libcupti.so.12')")
    gpu_session.set_state(PAUSED)
    wait_until(process, "not cupti.simulated_is_enabled(4)")
    gpu_session.set_state(RECORDING)
    wait_until(process, "cupti.simulated_is_enabled(10)")
    say(process, "work(30)")
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert gpu_session.count(*KERNEL) == 130
    assert len(gpu_session.spool().records(*GAP).values) == 1


def test_a_profiler_that_was_recording_keeps_its_buffers_and_is_named(gpu_session: Session) -> None:
    """Its buffers come back to Warpline, which must not use or release them."""
    program = f"""{JOINED}
assert start["kineto"]() == 0
work(50)
agent.warpline_join_cuda()
work(60)
stop["kineto"]()
cupti = ctypes.CDLL("libcupti.so.12")
while not cupti.simulated_is_enabled(10): time.sleep(0.01)
work(70)
agent.warpline_leave_cuda()
assert start["kineto"]() == 0
work(5)
stop["kineto"]()
"""
    run(gpu_session, program)
    assert gpu_session.count(*KERNEL) == 130
    is_on, reason, _remedy = states(gpu_session.spool())["cuda"]
    assert is_on
    assert "another profiler was recording when Warpline began" in reason
    assert len(gpu_session.spool().records(*GAP).values) == 0


IDLE_PROFILER = f"""{JOINED}{LOOKS}
cupti = ctypes.CDLL("libcupti.so.12")
assert start["kineto"]() == 0
agent.warpline_join_cuda()
work(60)
wait_for_looks()
stop["kineto"]()
"""
"""It has never given CUPTI a buffer, so nothing shows that it is there."""


def test_kinds_that_an_idle_profiler_disables_are_enabled_again(gpu_session: Session, tmp_path: Path) -> None:
    program = IDLE_PROFILER + "while not cupti.simulated_is_enabled(10): time.sleep(0.01)\nwork(70)\n"
    gpu_session.variables["SIMULATED_CUPTI_FLUSHES"] = str(tmp_path / "flushes")
    run(gpu_session, program)
    assert gpu_session.count(*KERNEL) == 130


def test_a_profiler_that_also_disables_driver_calls_is_noticed(gpu_session: Session, tmp_path: Path) -> None:
    program = IDLE_PROFILER + "cupti.cuptiActivityDisable(4)\nwait_for_looks()\nwork(70)\n"
    gpu_session.variables["SIMULATED_CUPTI_FLUSHES"] = str(tmp_path / "flushes")
    run(gpu_session, program)
    assert len(gpu_session.spool().records(*GAP).values) == 1


@pytest.mark.parametrize("is_first", [False, True], ids=["later", "first"])
def test_where_cupti_serves_several_subscribers_both_are_complete(
    gpu_session: Session, is_first: bool
) -> None:
    begin, join = "assert start['second of several']() == 0", "agent.warpline_join_cuda()"
    program = f"""{JOINED}
{begin if is_first else join}
work(10)
{join if is_first else begin}
work(50)
stop["second of several"]()
work(20)
assert counts("second of several") == [{60 if is_first else 50}, 0, 0, 0], counts("second of several")
"""
    run(gpu_session, program, SIMULATED_CUPTI_VERSION="13.5", SIMULATED_DRIVER_VERSION="13050")
    assert gpu_session.count(*KERNEL) == (70 if is_first else 80)
    assert states(gpu_session.spool())["cuda"][:2] == (True, "")


def test_no_profiler_is_accused_without_one(gpu_session: Session) -> None:
    """Work that goes on holds records back, as another profiler would."""
    program = f"""{CLIENTS}
initialise()
work(10)
launch("long", 7, 1_600_000_000)
time.sleep(1.2)
"""
    run(gpu_session, program)
    assert len(gpu_session.spool().records(*GAP).values) == 0


def test_the_capture_says_when_another_profiler_had_cupti(tmp_path: Path, simulated_gpu: Path) -> None:
    program = f"""
import ctypes
{LOOKS}
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
clients = ctypes.CDLL("libclients.so")
name = ctypes.c_char_p(b"kernel")
def work():
    cuda.simulatedLaunch(name, 7, ctypes.c_uint64(1000))
    cuda.simulatedSynchronize(7)
with Profiler():
    work()
    wait_for_looks()
    assert clients.paddleStart() == 0
    work()
    wait_for_looks()
    clients.paddleStop()
assert clients.clientCount(1, 0) == 1
"""
    variables = {
        "SIMULATED_CUPTI_FLUSHES": str(tmp_path / "flushes"),
        **simulated_gpu_environment(simulated_gpu),
    }
    run_script(tmp_path, program, variables=variables)
    with the_capture(tmp_path) as capture:
        (source,) = [source for source in capture.sources if source.name == "cuda"]
        assert len(capture.events("kernel")) == 1
        assert "because another profiler in the program took CUPTI over" in source.reason
        assert source.reason.startswith("GPU work from ")
        assert any("another profiler" in warning for warning in capture.storage.warnings)


def test_a_recording_of_cuda_alone_sees_the_programs_profiler(record: Record, tmp_path: Path) -> None:
    """`warpline record` preloads the agent for it."""
    script = tmp_path / "program.py"
    lines = ("initialise()", "work(10)", "start['paddle']()", "work(20)", "stop['paddle']()", "work(30)")
    script.write_text("\n".join((CLIENTS, *lines, "assert counts('paddle') == [20, 0, 0, 0]")))
    with open_capture(record(sys.executable, script, options=("--trace", "cuda"))) as capture:
        assert len(capture.kinds["kernel"].rows) == 60
