"""Files of other profilers that are not Chrome JSON: bytes as events, by the importer of the format."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.fuzz.campaign import mutate_json, mutate_pb
from tests.fuzz.guided.target import Target, memory_builder, memory_file, scratch, settle
from tests.unit.interchange.ncu.ncu_tables import NCU_LONG, NCU_RAW
from tests.unit.interchange.rocm.rocm_files import (
    rocpd_file,
    rocprof_csv_files,
    rocprof_v1_file,
    rocprofv3_document,
    rpd_file,
)

from warpline.interchange.ascend.database_importer import importer as ascend_db
from warpline.interchange.framework.importer import Importer, ImportOptions
from warpline.interchange.ncu.csv_importer import importer as ncu_csv
from warpline.interchange.otlp.otlp_importer import importer as otlp
from warpline.interchange.perfetto.perfetto_importer import importer as perfetto
from warpline.interchange.pprof.pprof_importer import importer as pprof
from warpline.interchange.rocm.rocm_csv_importer import importer as rocprof_csv
from warpline.interchange.rocm.rocpd_importer import importer as rocpd
from warpline.interchange.rocm.rocprof_v1_importer import importer as rocprof_v1
from warpline.interchange.rocm.rocprofv3_json_importer import importer as rocprofv3
from warpline.interchange.rocm.rpd_importer import importer as rpd
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


def _perfetto_seeds(_data: Path | None) -> list[bytes]:
    """Slices with names and arguments, counters, flows, older events; the scheduler and prints; samples; the GPU."""
    names = message((1, 1), (2, b"cat")), message((1, 2), (2, b"work")), message((1, 3), (2, b"arg"))
    interned = message((1, names[0]), (2, names[1]), (3, names[2]), (5, message((1, 5), (2, b"main"))),
                       (6, message((1, 6), (2, 5))), (7, message((1, 7), (2, 6))))  # fmt: skip
    clocks = message(
        (1, message((1, 6), (2, 1000))), (1, message((1, 1), (2, 1_700_000_000_000_000_000))),
        (1, message((1, 65), (2, 1), (3, 1), (4, 1000))),
    )  # fmt: skip
    defaults = message((58, 65), (11, message((11, 10), (31, 13))))
    arguments = message((1, 3), (4, 5)), message((10, b"d"), (11, message((10, b"k"), (6, b"v"))))

    def event(*fields: Fields, time: int = 5) -> bytes:
        return message((8, time), (10, 3), (13, 2), (11, message(*fields)))

    first = [
        message((10, 3), (13, 1), (6, clocks), (59, defaults), (12, interned)),
        message((10, 3), (60, message((1, 10), (4, message((1, 7), (2, 8), (5, b"thread")))))),
        message((10, 3), (60, message((1, 11), (5, 10), (2, b"value"), (8, message((3, 3)))))),
        message((10, 3), (60, message((1, 13), (5, 10), (8, message((1, 1), (5, 1)))))),
        event((9, 1), (3, 1), (10, 2), (4, arguments[0]), (4, arguments[1]), (12, 9), (36, 77)),
        event((9, 1), (22, b"a"), (22, b"b"), (23, b"inner"), (12, 9)),
        event((9, 2), (12, 9)),
        event((9, 2), (48, 77)),
        event((9, 4), (11, 11), (30, 42)),
        event((9, 3), (23, b"instant"), (6, message((8, 5), (13, 2)))),
        *(event((11, 0), (10, 2), (6, message((2, ord(phase)), (10, 3)))) for phase in "bneSTFXRM"),
    ]
    switch = message((1, b"a"), (2, 8), (4, 1), (5, b"b"), (6, 9))
    lists = (1, b"\x01\x02"), (2, b"\x00\x01"), (3, b"\x08\x00"), (5, b"c"), (6, b"\x00\x00")
    ftrace = message(
        (1, 0),
        (2, message((1, 2000), (2, 8), (4, switch))),
        (2, message((1, 2500), (2, 9), (17, message((1, b"a"), (2, 8))))),
        (2, message((1, 2600), (2, 9), (3, message((2, b"B|7|mark"))))),
        (2, message((1, 2700), (2, 9), (3, message((2, b"E|7"))))),
        (2, message((1, 2710), (2, 9), (3, message((2, b"C|7|count|3"))))),
        (2, message((1, 2800), (2, 9), (11, message((1, 1000), (2, 0))))),
        (4, message(*lists)),
    )
    stage = message((8, 3000), (10, 4), (53, message((2, 500), (11, 0), (13, 1), (17, b"draw"))))
    counters = message((1, message((1, message((1, 1), (2, b"clock"))))), (2, message((1, 1), (2, 5))))
    packed = zlib.compress(message((1, event((9, 3), (23, b"packed"), time=1))))
    second = [
        message((10, 4), (1, ftrace)),
        message((2, message((1, message((1, 7), (3, b"/bin/a"))), (2, message((1, 8), (3, 7)))))),
        message((8, 2900), (10, 4), (9, message((1, message((1, 7), (3, 100)))))),
        message((8, 2950), (10, 3), (58, 6), (66, message((1, 0), (2, 7), (3, 8), (4, 7)))),
        stage,
        message((8, 3100), (10, 4), (52, counters)),
        message((10, 4), (50, packed)),
    ]
    return [message(*((1, packet) for packet in packets)) for packets in (first, [first[0], *second], second)]


def run_database(importer: Importer, data: bytes) -> None:
    """A database as events of a capture."""
    path = scratch() / "x.db"
    path.write_bytes(data)
    importer.recognise(data[:65536], path)
    with memory_builder() as builder:
        importer.convert(path, builder, ImportOptions(), lambda _fraction, _text: None, lambda: False)
        settle(builder)


def _database_seeds(make: Callable[[Path], Path], _data: Path | None) -> list[bytes]:
    return [make(scratch() / "seed.db").read_bytes()]


def mutate_database(data: bytes, rng: random.Random) -> bytes:
    """Other bytes behind the first page."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(min(512, len(out) - 1), len(out))
        out[at] = rng.choice((0, 1, 2, 4, 8, 9, 127, 128, 255, rng.randrange(256)))
    return bytes(out)


def _database(name: str, importer: Importer, make: Callable[[Path], Path]) -> Target:
    seeds = partial(_database_seeds, make)
    run = partial(run_database, importer)
    return Target(name, run, seeds, mutate_database, most_bytes=65536, preload=partial(_preload, name))


def _ascend_file(path: Path) -> Path:
    """A call, its task, a collective with a part, an operator with a stack, a step, a frequency."""
    names = (
        "AI_CORE",
        "gemm",
        "launch",
        "hcom_allReduce_",
        "group",
        "Notify_Wait",
        "aten::mm",
        "ProfilerStep#3",
        "a.py(1): f",
    )
    return rocpd_file(path, {
        "STRING_IDS": ("id value", list(enumerate(names))),
        "NPU_INFO": ("id name", [(0, "Ascend910B")]),
        "CANN_API": ("startNs endNs type globalTid connectionId name", [(10, 20, 20000, 7 << 32 | 8, 0, 2)]),
        "PYTORCH_API": (
            "startNs endNs globalTid connectionId name sequenceNumber callchainId type",
            [("5", "40", 7 << 32 | 8, 1, 6, 1, 4, 50001), ("0", "90", 7 << 32 | 8, 0, 7, None, None, 50001)],
        ),
        "PYTORCH_CALLCHAINS": ("id stack stackDepth", [(4, 8, 0), (4, 2, 1)]),
        "CONNECTION_IDS": ("id connectionId", [(1, 0)]),
        "TASK": ("startNs endNs deviceId connectionId globalTaskId globalPid taskType streamId",
                 [(30, 50, 0, 0, 1, 7, 0, 2), (60, 70, 0, 0, 2, 7, 5, 3)]),
        "COMPUTE_TASK_INFO": ("name globalTaskId blockDim", [(1, 1, 16)]),
        "COMMUNICATION_TASK_INFO": ("name globalTaskId size planeId groupName", [(3, 2, 4, 0, 4)]),
        "COMMUNICATION_OP": ("opName startNs endNs connectionId groupName", [(3, 60, 80, 0, 4)]),
        "AICORE_FREQ": ("deviceId timestampNs freq", [(0, 10, 1800)]),
    })  # fmt: skip


def _otlp_seeds(_data: Path | None) -> list[bytes]:
    """Two spans of a program with attributes, an event and a link."""
    attribute = {"key": "a", "value": {"intValue": "1"}}
    spans: list[dict[str, Any]] = [
        {"traceId": "t", "spanId": str(number), "parentSpanId": "1", "name": "s", "startTimeUnixNano": "5",
         "endTimeUnixNano": "9", "attributes": [attribute], "links": [{"traceId": "t", "spanId": "0"}],
         "events": [{"timeUnixNano": "6", "name": "e"}]}
        for number in range(2)
    ]  # fmt: skip
    part = {"resource": {"attributes": [attribute]}, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}
    return [json.dumps({"resourceSpans": [part]}).encode()]


def pprof_profile() -> bytes:
    """A profile of CPU time: two stacks, one of them with an inlined function, and a thread's label."""
    names = (
        "",
        "samples",
        "count",
        "cpu",
        "nanoseconds",
        "main",
        "work",
        "inner",
        "a.go",
        "thread",
        "T1",
        "/bin/a",
    )
    return message(
        (1, message((1, 1), (2, 2))), (1, message((1, 3), (2, 4))),
        (2, message((1, b"\x02\x01"), (2, b"\x01\x64"), (3, message((1, 9), (2, 10))))),
        (2, message((1, 3), (1, 1), (2, 2), (2, 250))),
        (3, message((1, 1), (5, 11))),
        (4, message((1, 1), (4, message((1, 1), (2, 5))))),
        (4, message((1, 2), (4, message((1, 3), (2, 9))), (4, message((1, 2), (2, 7))))),
        (4, message((1, 3), (2, 1), (3, 0x1F0))),
        *((5, message((1, number), (2, number + 4), (4, 8))) for number in (1, 2, 3)),
        *((6, name.encode()) for name in names),
    )  # fmt: skip


def _pprof_seeds(_data: Path | None) -> list[bytes]:
    return [pprof_profile()]


def _csv_seeds(_data: Path | None) -> list[bytes]:
    """Kernels, calls and copies of rocprofv3."""
    rocprof_csv_files(scratch())
    return [path.read_bytes() for path in sorted(scratch().glob("71_*_trace.csv"))]


def _ncu_seeds(_data: Path | None) -> list[bytes]:
    """The table of a kernel in both forms."""
    return [table.encode() for table in (NCU_RAW, NCU_LONG)]


def _json_seeds(_data: Path | None) -> list[bytes]:
    return [json.dumps(rocprofv3_document()).encode()]


def mutate_document(data: bytes, rng: random.Random) -> bytes:
    """A damaged JSON document."""
    return mutate_json.mutate(data, rng)[0]


def _target(name: str, importer: Importer, file: str, seeds: Callable[[Path | None], list[bytes]]) -> Target:
    return Target(name, partial(run_importer, importer, file), seeds, mutate, preload=partial(_preload, name))


def _preload(name: str) -> None:
    for seed in next(target for target in TARGETS if target.name == name).seeds(None):
        next(target for target in TARGETS if target.name == name).run(seed)


TARGETS = (
    _target("xplane", xplane, "x.xplane.pb", _xplane_seeds),
    _target("perfetto", perfetto, "x.pftrace", _perfetto_seeds),
    _target("pprof", pprof, "x.pb", _pprof_seeds),
    Target(
        "rocprofv3",
        partial(run_importer, rocprofv3, "x.json"),
        _json_seeds,
        mutate_document,
        preload=partial(_preload, "rocprofv3"),
    ),
    Target(
        "otlp",
        partial(run_importer, otlp, "x.json"),
        _otlp_seeds,
        mutate_document,
        preload=partial(_preload, "otlp"),
    ),
    _database("ascend-db", ascend_db, _ascend_file),
    _database("rpd", rpd, rpd_file),
    _database("rocpd", rocpd, rocpd_file),
    _database("rocprof-v1", rocprof_v1, rocprof_v1_file),
    Target("rocprof-csv", partial(run_importer, rocprof_csv, "results.csv"), _csv_seeds),
    Target("ncu-csv", partial(run_importer, ncu_csv, "metrics.csv"), _ncu_seeds),
)
