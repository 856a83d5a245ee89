"""Work still queued when a context, a range, a recording or a program ends is recorded, or counted as lost."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.native.conftest import HERE, PAUSED, RECORDING, SHARED, STOPPING, Record, Session, compile_c, names
from tests.native.cupti_tools import KERNEL, LOOKS, PRELUDE, run
from tests.native.test_agent_cupti_session import say, wait_until

from warpline.recording.sources.cuda import records
from warpline.storage import open_capture

MILLISECOND = 1_000_000
DEVICES = (records.CUPTI_DEVICE, records.cupti_device)
DROPPED = (records.CUPTI_DROPPED, records.cupti_dropped)
DRIVER = (
    PRELUDE
    + """
def context(device=0):
    made = ctypes.c_void_p()
    assert cuda.cuCtxCreate_v2(ctypes.byref(made), 0, device) == 0
    cuda.cuCtxSetCurrent(made)
    stream = ctypes.c_void_p()
    assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
    return made, stream.value
"""
)


def lost(session: Session) -> dict[tuple[int, int], int]:
    """How many records were lost, by activity kind and cause."""
    counts: dict[tuple[int, int], int] = {}
    for row in session.spool().records(*DROPPED).values:
        key = int(row["kind"]), int(row["cause"])
        counts[key] = counts.get(key, 0) + int(row["count"])
    return counts


@pytest.mark.parametrize(
    "destroy",
    [
        "cuda.cuCtxDestroy_v2(made)",
        "cuda.cuGreenCtxDestroy(made)",
        "cuda.cuDevicePrimaryCtxRelease_v2(0)",
        "cuda.simulatedReset()",
    ],
)
def test_work_of_a_context_that_ends_is_on_disk_when_the_call_returns(
    gpu_session: Session, destroy: str
) -> None:
    """The simulated CUPTI aborts on a flush inside the callback that announces the end of a context."""
    work = "stream = 7" if "simulatedReset" in destroy or "Primary" in destroy else "made, stream = context()"
    program = DRIVER + f"{work}\nfor _ in range(10): launch(stream=stream)\n{destroy}\n"
    program += "os.kill(os.getpid(), signal.SIGKILL)"
    run(gpu_session, program, status=-signal.SIGKILL)
    assert len(gpu_session.spool().records(*KERNEL).values) == 10


def test_contexts_come_and_go_beside_a_launching_thread(gpu_session: Session) -> None:
    """Callbacks of one thread meet the flushes of another: a wait for the other's lock would hang both."""
    program = (
        DRIVER
        + """
over = False
def work():
    while not over: launch()
thread = threading.Thread(target=work); thread.start()
for _ in range(200):
    made, stream = context()
    launch("short", stream)
    cuda.cuCtxDestroy_v2(made)
    if _ % 50 == 0: time.sleep(0.26)
over = True
thread.join()
cuda.simulatedSynchronize(7)
"""
    )
    run(gpu_session, program)
    kernels = gpu_session.spool().records(*KERNEL).values
    texts = gpu_session.spool().text
    assert sum(texts(name) == "short" for name in kernels["name"].tolist()) == 200
    assert lost(gpu_session) == {}


def test_sessions_end_and_begin_beside_contexts_that_come_and_go(gpu_session: Session) -> None:
    """The end of a session holds the agent's lock while CUPTI's lock is held for a context, and the reverse."""
    program = (
        DRIVER
        + """
agent = ctypes.CDLL(os.environ["WARPLINE_AGENT"])
over = False
def work():
    while not over:
        made, stream = context()
        launch("short", stream)
        cuda.cuCtxDestroy_v2(made)
thread = threading.Thread(target=work); thread.start()
for _ in range(100):
    agent.warpline_leave_cuda()
    agent.warpline_join_cuda()
over = True
thread.join()
launch("last")
cuda.simulatedSynchronize(7)
"""
    )
    run(gpu_session, program)
    assert "last" in names(gpu_session.spool(), *KERNEL)


QUEUED = (
    PRELUDE
    + """
cuda.simulatedProfiler(1)
for _ in range(400): launch("inside", 7, 500_000)
cuda.simulatedProfiler(0)
cupti = ctypes.CDLL("libcupti.so.12")
while cupti.simulated_is_enabled(10): time.sleep(0.001)
cuda.simulatedSynchronize(7)
"""
)


def test_work_queued_in_a_range_is_recorded_when_it_ends_after_the_range(gpu_session: Session) -> None:
    """400 kernels of 0.5 ms, and `cudaProfilerStop` without a synchronisation."""
    gpu_session.set_page(state=PAUSED)
    run(gpu_session, QUEUED, WARPLINE_CAPTURE_RANGE="cuda-profiler")
    kernels = gpu_session.spool().records(*KERNEL).values
    assert len(kernels) == 400
    assert np.all(kernels["end_ns"] - kernels["start_ns"] == 500_000)
    assert lost(gpu_session) == {}


def test_work_queued_before_a_pause_is_recorded_during_the_pause(gpu_session: Session) -> None:
    process = gpu_session.start(sys.executable, "-c", PRELUDE + "converse()")
    say(process, "cupti = ctypes.CDLL('libcupti.so.12')")
    say(process, "for _ in range(400): launch('queued', 7, 500_000)")
    gpu_session.set_state(PAUSED)
    wait_until(process, "not cupti.simulated_is_enabled(10)")
    gpu_session.wait_for(*KERNEL, 400)  # during the pause, while the program lives
    kernels = gpu_session.spool().records(*KERNEL).values
    assert np.all(kernels["end_ns"] - kernels["start_ns"] == 500_000)
    gpu_session.set_state(RECORDING)
    process.communicate(timeout=60)
    assert lost(gpu_session) == {}


def test_what_is_unfinished_at_the_end_is_counted_by_kind(gpu_session: Session) -> None:
    program = PRELUDE + "launch()\ncuda.simulatedSynchronize(7)\n"
    program += "for _ in range(30): launch('late', 7, 10**13)\n"
    program += "for _ in range(3): cuda.simulatedCopy(1, u64(1024), 7, u64(1000))\n"
    program += "cuda.simulatedSet(0, u64(64), 7, u64(10))\n"
    run(gpu_session, program)
    kernels = gpu_session.spool().records(*KERNEL).values
    assert len(kernels) == 1
    assert np.all(kernels["end_ns"] > kernels["start_ns"])
    unfinished = records.LOST_UNFINISHED
    assert lost(gpu_session) == {(3, unfinished): 30, (1, unfinished): 3, (2, unfinished): 1}


def test_the_end_of_the_recording_waits_for_what_ends_soon(gpu_session: Session) -> None:
    process = gpu_session.start(sys.executable, "-c", PRELUDE + "converse()")
    say(process, f"for _ in range(4): launch('soon', 7, {5 * MILLISECOND})")
    say(process, "launch('late', 7, 10**13)")
    gpu_session.set_state(STOPPING)
    gpu_session.wait_for(*DROPPED, 1)
    assert len(gpu_session.spool().records(*KERNEL).values) == 4
    assert lost(gpu_session) == {(3, records.LOST_UNFINISHED): 1}
    process.kill()
    process.communicate()


def test_an_abrupt_end_of_a_busy_gpu_loses_the_last_buffer_only(gpu_session: Session, tmp_path: Path) -> None:
    """CUPTI hands out no buffer with an unfinished record: 4,000 launches, one that goes on, then `kill -9`."""
    program = (
        PRELUDE + LOOKS + "for _ in range(4000): launch('short', 7, 20_000)\nlaunch('long', 7, 10**13)\n"
    )
    program += "time.sleep(0.1)\nwait_for_looks()\nos.kill(os.getpid(), signal.SIGKILL)"
    run(gpu_session, program, status=-signal.SIGKILL, SIMULATED_CUPTI_FLUSHES=str(tmp_path / "flushes"))
    # A launch has two records, 248 bytes at this version: 528 launches a buffer.
    assert len(gpu_session.spool().records(*KERNEL).values) >= 4000 - 528


def test_existing_devices_contexts_and_streams_are_described_to_a_later_subscriber(
    gpu_session: Session,
) -> None:
    """CUPTI describes each when it is created, and again only on request."""
    program = (
        PRELUDE
        + """
launch(stream=8)
agent = ctypes.CDLL(os.environ["WARPLINE_AGENT"])
agent.warpline_join_cuda()
launch()
agent.warpline_leave_cuda()
agent.warpline_join_cuda()
launch()
cuda.simulatedSynchronize(7)
"""
    )
    later = "del os.environ['CUDA_INJECTION64_PATH']; cuda.cuInit(0)"
    program = program.replace("assert cuda.cuInit(0) == 0", later)
    run(gpu_session, program, SIMULATED_CUDA_DEVICES="2")
    spool = gpu_session.spool()
    devices = spool.records(*DEVICES).values
    assert sorted(devices["device"].tolist()) == [0, 1]
    assert [int(row["uuid"][0]) for row in np.sort(devices, order="device")] == [0x10, 0x30]
    contexts = spool.records(records.CUPTI_CONTEXT, records.cupti_context).values
    assert set(contexts["context"].tolist()) == {1}
    streams = spool.records(records.CUPTI_STREAM, records.cupti_stream).values
    assert set(streams["stream"].tolist()) == {7, 8}
    assert len(spool.records(*KERNEL).values) == 2


def test_without_memory_for_buffers_the_program_goes_on_and_records_count_as_lost(
    gpu_session: Session, built: Path
) -> None:
    """Before API version 27 CUPTI may crash when a buffer is refused; the simulated one does."""
    shim = compile_c(built / "libno_memory.so", [HERE / "programs" / "no_memory.c"], *SHARED)
    program = (
        PRELUDE
        + """
refuses = ctypes.c_int.in_dll(ctypes.CDLL(None), "refuses_memory")
for _ in range(10): launch()
refuses.value = 1
for _ in range(5000): launch(ns=10)
cuda.simulatedSynchronize(7)
"""
    )
    run(gpu_session, program, SIMULATED_CUPTI_VERSION="12.4", LD_PRELOAD=str(shim))
    kept = len(gpu_session.spool().records(*KERNEL).values)
    assert 10 <= kept < 5010
    counts = lost(gpu_session)
    assert {cause for _kind, cause in counts} == {records.LOST_NO_MEMORY}
    # Calls are lost with the kernels.
    assert sum(counts.values()) >= 5010 - kept


def test_losses_are_named_in_the_capture(record: Record, tmp_path: Path) -> None:
    script = tmp_path / "late.py"
    script.write_text(
        PRELUDE + "launch()\ncuda.simulatedSynchronize(7)\nfor _ in range(30): launch('late', 7, 10**13)\n"
    )
    with open_capture(record(sys.executable, script)) as capture:
        cuda = next(source for source in capture.sources if source.name == "cuda")
        assert cuda.enabled
        assert cuda.lost == 30
        assert "30 kernels had not ended" in cuda.reason
        assert any("30 kernels had not ended" in warning for warning in capture.warnings)
        assert len(capture.kinds["kernel"].rows) == 1
