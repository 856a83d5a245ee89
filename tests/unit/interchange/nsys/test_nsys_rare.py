"""Tables of Nsight Systems that no export at hand has rows of: small ones by the documented schema.

Every number is compared with plain SQL over the same rows, and the HDF5 form gives the same capture.
"""

from __future__ import annotations

import json
import random
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.interchange import import_files
from warpline.interchange.nsys.payloads import Payloads, _Entry, as_bytes
from warpline.model import Flag, ImportFormatError
from warpline.storage import Capture, open_capture, verify

TID = (1 << 24 | 1) + (7 << 24)  # process 8, thread 1
PID = TID & ~0xFFFFFF
COMMUNICATOR = 16_777_220

Tables = dict[str, tuple[str, list[tuple[Any, ...]]]]
TEXTS = {"name", "text", "unit", "displayName"}


def is_text(table: str, column: str) -> bool:
    return column in TEXTS or (table, column) == ("StringIds", "value")


def write_sqlite(path: Path, tables: Tables) -> Path:
    with sqlite3.connect(path) as connection:
        for name, (columns, rows) in tables.items():
            titles = [column.strip() for column in columns.split(",")]
            kinds = [
                "BLOB" if title == "binaryData" else "TEXT" if is_text(name, title) else "INTEGER"
                for title in titles
            ]
            connection.execute(
                f"CREATE TABLE {name} ({','.join(f'{t} {k}' for t, k in zip(titles, kinds, strict=True))})"
            )
            connection.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(titles))})", rows)
    return path


def write_hdf5(path: Path, tables: Tables) -> Path:
    with h5py.File(path, "w") as file:
        for name, (columns, rows) in tables.items():
            titles = [column.strip() for column in columns.split(",")]
            types: list[tuple[str, Any]] = [
                (title, h5py.vlen_dtype(np.uint8) if title == "binaryData"
                 else h5py.string_dtype() if is_text(name, title) else "<i8")
                for title in titles
            ]  # fmt: skip
            array = np.zeros(len(rows), np.dtype(types))
            for index, (title, _) in enumerate(types):
                for row, cells in enumerate(rows):
                    cell = cells[index]
                    if title == "binaryData":
                        array[title][row] = np.frombuffer(cell or b"", np.uint8)
                    else:
                        missing = b"" if is_text(name, title) else np.iinfo(np.int64).min
                        array[title][row] = missing if cell is None else cell
            file.create_dataset(name, data=array)
    return path


@pytest.fixture(params=[write_sqlite, write_hdf5], ids=["sqlite", "hdf5"])
def convert(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[Tables], Capture]]:
    """Imports tables from either form of export."""
    opened: list[Capture] = []

    def run(tables: Tables) -> Capture:
        strings = ("id, value", [(1, "memcpy@libc"), (2, "libc.so.6"), (3, "touch(float*)")])
        source = request.param(tmp_path / f"rare{len(opened)}.db", {"StringIds": strings, **tables})
        capture = open_capture(import_files([source], tmp_path / f"out{len(opened)}.h5"))
        opened.append(capture)
        return capture

    yield run
    for capture in opened:
        capture.close()


def sql(tables: Tables, question: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(":memory:") as connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            connection.executemany(
                f"INSERT INTO {name} VALUES ({','.join('?' * len(columns.split(',')))})", rows
            )
        return connection.execute(question).fetchall()


def attributes(capture: Capture, kind: str) -> list[dict[str, Any]]:
    table = capture.kinds[kind]
    return [table.at(int(row)) for row in table.rows]


def test_faults_of_unified_memory_equal_sql(convert: Callable[[Tables], Capture]) -> None:
    tables: Tables = {
        "CUDA_UM_GPU_PAGE_FAULT_EVENTS": (
            "start, end, globalPid, deviceId, address, numberOfPageFaults, faultAccessType",
            [(10, 30, PID, 0, 4096, 7, 1), (20, 25, PID, 0, 8192, 2, 2), (60, 90, PID, 1, 1 << 40, 31, 99)],
        ),
        "CUDA_UM_CPU_PAGE_FAULT_EVENTS": (
            "start, globalPid, address, originalFaultPc, CpuInstruction, module",
            [(12, PID, 4096, 1, 3, 2), (15, PID, 4100, 1, None, None)],
        ),
    }
    capture = convert(tables)
    ((count, total, faults),) = sql(
        tables,
        'SELECT count(*), sum("end" - start), sum(numberOfPageFaults) FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS',
    )
    found = attributes(capture, "page_fault")
    rows = capture.kinds["page_fault"].rows
    on_gpu = [index for index, values in enumerate(found) if values.get("faults") is not None]
    assert len(on_gpu) == count
    assert int(capture.events.duration[rows].sum()) == total
    assert sum(int(found[index]["faults"]) for index in on_gpu) == faults
    assert {capture.strings[int(found[index]["access"])] for index in on_gpu} == {"read", "write", "unknown"}
    names = capture.strings.get(capture.events.name[rows])
    assert sorted(names) == [
        "CPU page fault", "GPU page faults (read)", "GPU page faults (unknown)", "GPU page faults (write)",
        "touch(float*)",
    ]  # fmt: skip
    uris = [track.uri for track in capture.tracks]
    assert "gpu/1/process/8.1/page-faults" in uris
    assert "process/8.1/page-faults" in uris
    assert not capture.skipped


def test_migrations_are_copies_with_their_cause(convert: Callable[[Tables], Capture]) -> None:
    columns = (
        "start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, migrationCause"
    )
    capture = convert(
        {
            "CUPTI_ACTIVITY_KIND_MEMCPY": (
                f"{columns}, virtualAddress",
                [(0, 5, 0, 1, 7, 0, PID, 65536, 11, 2, 4096), (6, 9, 0, 1, 7, 3, PID, 128, 1, None, None)],
            )
        }
    )
    table = capture.kinds["memcpy"]
    migrated, plain = attributes(capture, "memcpy")
    causes = next(spec for spec in table.spec.attributes if spec.name == "migration_cause").enum
    assert causes[int(migrated["migration_cause"])] == "coherence"
    assert migrated["virtual_address"] == 4096
    assert plain["migration_cause"] is None


def test_slices_of_a_gpu_equal_sql(convert: Callable[[Tables], Capture]) -> None:
    rows = [
        (7, 0, 1, 5, 40, PID, 0),  # ends a slice from before the recording
        (8, 0, 2, 5, 100, PID, 0), (7, 0, 3, 5, 180, PID, 0),
        (8, 0, 4, 6, 190, None, 0), (7, 0, 5, 6, 230, None, 0),
        (8, 0, 6, 5, 240, PID, 0),  # never ended
    ]  # fmt: skip
    tables: Tables = {
        "GPU_CONTEXT_SWITCH_EVENTS": ("tag, vmId, seqNo, contextId, timestamp, globalPid, gpuId", rows),
        "ANALYSIS_DETAILS": ("globalVid, duration, startTime, stopTime", [(0, 300, 0, 300)]),
        "PROCESSES": ("globalPid, pid, name", [(PID, 8, "train")]),
    }
    capture = convert(tables)
    # The distance of each begin to the next row of its context, as SQL finds it.
    expected = sql(
        tables,
        """SELECT timestamp, next - timestamp FROM (SELECT tag, timestamp,
           lead(timestamp) OVER (PARTITION BY contextId ORDER BY timestamp, seqNo) AS next
           FROM GPU_CONTEXT_SWITCH_EVENTS) WHERE tag = 8 AND next IS NOT NULL ORDER BY timestamp""",
    )
    table = capture.kinds["gpu_slice"]
    found = {
        int(capture.events.start[row]): (int(capture.events.duration[row]), int(capture.events.flags[row]))
        for row in table.rows
    }
    assert [(start, found[start][0]) for start, _ in expected] == expected
    assert found[0] == (40, int(Flag.CUT_START))
    assert found[240] == (60, int(Flag.CUT_END))
    assert len(found) == 4
    names = set(capture.strings.get(capture.events.name[table.rows]))
    assert names == {"train [8]", "context 6"}
    assert capture.track("gpu/0/slices").title == "Time slices of contexts"


@pytest.mark.parametrize(("first_call", "span"), [(1, (0, 10_000)), (90_000, (6_000, 7_100))])
def test_idle_time_before_the_first_call_is_part_of_the_capture(
    convert: Callable[[Tables], Capture], first_call: int, span: tuple[int, int]
) -> None:
    calls = [(6_000, 6_100, TID, first_call, 1, 0), (7_000, 7_100, TID, first_call + 1, 1, 0)]
    columns = "start, end, globalTid, correlationId, nameId, returnValue"
    named: Tables = {"ANALYSIS_DETAILS": ("duration", [(10_000,)]), "StringIds": ("id, value", [])}
    capture = convert({**named, "CUPTI_ACTIVITY_KIND_RUNTIME": (columns, calls)})
    assert capture.span == span
    assert any("an excerpt" in text for text in capture.warnings) == (first_call > 1)


def test_metrics_of_network_and_cpu_are_counters(convert: Callable[[Tables], Capture]) -> None:
    tables: Tables = {
        "NET_NIC_METRIC": (
            "start, end, globalId, portId, metricsListId, metricsIdx, value",
            [
                (0, 10, 900, 1, 1, 0, 5),
                (10, 20, 900, 1, 1, 0, 8),
                (0, 10, 900, 1, 1, 1, 3),
                (0, 10, 901, 0, 1, 0, 2),
            ],
        ),
        "TARGET_INFO_NETWORK_METRICS": (
            "metricsListId, metricsIdx, name, unit",
            [(1, 0, "Bytes sent", "B"), (1, 1, "Packets/sent", "")],
        ),
        "TARGET_INFO_NIC_INFO": ("nicId, name", [(4, "mlx5_0"), (5, "mlx5_1")]),
        "NIC_ID_MAP": ("nicId, globalId", [(4, 900), (5, 901)]),
        "PERF_EVENT_SOC_OR_CPU_METRIC_EVENT": (
            "start, end, vmId, componentId, metricId, value",
            [(0, 10, 0, 2, 31, 4), (10, 20, 0, 2, 31, 6)],
        ),
        "TARGET_INFO_PERF_METRIC": (
            "id, name, displayName, unit",
            [(31, "ipc", "Instructions per cycle", "ratio")],
        ),
        "TARGET_INFO_COMPONENT": ("componentId, name, instance", [(2, "Core", 3)]),
    }
    capture = convert(tables)
    counters = {
        (capture.tracks[capture.tracks[c.track].parent].title, c.name, c.unit): c for c in capture.counters
    }
    ((total,),) = sql(tables, "SELECT sum(value) FROM NET_NIC_METRIC WHERE globalId = 900 AND metricsIdx = 0")
    sent = counters["mlx5_0, port 1", "Bytes sent", "B"]
    assert sent.values.sum() == total
    assert sent.times.tolist() == [0, 10]
    assert counters["mlx5_0, port 1", "Packets/sent", ""].values.tolist() == [3.0]
    assert counters["mlx5_1", "Bytes sent", "B"].values.tolist() == [2.0]
    assert counters["Core 3", "Instructions per cycle", "ratio"].values.tolist() == [4.0, 6.0]
    assert capture.span == (0, 20)


def payload(schema: int, data: bytes, domain: int = 1) -> bytes:
    return struct.pack("<QQQQ", domain, schema, len(data), 32 + len(data)) + data


def test_binary_payloads_are_decoded_by_their_schema(convert: Callable[[Tables], Capture]) -> None:
    sizes = [4096, 1 << 33]
    events: list[tuple[Any, ...]] = [
        (start, start + 5, 59, TID, f"ncclAllReduce {start}", 1,
         payload(COMMUNICATOR, struct.pack("<QQ", 0xFEED, size)))
        for start, size in zip((0, 10), sizes, strict=True)
    ]  # fmt: skip
    events += [
        (20, 25, 59, TID, "no schema", 1, payload(77, b"abc")),
        (30, 35, 59, TID, "cut", 1, payload(COMMUNICATOR, struct.pack("<QQ", 1, 2))[:-3]),
        (40, 45, 59, TID, "none", 1, None),
    ]
    tables: Tables = {
        "NVTX_EVENTS": ("start, end, eventType, globalTid, text, domainId, binaryData", events),
        "NVTX_PAYLOAD_SCHEMAS": ("domainId, schemaId, payloadSize", [(1, COMMUNICATOR, 16)] * 2),
        "NVTX_PAYLOAD_SCHEMA_ENTRIES": (
            "domainId, schemaId, idx, flags, type, name, arrayOrUnionDetail, offset",
            [(1, COMMUNICATOR, 0, None, 18, "NCCL communicator ID", None, None),
             (1, COMMUNICATOR, 1, None, 22, "Message size [bytes]", None, 8)] * 2,
        ),
    }  # fmt: skip
    capture = convert(tables)
    table = capture.kinds["range"]
    found = [
        None if values["payload"] is None else json.loads(capture.strings[int(values["payload"])])
        for values in attributes(capture, "range")
    ]
    assert found == [
        *({"NCCL communicator ID": 0xFEED, "Message size [bytes]": size} for size in sizes), None, None, None,
    ]  # fmt: skip
    assert len(table.rows) == 5
    assert [(entry.what, entry.count) for entry in capture.skipped] == [("NVTX_EVENTS", 2)]


def test_kinds_of_entries() -> None:
    schemas = {
        (1, 9): (
            _Entry("rank", 5, 0, 0, 0),
            _Entry("ratio", 20, 0, 0, None),
            _Entry("name", 76, 0, 6, None),
            _Entry("shape", 15, 1 << 4, 3, 24),
            _Entry("operation", 500, 0, 0, 36),
            _Entry("inner", 700, 0, 0, 40),
            _Entry("pointer", 23, 1 << 1, 0, 0),
        ),
        (1, 700): (_Entry("address", 23, 0, 0, None),),
    }
    decoder = Payloads(schemas, {(1, 500): {2: "max"}}, {(1, 9): 48, (1, 700): 8, (1, 500): 4})
    data = struct.pack("<i4xd6s2x3iiQ", -1, 0.5, b"ring\0x", 2, 3, 4, 2, 0xABC)
    assert json.loads(decoder.text(payload(9, data)) or "") == {
        "rank": -1, "ratio": 0.5, "name": "ring", "shape": [2, 3, 4], "operation": "max",
        "inner": {"address": "0xabc"},
    }  # fmt: skip
    both = payload(700, data[-8:]) + payload(700, bytes(8))
    assert json.loads(decoder.text(both) or "") == [{"address": "0xabc"}, {"address": "0x0"}]
    assert as_bytes(both.hex().encode()) == both


@given(st.binary(max_size=200), st.lists(st.integers(0, 90), max_size=4), st.integers(0, 64))
def test_any_bytes_are_a_payload_or_none(data: bytes, types: list[int], detail: int) -> None:
    entries = tuple(_Entry(f"e{n}", kind, detail, detail, None) for n, kind in enumerate(types))
    decoder = Payloads({(1, 9): entries, (1, 3): entries}, {}, {(1, 9): 8})
    for whole in (data, payload(9, data), payload(3, data) + data):
        text = decoder.text(as_bytes(whole))
        assert text is None or json.loads(text) is not None


def test_ranks_of_a_job_from_two_exports(tmp_path: Path) -> None:
    def export(rank: int, utc: int, start: int) -> Path:
        return write_sqlite(
            tmp_path / f"report_rank{rank}.sqlite",
            {
                "StringIds": ("id, value", [(1, f"kernel {rank}"), (2, "cudaLaunchKernel_v7000")]),
                "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs", [(utc,)]),
                "CUPTI_ACTIVITY_KIND_KERNEL": (
                    "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName",
                    [(start, start + 50, 0, 1, 7, 1, PID, 1, 1)],
                ),
                "CUPTI_ACTIVITY_KIND_RUNTIME": (
                    "start, end, eventClass, globalTid, correlationId, nameId, returnValue",
                    [(start - 20, start - 10, 0, TID, 1, 2, 0)],
                ),
            },
        )

    files = [export(0, 10**18, 1000), export(1, 10**18 + 400, 1000)]
    with open_capture(import_files(files, tmp_path / "job.h5")) as capture:
        assert [track.uri for track in capture.tracks if track.role == "rank"] == ["rank/0", "rank/1"]
        assert {clock.method for clock in capture.clocks[1:]} == {"utc"}
        rows = capture.kinds["kernel"].rows
        starts = dict(
            zip(
                capture.strings.get(capture.events.name[rows]),
                capture.event_times(rows)[0].tolist(),
                strict=True,
            )
        )
        assert starts["kernel 1"] - starts["kernel 0"] == 400
        assert capture.span == (0, 470)
        # Both ranks use the same process and correlation ids; each launch leads to the kernel of its own rank.
        links = capture.links
        ranks = [
            [capture.tracks[capture.track_of_row(row)].rank for row in ends.tolist()]
            for ends in (links.from_row, links.to_row)
        ]
        assert set(ranks[0]) == {0, 1}
        assert ranks[0] == ranks[1]
        assert [process.rank for process in capture.processes] == [0, 1]
    with open_capture(import_files(files, tmp_path / "start.h5", align="start")) as capture:
        rows = capture.kinds["kernel"].rows
        assert len(set(capture.event_times(rows)[0].tolist())) == 1


HOSTILE: dict[str, str] = {
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": "start, end, globalPid, deviceId, address, numberOfPageFaults, faultAccessType",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start, globalPid, address, CpuInstruction, module",
    "GPU_CONTEXT_SWITCH_EVENTS": "tag, vmId, seqNo, contextId, timestamp, globalPid, gpuId",
    "NET_NIC_METRIC": "start, end, globalId, portId, metricsListId, metricsIdx, value",
    "PERF_EVENT_SOC_OR_CPU_METRIC_EVENT": "start, end, componentId, metricId, value",
    "CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS": "start, end, deviceId, contextId, streamId, correlationId, globalPid",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "start, globalPid, deviceId, contextId, address, bytes, memKind",
    "GPU_METRICS": "timestamp, typeId, metricId, value",
    "NVTX_EVENTS": "start, end, eventType, globalTid, text, domainId, binaryData",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "domainId, schemaId, idx, flags, type, name, arrayOrUnionDetail, offset",
    "NVTX_PAYLOAD_SCHEMAS": "domainId, schemaId, payloadSize",
}
CELLS = (0, 1, 7, 8, 59, -1, None, 1 << 31, 1 << 40, 1 << 62, -(1 << 62), (1 << 63) - 1, -(1 << 63), PID, TID,
         "text", b"\xff\0", 1.5, float("inf"), payload(1, bytes(8)))  # fmt: skip


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(rounds(8)))
def test_cells_of_any_kind_end_in_a_sound_capture_or_one_line(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    tables: Tables = {"StringIds": ("id, value", [(1, "a")])}
    for name, columns in HOSTILE.items():
        if chance.random() < 0.7:
            width = len(columns.split(","))
            rows = [tuple(chance.choice(CELLS) for _ in range(width)) for _ in range(chance.randrange(1, 12))]
            tables[name] = (columns, rows)
    source = write_sqlite(tmp_path / "hostile.sqlite", tables)
    try:
        written = import_files([source], tmp_path / "out.h5")
    except ImportFormatError:
        return
    with open_capture(written) as capture:
        assert list(verify(capture)) == []
