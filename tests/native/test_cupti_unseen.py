"""Another profiler in a program that the agent was not preloaded into: its calls of CUPTI are unseen."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.native.conftest import PAUSED, RECORDING, Session, simulated_gpu_environment, states
from tests.native.cupti_tools import KERNEL, run
from tests.native.profiler_tools import run as run_script
from tests.native.profiler_tools import the_capture
from tests.native.test_agent_cupti_session import say, wait_until
from tests.native.test_cupti_sharing import CLIENTS

from warpline.recording.sources.cuda import records

GAP = (records.CUPTI_GAP, records.cupti_gap)
JOINED = f"""{CLIENTS}
del os.environ["CUDA_INJECTION64_PATH"]
initialise()
agent = ctypes.CDLL(os.environ["WARPLINE_AGENT"])
"""


def test_a_profiler_that_takes_cupti_over_is_noticed(gpu_session: Session) -> None:
    program = f"""{CLIENTS}
initialise()
work(100)
time.sleep(0.5)
print(time.monotonic_ns())
assert start["paddle"]() == 0
work(100)
time.sleep(0.3)
stop["paddle"]()
work(100)
time.sleep(0.3)
assert counts("paddle")[:3] == [100, 0, 0], counts("paddle")
print(time.monotonic_ns())
"""
    done = gpu_session.run(sys.executable, "-c", program)
    taken, ended = map(int, done.stdout.split())
    (gap,) = gpu_session.spool().records(*GAP).values
    assert gap["start_ns"] <= taken
    assert gap["stop_ns"] >= ended
    assert gpu_session.count(*KERNEL) == 100


def test_a_recording_that_begins_again_has_cupti_again(gpu_session: Session) -> None:
    """A pause and its end, long after another profiler took over and ended."""
    process = gpu_session.start(sys.executable, "-c", f"{CLIENTS}\ninitialise()\nwork(100)\nconverse()")
    gpu_session.wait_for(*KERNEL, 100)
    say(process, "assert start['paddle']() == 0; work(50); time.sleep(1.3); stop['paddle']()")
    say(process, "cupti = ctypes.CDLL('libcupti.so.12')")
    gpu_session.set_state(PAUSED)
    wait_until(process, "not cupti.simulated_is_enabled(4)")
    gpu_session.set_state(RECORDING)
    wait_until(process, "cupti.simulated_is_enabled(10)")
    say(process, "work(30)")
    process.communicate(timeout=20)
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
    program = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
clients = ctypes.CDLL("libclients.so")
name = ctypes.c_char_p(b"kernel")
def work():
    cuda.simulatedLaunch(name, 7, ctypes.c_uint64(1000))
    cuda.simulatedSynchronize(7)
with Profiler():
    work()
    time.sleep(0.4)
    assert clients.paddleStart() == 0
    work()
    time.sleep(0.3)
    clients.paddleStop()
assert clients.clientCount(1, 0) == 1
"""
    run_script(tmp_path, program, variables=simulated_gpu_environment(simulated_gpu))
    with the_capture(tmp_path) as capture:
        (source,) = [source for source in capture.sources if source.name == "cuda"]
        assert len(capture.events("kernel")) == 1
        assert "because another profiler in the program took CUPTI over" in source.reason
        assert source.reason.startswith("GPU work from ")
        assert any("another profiler" in warning for warning in capture.storage.warnings)
