"""CUPTI in programs that find a simulated driver and libcupti: all record kinds, versions, refusals, clocks."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.native.conftest import Session, column, names, states
from tests.native.cupti_tools import KERNEL, PRELUDE, RUNTIME, run

from warpline.recording.sources.cuda import records
from warpline.recording.sources.cuda.gpu_clock import gpu_clock

VERSIONS = ("11.8", "12.1", "12.4", "12.9", "13.0", "13.1", "13.3", "13.5")
EVERYTHING = (
    PRELUDE
    + """
launch("_Z4axpyPfS_f", 7, 5000)
cuda.simulatedDriverLaunch(ctypes.c_char_p(b"triton_kernel"), 8, u64(2000))
for kind in (1, 2, 8, 10):
    cuda.simulatedCopy(kind, u64(1 << 20), 7, u64(3000))
cuda.simulatedSet(255, u64(4096), 9, u64(500))
cuda.simulatedGraph(3, 5, 10, u64(700))
cuda.simulatedSynchronize(10)
cuda.simulatedAllocate(u64(0x7f0000), u64(1 << 21), 0)
cuda.simulatedAllocate(u64(0x7f0000), u64(1 << 21), 1)
cuda.simulatedExternal(u64(77), ctypes.c_char_p(b"external"), 7, u64(10))
cuda.simulatedOverhead(1 << 16)
cuda.simulatedGetDevice(0)
cuda.simulatedGetDevice(101)
"""
)


def check_everything(session: Session) -> None:
    """Every record kind with the values the simulation gave it."""
    spool = session.spool()
    assert spool.header.lost == 0
    kernels = np.sort(spool.records(*KERNEL).values, order="correlation")
    assert [spool.text(name) for name in kernels["name"]] == [
        "_Z4axpyPfS_f",
        "triton_kernel",
        *["_Z4nodePf"] * 5,
        "external",
    ]
    assert (kernels["end_ns"] - kernels["start_ns"]).tolist() == [5000, 2000, *[700] * 5, 10]
    assert kernels["stream"].tolist() == [7, 8, *[10] * 5, 7]
    first = kernels[0]
    assert [int(first[name]) for name in ("grid_x", "grid_y", "grid_z")] == [264, 2, 1]
    assert [int(first[name]) for name in ("block_x", "block_y", "block_z")] == [256, 1, 1]
    assert [int(first[name]) for name in ("registers", "static_shared_bytes", "dynamic_shared_bytes")] == [
        40,
        4096,
        1024,
    ]
    assert int(first["local_per_thread_bytes"]) == 16
    assert sorted(kernels["graph_node"].tolist()) == [0, 0, 0, 100, 101, 102, 103, 104]
    assert kernels["graph"][kernels["graph_node"] > 0].tolist() == [3] * 5
    copies = np.sort(spool.records(records.CUPTI_MEMCPY, records.cupti_memcpy).values, order="correlation")
    assert copies["copy_kind"].tolist() == [1, 2, 8, 10]
    assert copies["source_kind"].tolist() == [1, 3, 1, 1]
    assert copies["destination_kind"].tolist() == [3, 1, 3, 3]
    assert copies["bytes"].tolist() == [1 << 20] * 4
    assert copies["destination_device"].tolist() == [records.NOBODY] * 3 + [1]
    (fill,) = spool.records(records.CUPTI_MEMSET, records.cupti_memset).values
    assert [int(fill[name]) for name in ("value", "bytes", "memory_kind", "stream")] == [255, 4096, 3, 9]
    (sync,) = spool.records(records.CUPTI_SYNC, records.cupti_sync).values
    assert [int(sync[name]) for name in ("type", "context", "stream", "event")] == [3, 1, 10, records.NOBODY]
    memory = np.sort(spool.records(records.CUPTI_MEMORY, records.cupti_memory).values, order="correlation")
    assert memory["operation"].tolist() == [1, 2]
    assert memory["bytes"].tolist() == [1 << 21] * 2
    assert memory["address"].tolist() == [0x7F0000] * 2
    (external,) = spool.records(records.CUPTI_EXTERNAL, records.cupti_external).values
    assert int(external["external"]) == 77
    assert int(external["correlation"]) == int(kernels["correlation"][-1])
    (overhead,) = spool.records(records.CUPTI_OVERHEAD, records.cupti_overhead).values
    assert (int(overhead["kind"]), int(overhead["tid"])) == (1 << 16, spool.header.pid)
    (device,) = spool.records(records.CUPTI_DEVICE, records.cupti_device).values
    assert spool.text(device["name"]) == "Simulated H100"
    assert [int(device[name]) for name in ("multiprocessors", "compute_major", "max_warps_per_sm")] == [
        132,
        9,
        64,
    ]
    assert int(device["memory_bytes"]) == 80 << 30
    assert device["uuid"].tolist() == list(range(0x10, 0x20))
    streams = spool.records(records.CUPTI_STREAM, records.cupti_stream).values
    assert sorted(streams["stream"].tolist()) == [7, 8, 9, 10]
    assert {int(row["stream"]): int(row["priority"]) for row in streams}[8] == -5
    runtime = np.sort(spool.records(*RUNTIME).values, order="start_ns")
    functions = {
        int(row["function"]): spool.text(row["name"])
        for row in spool.records(records.CUPTI_FUNCTION, records.cupti_function).values
    }
    called = [functions[int(function)] for function in runtime["function"]]
    assert called.count("cudaMemcpyAsync_v3020") == 4
    queries = runtime[runtime["function"] == 17]
    assert (queries["result"] == 101).sum() == 1
    # The other is left out and counted, unless a busy machine made it slow.
    slow = queries[queries["result"] == 0]
    assert np.all(slow["end_ns"] - slow["start_ns"] > 20_000)
    assert set(runtime["tid"].tolist()) == {spool.header.pid}
    assert int(runtime["result"][-1]) == 101
    (driver,) = spool.records(records.CUPTI_DRIVER, records.cupti_api).values
    assert int(driver["correlation"]) == int(kernels["correlation"][1])
    state = states(spool)["cuda"]
    assert state[0]
    assert state[1] == ("" if len(slow) else "1 CUDA calls that only ask for state were left out")
    # The launch ends before the kernel, and the kernel starts after the launch began: one clock.
    by_correlation = dict(zip(runtime["correlation"].tolist(), runtime["start_ns"].tolist(), strict=True))
    for kernel in kernels:
        if int(kernel["correlation"]) in by_correlation:
            assert kernel["start_ns"] > by_correlation[int(kernel["correlation"])]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_record_kind_at_every_records_size(gpu_session: Session, version: str) -> None:
    run(gpu_session, EVERYTHING, SIMULATED_CUPTI_VERSION=version, WARPLINE_CUPTI="memory=1")
    check_everything(gpu_session)


def test_records_out_of_order(gpu_session: Session) -> None:
    run(gpu_session, EVERYTHING, SIMULATED_CUPTI_SHUFFLE="1", WARPLINE_CUPTI="memory=1")
    check_everything(gpu_session)


def test_every_call_on_request_and_no_allocations_without(gpu_session: Session) -> None:
    run(gpu_session, EVERYTHING, WARPLINE_CUPTI="calls=all")
    spool = gpu_session.spool()
    assert (column(spool, *RUNTIME, "function") == 17).sum() == 2
    assert len(spool.records(records.CUPTI_MEMORY, records.cupti_memory).values) == 0
    assert states(spool)["cuda"] == (True, "", "")


def test_a_graph_is_one_event_per_launch_on_request(gpu_session: Session) -> None:
    run(gpu_session, EVERYTHING, WARPLINE_CUPTI="graphs=graph")
    spool = gpu_session.spool()
    (graph,) = spool.records(records.CUPTI_GRAPH, records.cupti_graph).values
    assert [int(graph[name]) for name in ("graph", "stream", "device", "context")] == [3, 10, 0, 1]
    assert "_Z4nodePf" not in names(spool, *KERNEL)
    session = spool.records(records.CUPTI_SESSION, records.cupti_session).values[-1]
    assert int(session["per_graph"]) == 1


def test_dropped_records_are_counted(gpu_session: Session) -> None:
    run(gpu_session, EVERYTHING, SIMULATED_CUPTI_DROP="5")
    dropped = column(gpu_session.spool(), records.CUPTI_DROPPED, records.cupti_dropped, "count")
    assert len(dropped) >= 1
    assert set(dropped.tolist()) == {5}


@pytest.mark.parametrize(
    ("refuse", "reason", "remedy"),
    [
        (
            "subscribe=39",
            "CUPTI refused the subscription: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)",
            "run it without that one",
        ),
        ("subscribe=15", "CUPTI refused the subscription: unknown (15)", "driver may be older"),
        ("enable=35", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("version=999", "libcupti does not start: unknown (999)", "driver may be older"),
        ("register=8", "CUPTI refused the buffers: unknown (8)", "WARPLINE_LIBCUPTI"),
    ],
)
def test_a_refusal_is_told_and_the_program_runs_on(
    gpu_session: Session, refuse: str, reason: str, remedy: str
) -> None:
    run(gpu_session, EVERYTHING, SIMULATED_CUPTI_REFUSE=refuse)
    enabled, why, what = states(gpu_session.spool())["cuda"]
    assert not enabled
    assert reason in why
    assert remedy in what


def test_one_kind_refused_leaves_the_others(gpu_session: Session) -> None:
    run(gpu_session, EVERYTHING, SIMULATED_CUPTI_REFUSE="enable38=27", WARPLINE_CUPTI="calls=all")
    spool = gpu_session.spool()
    enabled, why, _what = states(spool)["cuda"]
    assert enabled
    assert why == "activity kind 38: unknown (27)"
    assert len(spool.records(*KERNEL).values) == 8


def test_no_libcupti_is_told(gpu_session: Session, simulated_gpu: Path, tmp_path: Path) -> None:
    alone = tmp_path / "driver only"
    alone.mkdir()
    (alone / "libcuda.so.1").symlink_to(simulated_gpu / "libcuda.so.1")
    for name in ("libcupti.so.13", "libcupti.so.12", "libcupti.so"):
        (alone / name).write_text("found before any that the machine has, and no library")
    run(gpu_session, EVERYTHING, LD_LIBRARY_PATH=str(alone), WARPLINE_LIBCUPTI="/nonexistent/libcupti.so")
    enabled, why, what = states(gpu_session.spool())["cuda"]
    assert not enabled
    assert why.startswith("libcupti was not found")
    assert "nvidia-cuda-cupti" in what


@pytest.mark.parametrize(
    ("clock", "is_preloaded"), [("", True), ("realtime", True), ("device", True), ("", False)]
)
def test_gpu_times_are_on_the_hosts_clock(gpu_session: Session, clock: str, is_preloaded: bool) -> None:
    before = time.monotonic_ns()
    preload = str(gpu_session.agent) if is_preloaded else ""
    run(gpu_session, EVERYTHING, SIMULATED_CUPTI_CLOCK=clock, LD_PRELOAD=preload)
    after = time.monotonic_ns()
    spool = gpu_session.spool()
    session = spool.records(records.CUPTI_SESSION, records.cupti_session).values[-1]
    assert int(session["clock"]) == (0 if is_preloaded and clock != "realtime" else 1)
    converter = gpu_clock(spool, int(session["clock"]) == 0)
    calls = dict(
        zip(
            column(spool, *RUNTIME, "correlation").tolist(),
            converter.monotonic(spool.records(*RUNTIME).values["start_ns"]).tolist(),
            strict=True,
        )
    )
    kernels = spool.records(*KERNEL).values
    for correlation, start in zip(
        kernels["correlation"].tolist(), converter.monotonic(kernels["start_ns"]).tolist(), strict=True
    ):
        assert before < start < after
        if correlation in calls:
            # The simulated kernels start 2 µs after their launch, on an idle stream.
            assert 0 < start - calls[correlation] < 50_000_000


def test_processes_with_the_same_correlation_ids_stay_apart(gpu_session: Session) -> None:
    program = PRELUDE + "launch(sys.argv[1])"
    for name in ("one", "two"):
        gpu_session.run(sys.executable, "-c", program, name)
    spools = gpu_session.spools()
    assert sorted(names(spool, *KERNEL)[0] for spool in spools) == ["one", "two"]
    assert {int(column(spool, *KERNEL, "correlation")[0]) for spool in spools} == {1}


def test_threads_are_those_of_the_kernel(gpu_session: Session) -> None:
    program = (
        PRELUDE
        + """
def work():
    for _ in range(10): launch(f"thread {threading.get_native_id()}")
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    )
    run(gpu_session, program)
    spool = gpu_session.spool()
    tid_of = dict(
        zip(
            column(spool, *RUNTIME, "correlation").tolist(),
            column(spool, *RUNTIME, "tid").tolist(),
            strict=True,
        )
    )
    kernels = spool.records(*KERNEL).values
    assert len(kernels) == 30
    for kernel in kernels:
        assert spool.text(kernel["name"]) == f"thread {tid_of[int(kernel['correlation'])]}"
