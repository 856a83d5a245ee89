"""Machines and programs of other shapes on the simulated driver: several GPUs, streams per thread, old graphs."""

from __future__ import annotations

import numpy as np
from tests.native.conftest import Session, column
from tests.native.cupti_tools import KERNEL, PRELUDE, run

from warpline.recording.sources.cuda import records

DEVICES = (records.CUPTI_DEVICE, records.cupti_device)


def test_a_visible_device_is_numbered_from_zero_and_keeps_its_uuid(gpu_session: Session) -> None:
    run(gpu_session, PRELUDE + "launch()", SIMULATED_CUDA_DEVICES="2", CUDA_VISIBLE_DEVICES="1")
    (device,) = gpu_session.spool().records(*DEVICES).values
    assert int(device["device"]) == 0
    assert device["uuid"].tolist() == list(range(0x30, 0x40))


def test_kernels_lie_on_the_device_of_their_context(gpu_session: Session) -> None:
    program = (
        PRELUDE
        + """
for device in (0, 1):
    cuda.simulatedSetDevice(device, u64(0))
    stream = ctypes.c_void_p()
    cuda.cuStreamCreate(ctypes.byref(stream), 1)
    launch(f"on {device}", stream.value)
"""
    )
    run(gpu_session, program, SIMULATED_CUDA_DEVICES="2")
    spool = gpu_session.spool()
    kernels = spool.records(*KERNEL).values
    assert {spool.text(row["name"]): (int(row["device"]), int(row["context"])) for row in kernels} == {
        "on 0": (0, 1),
        "on 1": (1, 2),
    }
    contexts = spool.records(records.CUPTI_CONTEXT, records.cupti_context).values
    assert dict(zip(contexts["context"].tolist(), contexts["device"].tolist(), strict=True)) == {1: 0, 2: 1}


def test_each_thread_has_its_own_default_stream(gpu_session: Session) -> None:
    program = (
        PRELUDE
        + """
def work():
    for _ in range(5): launch(stream=cuda.simulatedPerThreadStream())
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    )
    run(gpu_session, program)
    streams, counts = np.unique(column(gpu_session.spool(), *KERNEL, "stream"), return_counts=True)
    assert counts.tolist() == [5, 5, 5]
    described = gpu_session.spool().records(records.CUPTI_STREAM, records.cupti_stream).values
    assert set(streams.tolist()) <= set(described["stream"].tolist())


def test_kernels_of_a_graph_from_before_the_recording_are_recorded(gpu_session: Session) -> None:
    program = PRELUDE.replace(
        "assert cuda.cuInit(0) == 0", "known = cuda.simulatedGraphInstantiate(); cuda.cuInit(0)"
    )
    program += """
cuda.simulatedGraphLaunch(known, 3, 4, 7, u64(100))
cuda.simulatedGraphLaunch(cuda.simulatedGraphInstantiate(), 5, 2, 7, u64(100))
"""
    run(gpu_session, program)
    kernels = gpu_session.spool().records(*KERNEL).values
    assert sorted(kernels["graph"].tolist()) == [0, 0, 0, 0, 5, 5]


def test_a_slow_initialisation_delays_nothing_else(gpu_session: Session) -> None:
    program = PRELUDE + "for _ in range(10): launch()\ncuda.simulatedSynchronize(7)\n"
    run(gpu_session, program, SIMULATED_CUDA_INIT_MS="700")
    assert len(gpu_session.spool().records(*KERNEL).values) == 10


def test_an_error_and_a_drift_of_the_gpus_clock_are_recorded_as_they_are(gpu_session: Session) -> None:
    """CUPTI converts the GPU's times. What it gets wrong cannot be known here, and is not hidden."""
    program = PRELUDE + "launch(ns=1000)\ncuda.simulatedSynchronize(7)\n"
    run(gpu_session, program, SIMULATED_CUPTI_CLOCK_ERROR_NS="5000000", SIMULATED_CUPTI_DRIFT_PPM="20")
    (kernel,) = gpu_session.spool().records(*KERNEL).values
    calls = gpu_session.spool().records(records.CUPTI_RUNTIME, records.cupti_api).values
    launched = int(calls["start_ns"][calls["correlation"] == kernel["correlation"]][0])
    assert int(kernel["start_ns"]) - launched > 5_000_000
    assert int(kernel["end_ns"]) - int(kernel["start_ns"]) == 1000
