"""A capture for the timeline's tests: a little of everything that is drawn, at times that are easy to name."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warpline.model import Flag, Packing
from warpline.storage import CaptureBuilder

US = 1_000
MS = 1_000_000
SPAN_NS = 100 * MS
OWN_COLOR = 0xFF20C040
THREADS = 12


def write_timeline_sample(path: Path) -> Path:
    """100 ms: 2 cores, a process of 12 threads (10 nearly idle), a GPU with two streams, a counter, a pause.

    Thread 71: running 0–40 ms, runnable 40–50, blocked ("futex", a line) 50–70, nothing 70–90, running 90–100 and cut.
    Its ranges: ``outer`` 10–30 ms with ``inner`` 12–20 in it and ``own`` (green by its author) 60–64.
    Stream 7: kernels ``gemm<…>`` of 400 µs every ms from 10 ms to 60 ms, one ``ncclAllReduce`` 70–75, copies to the
    device at 80, 82, 84 ms (1 ms each) and to the host at 90 ms. Each kernel is launched by a call 2 ms before it;
    the call at 5 ms launches three kernels. A memory track has 20 000 instants in 1 ms.
    """
    with CaptureBuilder(path) as builder:
        builder.set_span(0, SPAN_NS)
        builder.add_pause(70 * MS, 75 * MS)
        process = builder.add_process(71, name="python", command="python train.py")
        threads = [
            builder.add_thread(process, 71 + i, name="MainThread" if i == 0 else f"worker {i}")
            for i in range(THREADS)
        ]
        builder.add_device(0, "H100")
        _cores(builder, process, threads)
        _threads(builder, process, threads)
        _gpu(builder, process)
        builder.track("system/load", title="Load", role="counter")
        builder.add_counter(
            builder.track("system/load", title="Load", role="counter"),
            "Load",
            "%",
            np.arange(0, 100, 10) * MS,
            np.array([0, 100, 50, np.nan, 25, 75, 0, 0, 100, 100]),
        )
        builder.finish()
    return path


def _cores(builder: CaptureBuilder, process: int, threads: list[int]) -> None:
    cores = builder.track("cpu", title="CPU cores", role="cores")
    for core in range(2):
        track = builder.track(f"cpu/{core}", title=f"Core {core}", role="core", parent=cores)
        start = np.arange(0, 100, 20) * MS + core * 10 * MS
        builder.add_events(
            track,
            "cpu_slice",
            start,
            8 * MS,
            builder.string("MainThread"),
            attributes={
                "process": np.full(5, process),
                "thread": np.full(5, threads[core]),
            },
        )


def _threads(builder: CaptureBuilder, process: int, threads: list[int]) -> None:
    group = builder.track("process/71.1", title="python train.py [71]", role="process", process=process)
    running, runnable, blocked = (builder.string(name) for name in ("running", "runnable", "blocked"))
    for number, thread in enumerate(threads):
        tid = 71 + number
        above = builder.track(
            f"process/71.1/thread/{tid}.1",
            title=f"{'MainThread' if number == 0 else f'worker {number}'}  {tid}",
            role="thread",
            parent=group,
            process=process,
            thread=thread,
            sort_key=number,
        )
        state = builder.track(
            f"process/71.1/thread/{tid}.1/state",
            title="State",
            role="state",
            parent=above,
            process=process,
            thread=thread,
        )
        if number >= 2:
            builder.add_events(state, "thread_state", [number * MS], [MS], running)
            continue
        if number == 1:
            start = np.arange(0, 100_000, 50) * US
            builder.add_events(state, "thread_state", start, 25 * US, running)
            continue
        reason = builder.string("futex")
        stack = builder.stack(builder.string("wait (/app/train.py:12)"))
        builder.add_events(
            state,
            "thread_state",
            np.array([0, 40, 50, 90]) * MS,
            np.array([40, 10, 20, 10]) * MS,
            np.array([running, runnable, blocked, running]),
            flags=np.array([0, int(Flag.WAITING), int(Flag.IDLE), int(Flag.CUT_END)], np.uint8),
            attributes={
                "reason": np.ma.MaskedArray([0, 0, reason, 0], mask=[True, True, False, True]),
                "stack": np.ma.MaskedArray([0, 0, stack, 0], mask=[True, True, False, True]),
                "cpu": np.full(4, 0),
            },
        )
        ranges = builder.track(
            f"process/71.1/thread/{tid}.1/nvtx/default",
            title="NVTX",
            role="ranges",
            parent=above,
            process=process,
            thread=thread,
        )
        builder.add_events(
            ranges,
            "range",
            np.array([10, 12, 60]) * MS,
            np.array([20, 8, 4]) * MS,
            builder.strings(["outer", "inner", "own"]),
            attributes={"color_argb": np.ma.MaskedArray([0, 0, OWN_COLOR], mask=[True, True, False])},
        )
        memory = builder.track(
            f"process/71.1/thread/{tid}.1/memory",
            title="Memory events",
            role="memory",
            parent=above,
            process=process,
            thread=thread,
        )
        builder.add_events(
            memory,
            "memory",
            30 * MS + np.arange(20_000) * 50,
            0,
            builder.string("malloc"),
            flags=int(Flag.INSTANT),
        )


def _gpu(builder: CaptureBuilder, process: int) -> None:
    api = builder.track(
        "process/71.1/thread/71.1/api",
        title="CUDA API",
        role="api",
        parent="process/71.1/thread/71.1",
        process=process,
        thread=0,
    )
    gpu = builder.track("gpu/0", title="GPU 0 · H100", role="gpu", device=0)
    context = builder.track(
        "gpu/0/process/71.1/context/1", title="Context 1", role="context", parent=gpu, device=0, context=1
    )
    streams = [
        builder.track(
            f"gpu/0/process/71.1/context/1/stream/{number}",
            title=f"Stream {number}",
            role="stream",
            parent=context,
            process=process,
            device=0,
            context=1,
            stream=number,
            packing=Packing.PACK,
        )
        for number in (7, 13)
    ]
    start = np.arange(10, 60) * MS
    gemm = builder.strings([f"void gemm<{i % 5}, 64>(float*)" for i in range(50)])
    kernels = builder.add_events(
        streams[0],
        "kernel",
        start,
        400 * US,
        gemm,
        attributes={f"grid_{axis}": np.full(50, 8) for axis in "xyz"},
    )
    calls = builder.add_events(api, "cuda_api", start - 2 * MS, 100 * US, builder.string("cudaLaunchKernel"))
    builder.add_links("launch", calls + np.arange(50), kernels + np.arange(50))
    talk = builder.add_events(streams[0], "kernel", [70 * MS], [5 * MS], builder.string("ncclAllReduce_f32"))
    graph = builder.add_events(api, "cuda_api", [5 * MS], [100 * US], builder.string("cudaGraphLaunch"))
    late = builder.add_events(
        streams[1], "kernel", np.array([6, 8, 94]) * MS, MS, builder.string("graph_kernel")
    )
    builder.add_links("launch", [graph] * 3, late + np.arange(3))
    builder.add_links("launch", [-1], [talk])
    copies = np.array([80, 82, 84, 90]) * MS
    builder.add_events(
        streams[0],
        "memcpy",
        copies,
        MS,
        builder.strings(["Memcpy HtoD"] * 3 + ["Memcpy DtoH"]),
        attributes={"bytes": np.full(4, 1 << 20), "copy_kind": np.array([1, 1, 1, 2])},
    )
