"""Captures of GPUs whose truth is known by construction: a host that launches, streams that run what was launched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tests.bench_findings.pairs import Pair

from warpline.storage import CaptureBuilder

US, MS = 1_000, 1_000_000
LAUNCH, LATENCY = 5 * US, 4 * US
STEPS = 10


class World:
    """One process with one host thread and one GPU; times in ns. What is done takes time on the host."""

    def __init__(self, builder: CaptureBuilder, rank: int | None = None) -> None:
        self.builder = builder
        self.now = 0
        self.free: dict[int, int] = {}
        pid = 71 + (rank or 0)
        top = "" if rank is None else f"rank/{rank}/"
        own: dict[str, Any] = {} if rank is None else {"rank": rank}
        process = builder.add_process(pid, name="python", **own)
        thread = builder.add_thread(process, pid, name="main")
        if rank is not None:
            builder.track(f"rank/{rank}", role="rank", rank=rank)
        base = f"{top}process/{pid}.1/thread/{pid}.1"
        self._tracks = {
            role: builder.track(f"{base}/{role}", role=role, process=process, thread=thread, **own)
            for role in ("api", "operators", "phases", "python")
        }
        builder.add_device(0, "GPU of the bench", properties={"sm_count": 132}, **own)
        builder.track(f"{top}gpu/0", role="gpu", device=0, **own)
        self.stream = lambda number: builder.track(
            f"{top}gpu/0/process/{pid}.1/context/1/stream/{number}", role="stream", process=process, device=0,
            context=1, stream=number, **own,
        )  # fmt: skip

    def _event(self, track: int, kind: str, start: int, stop: int, name: str, **attributes: int) -> int:
        given = {key: [value] for key, value in attributes.items()}
        code = self.builder.string(name)
        return self.builder.add_events(track, kind, [start], [stop - start], [code], attributes=given)

    @contextmanager
    def inside(self, kind: str, name: str) -> Iterator[None]:
        """A step, an operator or a Python function around what is done in it."""
        start = self.now
        yield
        role = {"phase": "phases", "operator": "operators", "python": "python"}[kind]
        self._event(self._tracks[role], kind, start, self.now, name)

    def work(self, length: int) -> None:
        """The host does something."""
        self.now += length

    def call(self, name: str, length: int) -> int:
        """A call of CUDA."""
        self.now += length
        return self._event(self._tracks["api"], "cuda_api", self.now - length, self.now, name)

    def launch(self, name: str, length: int, stream: int = 7, kind: str = "kernel", **attributes: int) -> int:
        """Puts work on a stream; its end."""
        begun = self.now
        called = self.call("cudaLaunchKernel" if kind == "kernel" else "cudaMemcpyAsync", LAUNCH)
        start = max(self.free.get(stream, 0), begun + LAUNCH + LATENCY)
        event = self._event(self.stream(stream), kind, start, start + length, name, **attributes)
        self.builder.add_links("launch", [called], [event])
        self.free[stream] = start + length
        return start + length

    def wait(self, stream: int = 7, name: str = "cudaStreamSynchronize") -> None:
        """The host waits until a stream has done everything."""
        self.call(name, max(self.free.get(stream, 0) - self.now, 0) + 5 * US)

    def after(self, stream: int, other: int) -> None:
        """What comes on a stream waits for another one."""
        self.free[stream] = max(self.free.get(stream, 0), self.free.get(other, 0))


def _steps(body: Callable[[World, int, bool], None]) -> Callable[[Path, bool], None]:
    """A capture of steps, each of which ends when its work is done."""

    def make(path: Path, is_sick: bool) -> None:
        builder = CaptureBuilder(path)
        world = World(builder)
        for number in range(STEPS):
            with world.inside("phase", f"ProfilerStep#{number}"):
                body(world, number, is_sick)
        world.wait(name="cudaDeviceSynchronize")
        builder.set_span(0, max(world.now, *world.free.values()))
        builder.finish()

    return make


def _load_in_main(world: World, _step: int, is_sick: bool) -> None:
    with world.inside("phase", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
        with world.inside("python", "dataset.py(41): decode"):
            world.work(10 * MS if is_sick else 100 * US)
    for _ in range(20):
        world.launch("gemm", 500 * US)
    world.wait()


def _slow_workers(world: World, _step: int, is_sick: bool) -> None:
    with world.inside("phase", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
        with world.inside("python", "train.py(17): fetch"):
            world.work(8 * MS if is_sick else 50 * US)
    for _ in range(20):
        world.launch("gemm", 500 * US)
    world.wait()


def _tiny_kernels(world: World, _step: int, is_sick: bool) -> None:
    for _ in range(400 if is_sick else 10):
        with world.inside("operator", "aten::add_"), world.inside("python", "optimizer.py(12): step"):
            world.work(15 * US)
            world.launch("add", 2 * US if is_sick else 80 * US)


def _item(world: World, _step: int, is_sick: bool) -> None:
    for _ in range(20):
        with world.inside("python", "model.py(8): forward"):
            world.work(300 * US)
            world.launch("gemm", 300 * US)
        if is_sick:
            with world.inside("operator", "aten::item"), world.inside("python", "model.py(23): clip"):
                world.wait()


def _pageable(world: World, _step: int, is_sick: bool) -> None:
    with world.inside("python", "train.py(30): to_device"):
        if is_sick:
            world.launch(
                "Memcpy HtoD (Pageable -> Device)", 8 * MS, 7, "memcpy", copy_kind=1, src_kind=0, dst_kind=2
            )
            world.wait()
        else:
            world.launch(
                "Memcpy HtoD (Pinned -> Device)", 2 * MS, 13, "memcpy", copy_kind=1, src_kind=1, dst_kind=2
            )
    for _ in range(20):
        world.launch("gemm", 500 * US)


def _exposed_copy(world: World, _step: int, is_sick: bool) -> None:
    stream = 7 if is_sick else 13
    world.launch(
        "Memcpy HtoD (Pinned -> Device)", 6 * MS, stream, "memcpy", copy_kind=1, src_kind=1, dst_kind=2
    )
    for _ in range(20):
        world.launch("gemm", 500 * US)


def _exposed_communication(world: World, _step: int, is_sick: bool) -> None:
    for _ in range(10):
        world.launch("gemm", 500 * US)
        if not is_sick:
            world.launch("ncclDevKernel_AllReduce_Sum_f32", 400 * US, 20)
    if is_sick:
        world.launch("ncclDevKernel_AllReduce_Sum_f32", 4 * MS)
    world.wait()


def _allocating(world: World, _step: int, is_sick: bool) -> None:
    for _ in range(10):
        with world.inside("operator", "aten::empty"), world.inside("python", "model.py(51): grow"):
            if is_sick:
                world.call("cudaMalloc", 700 * US)
            world.work(20 * US)
        world.launch("gemm", 400 * US)


def _python_alone(world: World, _step: int, is_sick: bool) -> None:
    for _ in range(10):
        world.launch("gemm", 600 * US)
    with world.inside("python", "metrics.py(66): evaluate"):
        world.work(12 * MS if is_sick else 500 * US)


def _compiling(world: World, step: int, is_sick: bool) -> None:
    with world.inside("python", "model.py(9): forward"):
        if is_sick:
            world.call("cuModuleLoadData", 9 * MS)
        world.work(10 * US)
    for _ in range(10):
        world.launch("gemm", 500 * US)


def _garbage(world: World, _step: int, is_sick: bool) -> None:
    for _ in range(10):
        world.launch("gemm", 500 * US)
    world.wait()
    with world.inside("python", "train.py(20): train"):
        world.work(100 * US)
        if is_sick:
            with world.inside("python", "<built-in function collect>"):
                world.work(6 * MS)


def _serial_streams(world: World, _step: int, is_sick: bool) -> None:
    for _ in range(10):
        for stream, line in ((7, "left"), (13, "right")):
            if is_sick and stream == 7:
                # The default stream: nothing runs beside it.
                world.after(7, 13)
            elif is_sick:
                world.after(13, 7)
            with world.inside("python", f"model.py({30 + stream}): {line}"):
                world.launch(
                    "gemm_small", 600 * US if stream == 7 else 500 * US, stream, grid_x=8, grid_y=1, grid_z=1
                )
    world.after(13, 7)
    world.wait(13)


def _first_steps(world: World, step: int, is_sick: bool) -> None:
    world.launch("gemm", 500 * US)
    world.wait()
    with world.inside("python", "dataset.py(12): read"):
        world.work(8 * MS if is_sick and step < 3 else 100 * US)
    for _ in range(10):
        world.launch("gemm", 500 * US)
    world.wait()


def _clock(path: Path, is_sick: bool) -> None:
    """A GPU that gets hot after the first steps, and then computes at two thirds of its clock."""
    builder = CaptureBuilder(path)
    world = World(builder)
    hot: list[bool] = []
    times: list[int] = []
    for number in range(20):
        hot.append(is_sick and number >= 3)
        with world.inside("phase", f"ProfilerStep#{number}"):
            for _ in range(10):
                world.launch("gemm", 1500 * US if hot[-1] else 1000 * US)
                times.append(world.free[7] - 500 * US)
            world.wait()
    for place, (name, unit) in enumerate((("SM clock", "MHz"), ("Temperature", "°C"))):
        cold, warm = ((1800.0, 1200.0), (60.0, 88.0))[place]
        track = builder.track(f"gpu/0/counters/{place}", role="counter", device=0)
        values = np.repeat([warm if one else cold for one in hot], 10)
        builder.add_counter(track, name, unit, np.array(times), values)
    builder.set_span(0, max(world.now, *world.free.values()))
    builder.finish()


def _ranks_in_turn(path: Path, is_sick: bool) -> None:
    _ranks(path, is_sick, lambda rank, step: rank == step % 3, 3)


def _ranks(
    path: Path,
    is_sick: bool,
    is_late: Callable[[int, int], bool] = lambda rank, _step: rank == 1,
    count: int = 2,
) -> None:
    """Ranks that meet in a collective at the end of each step; those that are late compute longer."""
    builder = CaptureBuilder(path)
    worlds = [World(builder, rank) for rank in range(count)]
    for number in range(STEPS):
        for rank, world in enumerate(worlds):
            with world.inside("phase", f"ProfilerStep#{number}"):
                for _ in range(16 if is_sick and is_late(rank, number) else 10):
                    world.launch("gemm", 500 * US)
        meet = max(world.free[7] for world in worlds) + 400 * US
        for world in worlds:
            world.launch(
                "ncclDevKernel_AllReduce_Sum_f32", meet - max(world.free[7], world.now + LAUNCH + LATENCY)
            )
            world.wait()
    builder.set_span(0, max(world.now for world in worlds))
    builder.finish()


def _world(name: str, group: str, make: Callable[[Path, bool], None], *ids: str, place: str = "") -> Pair:
    return Pair(name, group, ids, bool(place), make=make, place=place)


WORLD_PAIRS = (
    _world("gpu_loader_in_main", "input", _steps(_load_in_main), "gpu_data_loading", place="dataset.py:41"),
    _world("gpu_slow_workers", "input", _steps(_slow_workers), "gpu_data_loading", place="train.py:17"),
    _world("gpu_pageable_copies", "input", _steps(_pageable), "gpu_copies_pageable"),
    _world("gpu_exposed_copies", "input", _steps(_exposed_copy), "gpu_copies"),
    _world("gpu_tiny_kernels", "host", _steps(_tiny_kernels), "gpu_launch_bound", place="optimizer.py:12"),
    _world("gpu_item", "host", _steps(_item), "gpu_synchronization", place="model.py:23"),
    _world("gpu_allocating", "host", _steps(_allocating), "gpu_allocation", place="model.py:51"),
    _world("gpu_python_alone", "host", _steps(_python_alone), "gpu_host", place="metrics.py:66"),
    _world("gpu_compiling", "host", _steps(_compiling), "gpu_compilation", place="model.py:9"),
    _world("gpu_exposed_communication", "ranks", _steps(_exposed_communication), "gpu_communication"),
    _world("gpu_garbage", "host", _steps(_garbage), "garbage", place="train.py:20"),
    _world("gpu_lowered_clock", "gpu", _clock, "gpu_clock"),
    _world("gpu_serial_streams", "gpu", _steps(_serial_streams), "gpu_serial_streams", place="model.py:43"),
    _world("gpu_first_steps", "steps", _steps(_first_steps), "first_steps", place="dataset.py:12"),
    _world("gpu_late_ranks", "ranks", _ranks_in_turn, "late_ranks"),
    _world("gpu_late_rank", "ranks", _ranks, "late_rank"),
)
