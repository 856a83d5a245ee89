"""Files of other profilers that are not Chrome JSON: bytes as events, by the importer of the format."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.fuzz.campaign import mutate_pb
from tests.fuzz.guided.target import Target, memory_builder, memory_file, settle

from warpline.interchange.framework.importer import Importer, ImportOptions
from warpline.interchange.xplane.xplane_importer import importer as xplane

Fields = tuple[int, int | bytes]


def message(*fields: Fields) -> bytes:
    """A protocol buffer of numbers and bytes."""
    wired: list[tuple[int, int, int | bytes]] = [
        (number, 0 if isinstance(value, int) else 2, value) for number, value in fields
    ]
    return mutate_pb.pack(wired, random.Random(0), 0)


def run_importer(importer: Importer, name: str, data: bytes) -> None:
    """The file as events of a capture."""
    file = memory_file(data, name)
    importer.recognise(data[:65536], file)
    with memory_builder() as builder:
        importer.convert(file, builder, ImportOptions(), lambda _fraction, _text: None, lambda: False)
        settle(builder)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """A damaged protocol buffer."""
    return mutate_pb.mutate(data, rng)[0] if data else b"\x0a\x00"


def _xplane_seeds(_data: Path | None) -> list[bytes]:
    """A kernel of a stream with its call on the host, an allocation, a step, flows and the start of the profile."""

    def named(field: int, names: Iterator[tuple[int, bytes]]) -> list[Fields]:
        return [(field, message((1, number), (2, message((1, number), (2, name))))) for number, name in names]

    def event(name: int, *stats: bytes, duration: int = 5000) -> Fields:
        return 4, message((1, name), (2, 1000), (3, duration), *((4, stat) for stat in stats))

    keys = named(5, enumerate((b"?", b"correlation_id", b"kernel_details", b"regs:8 grid:4,1,1 block:32,1,1",
                               b"hlo_module", b"step_num", b"_p", b"_c", b"addr", b"profile_start_time")))  # fmt: skip
    correlation = message((1, 1), (3, 7))
    stream = message(
        (1, 3), (2, b"Stream #3(Kernel)"), (3, 100),
        event(1, correlation, message((1, 2), (7, 3)), message((1, 4), (5, b"jit_f"))),
        event(2, correlation, message((1, 4), (5, b"jit_f"))),
    )  # fmt: skip
    device = message(
        (1, 1), (2, b"/device:GPU:0"), (3, stream), *named(4, iter(((1, b"gemm"), (2, b"MemcpyH2D")))), *keys
    )
    thread = message(
        (1, 9), (2, b"python"), (3, 50), event(1, correlation), event(2, message((1, 8), (4, 4096))),
        event(3, message((1, 5), (4, 2))), event(4, message((1, 6), (3, 77))), event(5, message((1, 7), (3, 77))),
    )  # fmt: skip
    names = enumerate((b"cuLaunchKernel", b"MemoryAllocation", b"train", b"$a.py:1 f", b"a/MatMul:MatMul"), 1)
    host = message((2, b"/host:CPU"), (3, thread), *named(4, iter(names)), *keys)
    start = message((2, b"Task Environment"), *keys, (6, message((1, 9), (3, 1_757_516_928_109_201_518))))
    return [message((1, device), (1, host), (1, start), (2, b"an error"), (4, b"a host"))]


def _target(name: str, importer: Importer, file: str, seeds: Callable[[Path | None], list[bytes]]) -> Target:
    return Target(name, partial(run_importer, importer, file), seeds, mutate, preload=partial(_preload, name))


def _preload(name: str) -> None:
    for seed in next(target for target in TARGETS if target.name == name).seeds(None):
        next(target for target in TARGETS if target.name == name).run(seed)


TARGETS = (_target("xplane", xplane, "x.xplane.pb", _xplane_seeds),)
