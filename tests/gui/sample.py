"""A small capture whose every number is known: what the tests of the window look at."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warpline.model import Flag, Packing
from warpline.storage import CaptureBuilder

MS = 1_000_000
KERNELS = 40
GEMM, COPY = "void gemm<128, 64>(float*)", "Memcpy HtoD"


def write_sample(path: Path, *, title: str = "train.py") -> Path:
    """100 ms of a training loop: two threads with states, nested ranges, API calls, kernels and copies they launch.

    Kernel i starts at 10 ms + 2 ms·i, lasts 1 ms + 10 us·i; its launch starts 200 us before and lasts 50 us. Every
    fourth "kernel" is a copy of 1 MiB. Step 0–3 are ranges of 20 ms from 10 ms on, each with 4 nested layers.
    """
    with CaptureBuilder(path) as builder:
        builder.meta["command_line"] = ["python", title]
        builder.meta["working_directory"] = "/srv/project"
        builder.set_span(0, 100 * MS)
        process = builder.add_process(71, name="python", command=f"python {title}")
        main = builder.add_thread(process, 71, name="MainThread")
        worker = builder.add_thread(process, 74, name="pin_memory")
        builder.add_device(0, "H100")
        group = builder.track("process/71.1", title=f"python {title} [71]", role="process", process=process)
        states = []
        for thread, tid in ((main, 71), (worker, 74)):
            above = builder.track(
                f"process/71.1/thread/{tid}.1",
                title=f"{('MainThread', 'pin_memory')[tid != 71]}  {tid}",
                role="thread",
                parent=group,
                process=process,
                thread=thread,
            )
            states.append(
                builder.track(
                    f"process/71.1/thread/{tid}.1/state",
                    title="State",
                    role="state",
                    parent=above,
                    process=process,
                    thread=thread,
                )
            )
        running, blocked = builder.string("running"), builder.string("blocked")
        for index, track in enumerate(states):
            starts = np.arange(0, 100 * MS, 10 * MS)
            builder.add_events(track, "thread_state", starts, 6 * MS + index * MS, running)
            builder.add_events(
                track,
                "thread_state",
                starts + (6 + index) * MS,
                (4 - index) * MS,
                blocked,
                flags=int(Flag.IDLE),
            )
        nvtx = builder.track(
            "process/71.1/thread/71.1/nvtx/default",
            title="NVTX",
            role="ranges",
            parent="process/71.1/thread/71.1",
            process=process,
            thread=main,
        )
        steps = 10 * MS + np.arange(4) * 20 * MS
        builder.add_events(nvtx, "range", steps, 20 * MS, builder.strings([f"step {i}" for i in range(4)]))
        layers = (steps[:, None] + np.arange(4)[None, :] * 5 * MS).ravel()
        builder.add_events(
            nvtx, "range", layers, 4 * MS, builder.strings([f"layer {i % 4}" for i in range(16)])
        )
        api = builder.track(
            "process/71.1/thread/71.1/api",
            title="CUDA API",
            role="api",
            parent="process/71.1/thread/71.1",
            process=process,
            thread=main,
        )
        start = 10 * MS + 2 * MS * np.arange(KERNELS)
        is_copy = np.arange(KERNELS) % 4 == 3
        names = builder.strings(["cudaMemcpyAsync" if copy else "cudaLaunchKernel" for copy in is_copy])
        correlation = np.arange(KERNELS) + 1000
        calls = builder.add_events(
            api, "cuda_api", start - 200_000, 50_000, names, attributes={"correlation": correlation}
        )
        gpu = builder.track("gpu/0", title="GPU 0 · H100", role="gpu", device=0)
        context = builder.track(
            "gpu/0/process/71.1/context/1", title="Context 1", role="context", parent=gpu, device=0, context=1
        )
        stream = builder.track(
            "gpu/0/process/71.1/context/1/stream/7",
            title="Stream 7",
            role="stream",
            parent=context,
            process=process,
            device=0,
            context=1,
            stream=7,
            packing=Packing.PACK,
        )
        duration = 1 * MS + 10_000 * np.arange(KERNELS)
        work = np.empty(KERNELS, np.int64)
        count = int(np.count_nonzero(~is_copy))
        first = builder.add_events(
            stream,
            "kernel",
            start[~is_copy],
            duration[~is_copy],
            builder.string(GEMM),
            attributes={
                **{f"grid_{axis}": np.full(count, n) for axis, n in zip("xyz", (56, 2, 1), strict=True)},
                **{f"block_{axis}": np.full(count, n) for axis, n in zip("xyz", (384, 1, 1), strict=True)},
                "registers_per_thread": np.full(count, 168),
                "dynamic_shared_memory_bytes": np.full(count, 65_536),
                "correlation": correlation[~is_copy],
                "queued_ns": np.ma.MaskedArray(np.zeros(count, np.int64), mask=True),
            },
        )
        work[~is_copy] = first + np.arange(count)
        copies = int(np.count_nonzero(is_copy))
        first = builder.add_events(
            stream,
            "memcpy",
            start[is_copy],
            duration[is_copy],
            builder.string(COPY),
            attributes={
                "bytes": np.full(copies, 1 << 20),
                "copy_kind": np.ones(copies),
                "correlation": correlation[is_copy],
            },
        )
        work[is_copy] = first + np.arange(copies)
        builder.add_links("launch", calls + np.arange(KERNELS), work)
        memory = builder.track("process/71.1/counters/memory", title="Memory", role="counter", parent=group)
        builder.add_counter(
            memory, "Resident memory", "bytes", np.arange(0, 100, 10) * MS, np.arange(10) * 1e6 + 5e7
        )
        builder.add_source("perf", True)
        builder.add_source(
            "nvml",
            False,
            "no NVIDIA driver",
            remedy="install the NVIDIA driver, or give the container access to the GPU",
        )
        builder.add_warning("the recorder was killed: the capture ends with its last record")
        builder.finish()
    return path
