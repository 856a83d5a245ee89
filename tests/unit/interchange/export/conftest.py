"""Captures to export: a synthetic one, and some from other profilers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.unit.interchange.export.export_tools import GENERIC, NSYS, TORCH

from warpline.interchange import import_files
from warpline.model import Flag, Packing
from warpline.storage import Capture, CaptureBuilder, open_capture


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    """A capture with clocks, reused ids, overlap, stacks, links with a missing end, gaps."""
    path = tmp_path_factory.mktemp("made") / "made.h5"
    with CaptureBuilder(path) as builder:
        late = builder.add_clock("rank 1", 1_000, "steps", 7)
        builder.meta["command_line"] = ["python", "train.py"]
        process = builder.add_process(71, name="python")
        other = builder.add_process(71, name="python again", rank=1)
        thread = builder.add_thread(process, 71, name='Main "Thread", first')
        far = builder.add_thread(other, 72, name="worker")
        builder.add_device(0, "GPU zero", properties={"sm_count": 4})
        builder.add_source("cuda", enabled=True)
        builder.add_source("osrt", enabled=False, reason="not asked for", remedy="--trace osrt")
        builder.add_skipped("rows", 3, "for a test")
        builder.add_warning("a warning")
        builder.add_pause(400, 450)
        builder.add_pause(900, 950)
        root = builder.track("process/71.1", role="process", process=process)
        row = builder.track(
            "process/71.1/thread/71.1", role="thread", parent=root, process=process, thread=thread
        )
        api = builder.track(
            "process/71.1/thread/71.1/api", role="api", parent=row, process=process, thread=thread
        )
        ranges = builder.track(
            "process/71.1/thread/71.1/nvtx/x", role="ranges", parent=row, process=process, thread=thread
        )
        loose = builder.track(
            "process/71.1/nvtx/async", role="ranges", parent=root, process=process, packing=Packing.PACK
        )
        samples = builder.track(
            "process/71.1/thread/71.1/samples", role="samples", parent=row, process=process, thread=thread
        )
        gpu = builder.track("gpu/0", role="gpu", device=0)
        stream = builder.track(
            "gpu/0/process/71.1/context/1/stream/7", role="stream", parent=gpu, process=process, device=0,
            context=1, stream=7, packing=Packing.PACK,
        )  # fmt: skip
        rank = builder.track("rank/1", role="rank", rank=1, clock=late)
        remote = builder.track(
            "rank/1/process/71.1/thread/72.1/api", role="api", parent=rank, process=other, thread=far
        )
        names = builder.strings(
            ["launch", "kernel<int, 3>", 'range "quoted"\n100 %', "überholt", "never used"]
        )
        calls = builder.add_events(
            api, "cuda_api", np.arange(0, 1000, 100), 20, names[0],
            attributes={
                "correlation": np.arange(1, 11),
                "return_value": np.ma.MaskedArray(range(10), [True] + [False] * 9),
            },
        )  # fmt: skip
        kernels = builder.add_events(
            stream, "kernel", np.arange(50, 1050, 100), 130, names[1],
            attributes={
                "correlation": np.arange(1, 11), "grid_x": 4, "grid_y": 2, "grid_z": 1, "block_x": 64,
                "block_y": 1, "block_z": 1, "static_shared_memory_bytes": 16, "dynamic_shared_memory_bytes": 8,
                "occupancy_ratio": 0.5, "mangled_name": builder.string("_Z6kernel"),
            },
        )  # fmt: skip
        builder.add_events(
            ranges, "range", [0, 100, 300], [1000, 200, 0], names[2], flags=[0, 0, int(Flag.INSTANT)],
            attributes={"color_argb": np.ma.MaskedArray([0xFF0000FF, 0, 0], [False, True, True])},
        )  # fmt: skip
        builder.add_events(loose, "range", [10, 20, 500], [300, 400, 400], names[3])
        inner = builder.stack(builder.string("inner"), builder.stack(builder.string("outer")))
        builder.add_events(
            samples, "sample", [60, 460, 860], 0, builder.string("inner"), flags=int(Flag.INSTANT),
            attributes={"stack": inner, "cpu": 3},
        )  # fmt: skip
        builder.add_events(
            remote, "cuda_api", [1_100, 1_700], 50, names[0], attributes={"correlation": [1, 2]}
        )
        builder.add_links("launch", np.arange(calls, calls + 10), np.arange(kernels, kernels + 10))
        builder.add_links("launch", [-1], [kernels])
        times = np.arange(0, 1000, 50)
        values = np.where(times == 500, np.nan, times / 7)
        builder.add_counter(gpu, "Utilization", "%", times, values)
        builder.set_span(0, 1_200)
        builder.finish()
    with open_capture(path) as capture:
        yield capture


@pytest.fixture(scope="session")
def imported(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Capture]]:
    folder = tmp_path_factory.mktemp("imported")
    captures = {}
    for number, file in enumerate((*TORCH, *NSYS, *GENERIC)):
        captures[file] = open_capture(import_files([data_dir / file], folder / f"{number}.h5"))
    yield captures
    for capture in captures.values():
        capture.close()
