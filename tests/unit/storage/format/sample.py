"""Writes the small capture that is kept of every version of the format: `python sample.py OUT [--compress]`.

It has something in every table, and nothing in it is left to chance. ``--version 0`` keeps to what could be said in
that version: so it runs on a Warpline of that time.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model import AttributeSpec, Flag, KindSpec, Packing
from warpline.storage import CaptureBuilder

UUID = "c0ffee00-0000-4000-8000-{:012d}"
EVENTS = 24
DENSE_EVENTS = 1026
"""More than are between two entries of the skip index."""

Int64Array = npt.NDArray[np.int64]


def spread(n: int, step: int, low: int, high: int) -> Int64Array:
    """``n`` numbers from [low, high) that look like chance and never change."""
    return low + np.arange(n, dtype=np.int64) * step % (high - low)


def told(version: int, **attributes: str | float) -> dict[str, Any]:
    """Attributes of a track as an argument; none in a version that has none."""
    return {"attributes": attributes} if version else {}


def kinds(version: int) -> list[KindSpec]:
    """Kinds whose attributes are of every type."""
    stack = AttributeSpec("stack", "stack" if version else "uint32", "Stack")
    correlation = AttributeSpec("correlation", "int64", "Correlation id")
    return [
        KindSpec("cpu_slice", "CPU slice", "cpu", "core", (AttributeSpec("thread", "int64", "Thread"),)),
        KindSpec(
            "thread_state",
            "Thread state",
            "cpu",
            "state",
            (AttributeSpec("cpu", "int32", "Core"), AttributeSpec("reason", "string", "Reason")),
        ),
        KindSpec(
            "cuda_api",
            "CUDA API call",
            "api",
            "api",
            (correlation, AttributeSpec("return_value", "int32", "Result"), stack),
        ),
        KindSpec(
            "kernel",
            "Kernel",
            "gpu",
            "kernel",
            (
                AttributeSpec("grid_x", "uint32", "Grid x", "blocks"),
                AttributeSpec("registers_per_thread", "uint32", "Registers per thread"),
                AttributeSpec("occupancy_ratio", "float32", "Theoretical occupancy", "ratio"),
                correlation,
            ),
        ),
        KindSpec(
            "memcpy",
            "Memory copy",
            "gpu",
            "copy",
            (
                AttributeSpec("bytes", "uint64", "Size", "bytes"),
                AttributeSpec(
                    "copy_kind", "uint8", "Direction", "", {1: "host to device", 2: "device to host"}
                ),
            ),
        ),
        KindSpec("range", "Range", "range", "range"),
        KindSpec("sample", "Sample", "cpu", "python", (stack,)),
        KindSpec(
            "token",
            "Token ☕",
            "other",
            "neutral",
            (
                AttributeSpec("phase", "int8", "Phase", "", {-1: "prefill", 1: "decode"}),
                AttributeSpec("is_last", "bool", "Last"),
                AttributeSpec("share", "float64", "Share", "ratio"),
                AttributeSpec("text", "string", "Text"),
                AttributeSpec("batch", "int16", "Batch"),
                AttributeSpec("slot", "uint16", "Slot"),
            ),
        ),
    ]


def write(path: Path, *, compress: bool = False, version: int = 1) -> Path:
    """Writes the capture."""
    # Warpline's own kinds may change: the sample has its own, and so the same codes for ever.
    home = "warpline.storage.write.table_builder" if version else "warpline.storage.tables"
    with mock.patch(f"{home}.BUILTIN_KINDS", ()), CaptureBuilder(path, compress=compress) as builder:
        builder.uuid = UUID.format(2 * version + compress)
        for spec in kinds(version):
            builder.add_kind(spec)
        _describe(builder)
        stacks = _stacks(builder)
        calls, process = _threads(builder, stacks, version)
        _gpu(builder, calls, process, version)
        _ranges(builder, stacks)
        return builder.finish()


def _describe(builder: CaptureBuilder) -> None:
    builder.add_source("perf", True, lost=3)
    builder.add_source("cupti", False, "no GPU", remedy="use a machine with a GPU")
    builder.add_skipped("events", 7, "without an end")
    builder.add_warning(english("the clock of rank {rank} is an estimate", rank=1))
    builder.add_pause(50_000, 60_000)
    builder.meta.update(
        command_line=["python", "läuft.py", "--steps=3"],
        working_directory="/tmp",
        host={"cpus": 2, "load": 0.5},
        start_utc_ns=1_700_000_000_000_000_000,
        tool="sample",
        exit_status=3,
        exit_signal=None,
        stderr_tail=["Traceback (most recent call last):", "RuntimeError: läuft nicht"],
    )


def _stacks(builder: CaptureBuilder) -> list[int]:
    outer = builder.stack(builder.string("train.py:1 main"))
    return [outer, builder.stack(builder.string("train.py:9 step"), outer)]


def _threads(builder: CaptureBuilder, stacks: list[int], version: int) -> tuple[int, int]:
    """Cores, states of two threads with reasons, a thread's calls; the first id of the calls, the process."""
    process = builder.add_process(
        71, name="python", command="python läuft.py", parent_pid=1, start_ns=0, stop_ns=200_000, exit_status=3
    )
    main = builder.add_thread(process, 71, name="main", start_ns=0)
    worker = builder.add_thread(process, 72, name="worker")
    cores = builder.track("cpu", title="Cores", role="cores")
    new = told(version, numa_node=0, mhz=2400.5, online=True, model="Zen ☕")
    first = builder.track("cpu/0", title="Core 0", role="core", parent=cores, **new)
    other = told(version, numa_node=1)
    second = builder.track("cpu/1", title="Core 1", role="core", parent=cores, sort_key=1, **other)
    for core in (first, second):
        start = spread(EVENTS, 977, 0, 200_000)
        builder.add_events(
            core, "cpu_slice", np.sort(start), 90, builder.string("python"), attributes={"thread": 71}
        )
    owner = builder.track("process/71.1", title="python (71)", role="process", process=process)
    for tid, thread in ((71, main), (72, worker)):
        track = builder.track(
            f"process/71.1/thread/{tid}.1", role="thread", parent=owner, process=process, thread=thread
        )
        state = builder.track(f"process/71.1/thread/{tid}.1/state", role="state", parent=track, thread=thread)
        names = builder.strings(["running", "blocked", "runnable"])
        order = np.arange(EVENTS)
        builder.add_events(
            state,
            "thread_state",
            order * 2_000,
            2_000,
            names[order % 3],
            flags=np.array([0, Flag.IDLE, Flag.WAITING], np.uint8)[order % 3],
            attributes={
                "cpu": np.ma.MaskedArray(order % 2, order % 3 == 1),
                "reason": np.ma.MaskedArray(
                    np.full(EVENTS, builder.string("futex"), np.uint32), order % 3 != 1
                ),
            },
        )
    api = builder.track(
        "process/71.1/thread/71.1/api", role="api", parent="process/71.1/thread/71.1", thread=main
    )
    order = np.arange(EVENTS)
    calls = builder.add_events(
        api,
        "cuda_api",
        order * 450,
        spread(EVENTS, 31, 5, 440),
        builder.strings(f"cuda{name}" for name in ("LaunchKernel", "MemcpyAsync", "Malloc"))[order % 3],
        attributes={
            "correlation": order + 100,
            "return_value": np.ma.MaskedArray(order % 5, order % 7 == 0),
            "stack": np.ma.MaskedArray(np.array(stacks, np.uint32)[order % 2], order % 2 == 0),
        },
    )
    ticks = np.arange(258)
    builder.add_counter(first, "Utilization", "ratio", ticks * 500, (ticks % 11) / 10)
    ticks = ticks[:20]
    holes = np.where(ticks == 7, np.nan, ticks * 1.5)
    builder.add_counter(second, "Frequency", "Hz", ticks * 500, holes, interpolation="linear")
    return calls, process


def _gpu(builder: CaptureBuilder, calls: int, process: int, version: int) -> None:
    """Kernels that overlap on one stream, in a clock of their own, linked with their calls by key."""
    builder.add_device(0, "GPU 0", properties={"sms": 132, "memory_bytes": 80 << 30, "name": "Ω"})
    clock = builder.add_clock("gpu", 1_000, "cupti", 12)
    new = told(version, model="Ω")
    gpu = builder.track(
        "gpu/0", title=english("GPU {number}", number=0), role="gpu", device=0, clock=clock, **new
    )
    stream = builder.track(
        "gpu/0/process/71.1/context/1/stream/7",
        title=english("Stream {number}", number=7),
        role="stream",
        parent=gpu,
        process=process,
        device=0,
        context=1,
        stream=7,
        packing=Packing.PACK,
    )
    order = np.arange(EVENTS // 2)
    names = builder.strings(["gemm", "ncclDevKernel_AllReduce", "softmax"])
    kernels = builder.add_events(
        stream,
        "kernel",
        order * 450 + 1_500,
        spread(len(order), 41, 100, 900),
        names[order % 3],
        attributes={
            "grid_x": order % 64 + 1,
            "registers_per_thread": np.ma.MaskedArray(order % 255, order % 3 == 0),
            "occupancy_ratio": (order % 8) / 8,
            "correlation": order + 100,
        },
    )
    builder.add_events(
        stream,
        "memcpy",
        [91_500, 92_000],
        300,
        builder.string("copy"),
        attributes={"bytes": [4096, 1 << 40], "copy_kind": 1},
    )
    builder.add_link_keys(
        "launch", process, "from", np.arange(EVENTS) + 100, np.arange(calls, calls + EVENTS)
    )
    builder.add_link_keys("launch", process, "to", order + 100, np.arange(kernels, kernels + len(order)))
    builder.add_links("wakeup", [-1, calls], [calls, -1])


def _ranges(builder: CaptureBuilder, stacks: list[int]) -> None:
    """Nested ranges of another rank, a kind of its own, and a lane dense enough for a level of detail."""
    late = builder.add_clock("rank 1", -5_000, "steps")
    rank = builder.track("rank/1", title="Rank 1", role="rank", rank=1, clock=late)
    ranges = builder.track("rank/1/process/5/thread/5/ranges", role="ranges", parent=rank, sort_key=-2)
    step = np.arange(20) * 4_000 - 5_000
    builder.add_events(ranges, "range", step, 4_000, builder.strings(f"step {n}" for n in range(20)), flags=1)
    builder.add_events(ranges, "range", step + 100, 1_000, builder.string("forward"))
    order = np.arange(EVENTS)
    builder.add_events(
        builder.track("rank/1/tokens", role="other", parent=rank),
        "token",
        order * 90,
        90,
        builder.string("token"),
        attributes={
            "phase": np.where(order, 1, -1),
            "is_last": order == EVENTS - 1,
            "share": np.ma.MaskedArray(order / EVENTS, order % 2 == 1),
            "text": builder.strings(f"t{n % 13}" for n in range(EVENTS)),
            "batch": -3,
            "slot": order,
        },
    )
    dense = builder.track("rank/1/dense", role="other", parent=rank)
    duration = spread(DENSE_EVENTS, 5, 0, 9)
    builder.add_events(dense, "range", np.arange(DENSE_EVENTS) * 9, duration, builder.string("tick"))
    samples = builder.track("rank/1/samples", role="samples", parent=rank)
    builder.add_events(
        samples,
        "sample",
        [10, 900, 1_800],
        0,
        0,
        flags=Flag.INSTANT | Flag.ESTIMATED,
        attributes={"stack": stacks[1]},
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--compress", action="store_true")
    parser.add_argument("--version", type=int, default=1)
    options = parser.parse_args()
    write(options.out, compress=options.compress, version=options.version)
