"""A small capture and a small trace, as the library's documentation speaks of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from warpline.storage import CaptureBuilder

MS = 1_000_000
STEPS = 20


def write_run(path: Path) -> Path:
    """Twenty steps of a training loop, 100 ms each: a range, a launch and a kernel, a copy in every second step."""
    with CaptureBuilder(path) as builder:
        builder.meta["command_line"] = ["python", "train.py"]
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 74, name="Main")
        builder.add_device(0, "Test GPU")
        builder.track("process/71.1", title="python", role="process", process=process)
        host = builder.track(
            "process/71.1/thread/74.1",
            title="Main",
            role="thread",
            parent="process/71.1",
            process=process,
            thread=thread,
        )
        ranges, api = (
            builder.track(
                f"process/71.1/thread/74.1/{role}", role=role, parent=host, process=process, thread=thread
            )
            for role in ("ranges", "api")
        )
        gpu = builder.track("gpu/0", title="Test GPU", role="gpu", device=0)
        streams = [
            builder.track(
                f"gpu/0/process/71.1/context/1/stream/{stream}",
                title=f"Stream {stream}",
                role="stream",
                parent=gpu,
                process=process,
                device=0,
                context=1,
                stream=stream,
            )
            for stream in (7, 8)
        ]
        steps = np.arange(STEPS, dtype=np.int64) * 100 * MS
        builder.add_events(ranges, "range", steps, 90 * MS, builder.string("step"))
        calls = builder.add_events(
            api,
            "cuda_api",
            steps + 10 * MS,
            MS,
            builder.string("cudaLaunchKernel"),
            attributes={"correlation": np.arange(STEPS)},
        )
        names = builder.strings(["gemm", "reduce"])
        # The number of registers was not recorded for every fifth kernel.
        registers = np.ma.MaskedArray(np.full(STEPS, 32), np.arange(STEPS) % 5 == 0)
        kernels = builder.add_events(
            streams[0],
            "kernel",
            steps + 20 * MS,
            np.where(np.arange(STEPS) % 2, 10, 40) * MS,
            names[np.arange(STEPS) % 2],
            attributes={"registers_per_thread": registers, "grid_x": 64},
        )
        builder.add_links("launch", calls + np.arange(STEPS), kernels + np.arange(STEPS))
        builder.add_events(
            streams[1],
            "memcpy",
            steps[::2] + 70 * MS,
            5 * MS,
            builder.string("Memcpy HtoD"),
            attributes={"bytes": 4096, "copy_kind": 1},
        )
        sync = builder.track("gpu/0/sync", role="sync", parent=gpu, device=0)
        builder.add_events(
            sync,
            "sync",
            [95 * MS],
            [MS],
            builder.string("wait"),
            attributes={"sync_type": 3, "stream": 7},
        )
        memory = [float("nan") if step == 3 else step * 1e6 for step in range(STEPS)]
        builder.add_counter(gpu, "Memory used", "bytes", steps, memory)
        builder.set_span(0, STEPS * 100 * MS)
        return builder.finish()


def write_trace(path: Path) -> Path:
    """Three calls in the format of Chrome's tracing, microseconds."""
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "name": name, "ts": 1000 * number, "dur": 500}
        for number, name in enumerate(("load", "train", "save"))
    ]
    path.write_text(json.dumps({"traceEvents": events}))
    return path
