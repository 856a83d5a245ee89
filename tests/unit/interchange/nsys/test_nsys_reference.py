"""Exports of Nsight Systems, held to what plain SQL says about the same files."""

from __future__ import annotations

import json
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.interchange import detect, import_files
from warpline.interchange.nsys.counters import split_unit
from warpline.interchange.nsys.sched import slices_of
from warpline.interchange.nsys.stacks import build_stacks
from warpline.interchange.nsys.tables import sqlite_tables
from warpline.interchange.nsys.tables.access import NULL, groups
from warpline.interchange.nsys.tables.sqlite_tables import SqliteTables
from warpline.model import Flag, ImportFormatError, WarplineError
from warpline.storage import Capture, CaptureBuilder, open_capture

FILES = (
    "D-W-Chiang+JACC.jl/4e6_async_1_trace.sqlite",
    "GindaChen+nsys-ai/tests/fixtures/h100_2gpu_1s.sqlite",
    "GindaChen+nsys-ai/tests/fixtures/healthy_judged_1pct.sqlite",
    "NVIDIA+Fuser/fuser_da819b5f_report1.sqlite",
    "NVIDIA+Fuser/fuser_dff2c951_report3.sqlite",
    "hpcgroup+pipit/pipit/tests/data/saxpy-mpi-cuda_nsys_perlmutter0.sqlite",
)
H100, FUSER, PIPIT, JACC = FILES[1], FILES[3], FILES[5], FILES[0]


@pytest.fixture(scope="module")
def captures(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Capture]]:
    folder = tmp_path_factory.mktemp("nsys")
    opened = {}
    for number, file in enumerate(FILES):
        out = import_files([data_dir / "nsys" / file], folder / f"{number}.h5")
        opened[file] = open_capture(out)
    yield opened
    for capture in opened.values():
        capture.close()


def sql_of(data_dir: Path, file: str) -> dict[str, Any]:
    owner, _, rest = file.partition("/")
    found: dict[str, Any] = json.loads(
        (data_dir / "expected_sql" / f"{owner}__{Path(rest).name}.json").read_text()
    )
    return found


def query(data_dir: Path, file: str, sql: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(f"file:{data_dir / 'nsys' / file}?mode=ro&immutable=1", uri=True) as connection:
        return connection.execute(sql).fetchall()


def rows_of(capture: Capture, kind: str) -> np.ndarray:
    return capture.kinds[kind].rows if kind in capture.kinds else np.empty(0, np.int64)


def spelled(capture: Capture, attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes with their text instead of string ids."""
    texts = {"domain", "category", "payload", "library"}
    return {
        key: capture.strings[value] if key in texts and value is not None else value
        for key, value in attributes.items()
    }


def totals(capture: Capture, rows: np.ndarray, names: list[str]) -> dict[str, dict[str, Any]]:
    durations = np.asarray(capture.events.duration[rows])
    found: dict[str, dict[str, Any]] = {}
    by_name: dict[str, list[int]] = {}
    for name, duration in zip(names, durations.tolist(), strict=True):
        by_name.setdefault(name, []).append(duration)
    for name, values in by_name.items():
        found[name] = {
            "count": len(values),
            "total": sum(values),
            "min": min(values),
            "max": max(values),
            "avg": pytest.approx(float(np.mean(values))),
            "med": float(np.median(values)),
        }
    return found


@pytest.mark.parametrize("file", FILES)
def test_counts_are_those_of_an_independent_reader(
    data_dir: Path, captures: dict[str, Capture], file: str
) -> None:
    expected = json.loads((data_dir / "expected_info.json").read_text())
    expected = expected.get("files", expected)[f"nsys/{file}"]
    capture = captures[file]
    assert len(rows_of(capture, "kernel")) == expected["kernel"]
    assert len(rows_of(capture, "memcpy")) + len(rows_of(capture, "memset")) == expected["memcpy_memset"]
    assert len(rows_of(capture, "cuda_api")) == expected["cuda_api"]
    assert len(rows_of(capture, "sample")) == expected["samples"]


@pytest.mark.parametrize("file", [file for file in FILES if file != JACC])
def test_kernels_equal_plain_sql(data_dir: Path, captures: dict[str, Capture], file: str) -> None:
    expected, capture = sql_of(data_dir, file), captures[file]
    kernels = capture.kinds["kernel"]
    full = capture.strings.get(capture.events.name[kernels.rows])
    assert totals(capture, kernels.rows, full) == expected["kernels_by_demangledName"]
    short, valid = kernels.column("short_name")
    assert np.all(valid)
    assert totals(capture, kernels.rows, capture.strings.get(short)) == expected["kernels_by_shortName"]
    per_stream: dict[str, int] = {}
    for row in kernels.rows.tolist():
        track = capture.tracks[capture.track_of_row(row)]
        key = f"{track.device}/{track.stream}"
        per_stream[key] = per_stream.get(key, 0) + 1
    assert per_stream == expected["kernels_per_device_stream"]
    linked = capture.links.to_row[np.asarray(capture.links.from_row) >= 0]
    assert len(np.intersect1d(linked, kernels.rows)) == expected["kernels_with_runtime_match"]


@pytest.mark.parametrize("file", [file for file in FILES if file != JACC])
def test_copies_and_sets_equal_plain_sql(data_dir: Path, captures: dict[str, Capture], file: str) -> None:
    expected, capture = sql_of(data_dir, file), captures[file]
    if "memcpy" not in capture.kinds:
        assert expected["memcpy_by_copyKind"] == {}
        return
    copies = capture.kinds["memcpy"]
    kinds, _ = copies.column("copy_kind")
    size, _ = copies.column("bytes")
    assert (
        totals(capture, copies.rows, [str(kind) for kind in kinds.tolist()]) == expected["memcpy_by_copyKind"]
    )
    bytes_by_kind = {str(kind): int(size[kinds == kind].sum()) for kind in np.unique(kinds).tolist()}
    assert bytes_by_kind == expected["memcpy_bytes_by_copyKind"]
    sets = rows_of(capture, "memset")
    assert len(sets) == expected["memset"]["count"]
    assert int(capture.events.duration[sets].sum()) == (expected["memset"]["total"] or 0)


@pytest.mark.parametrize("file", [file for file in FILES if file != JACC])
def test_api_calls_equal_plain_sql_without_version_suffix(
    data_dir: Path, captures: dict[str, Capture], file: str
) -> None:
    expected, capture = sql_of(data_dir, file)["runtime_api"], captures[file]
    wanted: dict[str, list[int]] = {}
    for name, figures in expected.items():
        head, _, tail = name.rpartition("_v")
        known = wanted.setdefault(head if head and tail.isdigit() else name, [0, 0])
        known[0] += figures["count"]
        known[1] += figures["total"]
    rows = rows_of(capture, "cuda_api")
    found: dict[str, list[int]] = {}
    names = capture.strings.get(capture.events.name[rows])
    for name, duration in zip(names, capture.events.duration[rows].tolist(), strict=True):
        known = found.setdefault(name, [0, 0])
        known[0] += 1
        known[1] += duration
    assert found == wanted


@pytest.mark.parametrize("file", [H100, FUSER, PIPIT])
def test_nvtx_ranges_equal_plain_sql(data_dir: Path, captures: dict[str, Capture], file: str) -> None:
    expected, capture = sql_of(data_dir, file)["nvtx_ranges_by_text"], captures[file]
    rows = rows_of(capture, "range")
    found = totals(capture, rows, capture.strings.get(capture.events.name[rows]))
    for name, figures in expected.items():
        # The median of an even count is written as a whole number there and as its half here.
        assert {key: found[name][key] for key in ("count", "total", "min", "max")} == {
            key: figures[key] for key in ("count", "total", "min", "max")
        }
    assert sum(figures["count"] for figures in found.values()) == sum(
        figures["count"] for figures in expected.values()
    )


@pytest.mark.parametrize("file", [JACC, FUSER, PIPIT])
def test_running_time_per_thread_equals_plain_sql(
    data_dir: Path, captures: dict[str, Capture], file: str
) -> None:
    expected, capture = sql_of(data_dir, file), captures[file]
    rows = rows_of(capture, "thread_state")
    names = np.array(capture.strings.get(capture.events.name[rows]))
    uncut = (capture.events.flags[rows] & (Flag.CUT_START | Flag.CUT_END)) == 0
    running = rows[(names == "running") & uncut]
    by_tid: dict[str, int] = {}
    for row in running.tolist():
        thread = capture.tracks[capture.track_of_row(row)].thread
        assert thread is not None
        key = str(capture.threads[thread].tid)
        by_tid[key] = by_tid.get(key, 0) + int(capture.events.duration[row])
    assert by_tid == expected["sched_run_ns_by_tid"]
    assert len(running) == expected["sched_complete_slices"]
    # The same time once more, seen from the cores.
    slices = rows_of(capture, "cpu_slice")
    of_core = [row for row in slices.tolist() if capture.tracks[capture.track_of_row(row)].role == "core"]
    uncut_cores = [row for row in of_core if not capture.events.flags[row] & (Flag.CUT_START | Flag.CUT_END)]
    assert int(capture.events.duration[uncut_cores].sum()) == sum(by_tid.values())


def test_samples_carry_the_stacks_of_the_table(data_dir: Path, captures: dict[str, Capture]) -> None:
    capture = captures[JACC]
    expected = query(
        data_dir,
        JACC,
        "SELECT e.start, s.value FROM COMPOSITE_EVENTS e JOIN SAMPLING_CALLCHAINS c ON c.id = e.id "
        "LEFT JOIN StringIds s ON s.id = c.symbol WHERE e.id = 500 ORDER BY c.stackDepth",
    )
    samples = capture.kinds["sample"]
    (at,) = np.flatnonzero(np.asarray(capture.events.start[samples.rows]) == expected[0][0])
    stack = samples.at(int(samples.rows[at]))["stack"]
    assert capture.stack_frames(int(stack)) == [name for _, name in expected]
    assert all(capture.events.flags[samples.rows] & Flag.INSTANT)


def test_correlation_is_per_process(data_dir: Path, captures: dict[str, Capture]) -> None:
    capture = captures[H100]
    wrong = query(
        data_dir,
        H100,
        "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId) "
        "WHERE k.globalPid != (r.globalTid & ~0xFFFFFF)",
    )[0][0]
    for source, target in zip(capture.links.from_row, capture.links.to_row, strict=True):
        caller = capture.tracks[capture.track_of_row(int(source))]
        work = capture.tracks[capture.track_of_row(int(target))]
        assert caller.process == work.process
    assert wrong > 0, "the file no longer has the trap this test is about"


def test_synchronisations_stand_with_the_context_they_belong_to(captures: dict[str, Capture]) -> None:
    capture = captures[H100]
    devices = {track.process: track.device for track in capture.tracks if track.role == "stream"}
    assert devices
    for track in capture.tracks:
        if track.role == "sync":
            assert track.device == devices[track.process]


@pytest.mark.parametrize("file", FILES)
def test_what_is_not_recorded_says_so(captures: dict[str, Capture], file: str) -> None:
    capture = captures[file]
    sources = {source.name: source for source in capture.sources}
    metrics = sources["Nsight GPU metrics"]
    assert not metrics.enabled
    assert "GPU_METRICS" in metrics.reason
    assert "nsys profile" in metrics.remedy
    assert sources["Nsight kernels"].enabled == ("kernel" in capture.kinds)


def test_the_environment_stays_out(data_dir: Path, captures: dict[str, Capture]) -> None:
    (stored,) = query(
        data_dir,
        PIPIT,
        "SELECT CAST(value AS BLOB) FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'DeviceEnvironment'",
    )
    names = [entry.partition(b"=")[0] for entry in stored[0].split(b"\0") if b"=" in entry]
    content = Path(captures[PIPIT].path).read_bytes()
    assert len(names) > 20
    assert not [name for name in names if len(name) > 8 and name + b"=" in content]


def test_times_start_with_the_recording_or_with_the_piece_that_was_kept(captures: dict[str, Capture]) -> None:
    assert captures[FUSER].span == (0, 2_231_574_198)
    piece = captures[H100]
    assert piece.span == (155_357_525_002, 156_326_972_607)
    assert any("cut out" in text for text in piece.warnings)
    assert piece.meta["start_utc_ns"] == 1_779_630_014_975_716_426
    assert piece.meta["tool"] == "Nsight Systems 2026.2.1.210"
    assert captures[FUSER].meta["command_line"][0] == "./bin/test_matmul"


def as_hdf5(source: Path, target: Path) -> None:
    """The tables of a SQLite export as compound datasets, as the HDF5 export has them."""
    with (
        sqlite3.connect(f"file:{source}?mode=ro&immutable=1", uri=True) as connection,
        h5py.File(target, "w") as out,
    ):
        connection.text_factory = bytes
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall():
            name = table.decode()
            info = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
            rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
            if not rows:
                continue
            fields: list[tuple[str, Any]] = []
            for _, column, kind, *_ in info:
                title = column.decode()
                if kind == b"TEXT":
                    fields.append((title, h5py.string_dtype()))
                else:
                    fields.append((title, "<f8" if kind == b"REAL" else "<i8"))
            array = np.zeros(len(rows), np.dtype(fields))
            for index, (title, _) in enumerate(fields):
                missing: Any = (
                    b"" if info[index][2] == b"TEXT" else 0.0 if info[index][2] == b"REAL" else NULL
                )
                values = [missing if row[index] is None else row[index] for row in rows]
                # HDF5's text ends at its first NUL.
                array[title] = [v.partition(b"\0")[0] if isinstance(v, bytes) else v for v in values]
            out.create_dataset(name, data=array)


@pytest.mark.parametrize("file", [FUSER, PIPIT, H100])
def test_the_hdf5_export_gives_the_same_capture(
    data_dir: Path, captures: dict[str, Capture], tmp_path: Path, file: str
) -> None:
    source = tmp_path / "report.h5"
    as_hdf5(data_dir / "nsys" / file, source)
    assert detect(source).name == "nsys-hdf5"
    with open_capture(import_files([source], tmp_path / "out.h5")) as capture:
        expected = captures[file]
        assert {name: len(table.rows) for name, table in capture.kinds.items()} == {
            name: len(table.rows) for name, table in expected.kinds.items()
        }
        for column in ("start", "duration", "flags"):
            assert np.array_equal(getattr(capture.events, column), getattr(expected.events, column))
        assert capture.strings.get(capture.events.name) == expected.strings.get(expected.events.name)
        assert np.array_equal(capture.links.from_row, expected.links.from_row)
        assert np.array_equal(capture.links.to_row, expected.links.to_row)
        assert [track.uri for track in capture.tracks] == [track.uri for track in expected.tracks]


def test_a_report_ends_in_the_command_that_exports_it(data_dir: Path, tmp_path: Path) -> None:
    report = next((data_dir / "nsys_rep").rglob("*.nsys-rep"))
    with pytest.raises(ImportFormatError, match="nsys export --type sqlite"):
        import_files([report], tmp_path / "out.h5")
    renamed = tmp_path / "renamed.bin"
    renamed.write_bytes(report.read_bytes()[:4096])
    assert detect(renamed).name == "nsys-rep"
    old = tmp_path / "old.qdrep"
    old.write_bytes(b"\x01\x02\x03 anything")
    with pytest.raises(ImportFormatError, match="nsys export"):
        import_files([old], tmp_path / "out.h5")
    assert not (tmp_path / "out.h5").exists()


def make_export(path: Path, tables: dict[str, tuple[str, list[tuple[Any, ...]]]]) -> Path:
    with sqlite3.connect(path) as connection:
        strings = [(1, "outer"), (2, "inner"), (3, "cuBLAS_gemm"), (4, "read"), (5, "CPU waits")]
        for name, (columns, rows) in {"StringIds": ("id, value", strings), **tables}.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            marks = ",".join("?" * len(columns.split(",")))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    return path


TID = (1 << 24 | 1) + (7 << 24)  # process 8, thread 1
PID = TID & ~0xFFFFFF


def test_nvtx_domains_categories_colours_payloads_and_unfinished_ranges(tmp_path: Path) -> None:
    columns = (
        "start, end, eventType, category, color, text, globalTid, endGlobalTid, textId, domainId, uint64Value, "
        "doubleValue, jsonText"
    )
    other = TID + 1
    rows = [
        (10, 90, 59, 3, -16711936, None, TID, None, 1, 2, -1, None, None),
        (20, 30, 59, None, None, "own text", TID, None, 2, 2, None, 0.5, None),
        (15, 40, 60, None, None, "across", TID, other, None, 0, None, None, '{"a":1}'),
        (16, None, 60, None, None, "open", TID, None, None, 0, None, None, None),
        (50, None, 34, None, None, "mark", TID, None, None, 0, None, None, None),
        (0, None, 75, None, None, "Domain", TID, None, None, 2, None, None, None),
        (0, None, 33, 3, None, "Category", TID, None, None, 2, None, None, None),
        (0, None, 39, None, None, "Worker", TID, None, None, 0, None, None, None),
        (0, 5, 99, None, None, "strange", TID, None, None, 0, None, None, None),
    ]
    source = make_export(
        tmp_path / "nvtx.sqlite",
        {"NVTX_EVENTS": (columns, rows), "ANALYSIS_DETAILS": ("duration", [(100,)])},
    )
    with open_capture(import_files([source], tmp_path / "out.h5")) as capture:
        table = capture.kinds["range"]
        found = {}
        for row in table.rows.tolist():
            values = spelled(capture, table.at(row))
            found[capture.strings[int(capture.events.name[row])]] = (row, values)
        assert set(found) == {"outer", "own text", "across", "open", "mark"}
        row, outer = found["outer"]
        track = capture.tracks[capture.track_of_row(row)]
        assert "Domain" in track.title
        assert track.role == "ranges"
        assert (outer["domain"], outer["category"]) == ("Domain", "Category")
        assert outer["color_argb"] == 0xFF00FF00
        assert outer["payload"] == str(2**64 - 1)
        assert found["own text"][1]["payload"] == "0.5"
        assert capture.parent_of_row(found["own text"][0]) == row
        across = found["across"]
        assert across[1]["end_thread"] == 2
        assert across[1]["payload"] == '{"a":1}'
        assert capture.tracks[capture.track_of_row(across[0])].thread is None
        still_open = found["open"][0]
        assert capture.events.flags[still_open] & Flag.CUT_END
        assert int(capture.events.start[still_open] + capture.events.duration[still_open]) == 100
        assert capture.events.flags[found["mark"][0]] & Flag.INSTANT
        assert capture.threads[0].name == "Worker"
        assert any("99" in entry.reason and entry.count == 1 for entry in capture.skipped)


def test_devices_are_those_of_the_machine_not_the_ordinals_of_the_process(tmp_path: Path) -> None:
    second = PID + (1 << 24)
    kernel = "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName"
    rows = [(0, 10, 0, 1, 7, 5, PID, 1, 2), (5, 20, 0, 1, 7, 5, second, 1, 2)]
    api = [(-5, -1, 0, TID, 5, 1, 0), (-4, -2, 0, second + 1, 5, 1, 0)]
    source = make_export(
        tmp_path / "devices.sqlite",
        {
            "CUPTI_ACTIVITY_KIND_KERNEL": (kernel, rows),
            "CUPTI_ACTIVITY_KIND_RUNTIME": (
                "start, end, eventClass, globalTid, correlationId, nameId, returnValue",
                api,
            ),
            "TARGET_INFO_GPU": ("id, name, smCount", [(3, "GPU three", 132), (4, "GPU four", 132)]),
            "TARGET_INFO_CUDA_DEVICE": ("gpuId, cudaId, pid", [(3, 0, 8), (4, 0, 9)]),
        },
    )
    with open_capture(import_files([source], tmp_path / "out.h5")) as capture:
        streams = {track.device: track for track in capture.tracks if track.role == "stream"}
        assert set(streams) == {3, 4}
        assert {device.index: device.name for device in capture.devices} == {3: "GPU three", 4: "GPU four"}
        assert dict(capture.devices[0].properties)["sm_count"] == 132
        for source_row, target in zip(capture.links.from_row, capture.links.to_row, strict=True):
            caller, work = (capture.tracks[capture.track_of_row(int(row))] for row in (source_row, target))
            assert caller.process == work.process
        assert len(capture.links.to_row) == 2


def test_graphs_metrics_memory_and_calls(tmp_path: Path) -> None:
    call = "start, end, globalTid, nameId, returnValue, callchainId"
    source = make_export(
        tmp_path / "more.sqlite",
        {
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (
                "start, end, deviceId, contextId, streamId, correlationId, globalPid, graphId, graphExecId",
                [(0, 50, 0, 1, 7, 9, PID, 12, 13)],
            ),
            "CUPTI_ACTIVITY_KIND_RUNTIME": (
                "start, end, eventClass, globalTid, correlationId, nameId, returnValue, callchainId",
                [(-9, -1, 0, TID, 9, 2, 0, 4)],
            ),
            "CUDA_CALLCHAINS": ("id, symbol, module, stackDepth", [(4, 2, 1, 0), (4, 1, 1, 1)]),
            "TARGET_INFO_GPU_METRICS": (
                "typeId, metricId, typeName, metricName",
                [(256, 7, "GH100", "SM Active [Throughput %]")],
            ),
            "GPU_METRICS": ("timestamp, typeId, metricId, value", [(10, 256, 7, 40), (20, 256, 7, 60)]),
            "CUDA_GPU_MEMORY_USAGE_EVENTS": (
                "start, globalPid, deviceId, contextId, address, bytes, memKind, memoryOperationType, name",
                [(1, PID, 0, 1, 4096, 100, 2, 0, None), (9, PID, 0, 1, 8192, 50, 2, 0, "buffer"),
                 (30, PID, 0, 1, 4096, 100, 2, 1, None)],
            ),
            "OSRT_API": (call, [(2, 8, TID, 4, -1, 1)]),
            "OSRT_CALLCHAINS": ("id, symbol, module, stackDepth", [(1, 4, 1, 0)]),
            "CUBLAS_EVENTS": ("start, end, globalTid, nameId", [(3, 6, TID, 3)]),
            "PROFILER_OVERHEAD": ("start, end, globalTid, nameId", [(0, 2, TID, 5)]),
            "MPI_P2P_EVENTS": ("start, end, globalTid, textId, remoteRank, size", [(4, 5, TID, 1, 3, 64)]),
            "MPI_RANKS": ("globalTid, rank", [(TID, 2)]),
            "VULKAN_API": ("start", [(1,), (2,)]),
        },
    )  # fmt: skip
    with open_capture(import_files([source], tmp_path / "out.h5")) as capture:
        graph = capture.kinds["graph"]
        assert graph.at(int(graph.rows[0]))["graph_exec_id"] == 13
        assert any("--cuda-graph-trace=node" in text for text in capture.warnings)
        (link,) = capture.links.to_row.tolist()
        assert link == graph.rows[0]
        api = capture.kinds["cuda_api"].at(int(capture.kinds["cuda_api"].rows[0]))
        assert capture.stack_frames(int(api["stack"])) == ["inner", "outer"]
        counters = {counter.name: counter for counter in capture.counters}
        assert counters["SM Active"].unit == "%"
        assert counters["SM Active"].values.tolist() == [40.0, 60.0]
        (memory,) = (counter for counter in capture.counters if counter.unit == "bytes")
        assert memory.values.tolist() == [100.0, 150.0, 50.0]
        events = capture.kinds["memory"]
        names = capture.strings.get(capture.events.name[events.rows])
        assert names == ["Allocation", "buffer", "Release"]
        osrt = capture.kinds["osrt"].at(int(capture.kinds["osrt"].rows[0]))
        assert osrt["return_value"] == -1
        assert capture.stack_frames(int(osrt["stack"])) == ["read"]
        library = capture.kinds["library"]
        assert spelled(capture, library.at(int(library.rows[0])))["library"] == "cuBLAS"
        assert capture.kinds["mpi"].at(int(capture.kinds["mpi"].rows[0]))["remote_rank"] == 3
        assert capture.processes[0].rank == 2
        assert [(entry.what, entry.count) for entry in capture.skipped] == [("VULKAN_API", 2)]


def test_odd_rows_are_kept_or_counted(tmp_path: Path) -> None:
    columns = "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName"
    rows: list[tuple[Any, ...]] = [
        (0, 10, 0, 1, 7, 1, PID, 1, 2),
        (20, 15, 0, 1, 7, 2, PID, 1, 2),
        (None, 30, 0, 1, 7, 3, PID, 1, 2),
        ("text", 3, 0, 1, 7, 4, PID, 1, 2),
        (1 << 62, (1 << 62) + 1, 0, 1, 7, 5, PID, 1, 2),
        (40, None, None, None, None, None, None, None, None),
        (5.7, 9, 0, 1, 7, 6, PID, 99, 98),
    ]
    source = make_export(tmp_path / "odd.sqlite", {"CUPTI_ACTIVITY_KIND_KERNEL": (columns, rows)})
    with open_capture(import_files([source], tmp_path / "out.h5")) as capture:
        assert len(capture.kinds["kernel"].rows) == 4
        assert sum(entry.count for entry in capture.skipped) == 3
        assert any("1 ends before it starts" in text for text in capture.warnings)
        assert any("had no end" in text for text in capture.warnings)


def test_foreign_and_damaged_databases_end_in_one_line(data_dir: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE notes (text)")
    with pytest.raises(ImportFormatError):
        import_files([foreign], tmp_path / "out.h5")
    content = (data_dir / "nsys" / FUSER).read_bytes()
    for size in (100, 4096, 50_000, len(content) // 2):
        cut = tmp_path / "cut.sqlite"
        cut.write_bytes(content[:size])
        with pytest.raises(ImportFormatError) as caught:
            import_files([cut], tmp_path / "out.h5")
        assert "\n" not in str(caught.value)
        assert "cut.sqlite" in str(caught.value)
    assert not (tmp_path / "out.h5").exists()


def import_mutated(data_dir: Path, folder: Path, seed: int) -> None:
    """Change some bytes of a real file: it ends in a capture that can be opened, or in one line."""
    chance = random.Random(seed)
    content = bytearray((data_dir / "nsys" / chance.choice([FILES[2], FILES[4], FUSER])).read_bytes())
    for _ in range(chance.choice([1, 8, 64, 512])):
        at = chance.randrange(len(content))
        if chance.random() < 0.5:
            content[at] = chance.randrange(256)
        else:
            content[at : at + 8] = chance.randbytes(8)
    source = folder / "mutated.sqlite"
    source.write_bytes(content)
    try:
        out = import_files([source], folder / "out.h5", format="nsys")
    except WarplineError as error:
        assert "\n" not in str(error)  # noqa: PT017  # either outcome is right
    else:
        with open_capture(out) as capture:
            assert capture.duration_ns >= 0


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(12))
def test_mutated_files_end_in_a_capture_or_an_error(data_dir: Path, tmp_path: Path, seed: int) -> None:
    import_mutated(data_dir, tmp_path, seed)


def test_importing_can_be_cancelled(data_dir: Path, tmp_path: Path) -> None:
    asked = iter([False] * 3 + [True] * 100)
    with pytest.raises(WarplineError, match="cancel"):
        import_files([data_dir / "nsys" / H100], tmp_path / "out.h5", cancelled=lambda: next(asked))
    assert list(tmp_path.iterdir()) == []


def test_progress_reaches_the_end(data_dir: Path, tmp_path: Path) -> None:
    seen: list[float] = []
    import_files(
        [data_dir / "nsys" / FUSER], tmp_path / "out.h5", progress=lambda share, _: seen.append(share)
    )
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)
    assert len(seen) > 5


@settings(max_examples=rounds(50, 5_000))
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=60))
def test_groups_partition_the_rows(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    found = {key: index.tolist() for key, index in groups(first, second)}
    expected: dict[tuple[int, int], list[int]] = {}
    for row, pair in enumerate(pairs):
        expected.setdefault(pair, []).append(row)
    assert found == expected


@settings(max_examples=rounds(40, 5_000))
@given(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=6), min_size=1, max_size=20), st.randoms())
def test_stacks_are_the_chains(chains: list[list[int]], chance: random.Random) -> None:
    rows = [
        (number, depth, frame) for number, chain in enumerate(chains) for depth, frame in enumerate(chain)
    ]
    chance.shuffle(rows)
    made: dict[tuple[int, int], int] = {}

    class Builder:
        def stack(self, frame: int, parent: int = -1) -> int:
            return made.setdefault((frame, parent), len(made))

    ids, stacks, leaves = build_stacks(
        Builder(),  # type: ignore[arg-type]  # all it needs of a builder
        np.array([row[0] for row in rows]),
        np.array([row[2] for row in rows], np.uint32),
        np.array([row[1] for row in rows], np.int32),
    )
    back = {index: key for key, index in made.items()}
    for number, stack, leaf in zip(ids.tolist(), stacks.tolist(), leaves.tolist(), strict=True):
        frames = []
        while stack != -1:
            frame, stack = back[stack]
            frames.append(frame)
        assert frames == chains[number]
        assert leaf == chains[number][0]


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3), st.integers(0, 100), st.booleans(), st.sampled_from([NULL, 0, 2, 3, 5, 6])
        ),
        max_size=30,
        unique_by=lambda row: row[:2],
    )
)
def test_scheduler_rows_become_what_a_walk_along_each_thread_finds(
    rows: list[tuple[int, int, bool, int]],
) -> None:
    tid, start, is_in, state = (
        np.array([row[i] for row in rows], bool if i == 2 else np.int64) for i in range(4)
    )
    cpu = np.arange(len(rows), dtype=np.int64)
    slices = slices_of(tid, start, cpu, is_in, state, np.full(len(rows), NULL), (0, 200))
    expected = []
    for thread in {row[0] for row in rows}:
        own = sorted(row for row in rows if row[0] == thread)
        for number, (_, begin, entered, why) in enumerate(own):
            is_last = number == len(own) - 1
            end = 200 if is_last else own[number + 1][1]
            if number == 0 and not entered and begin > 0:
                expected.append((thread, 0, begin, True, int(Flag.CUT_START)))
            if entered:
                expected.append((thread, begin, end, True, int(Flag.CUT_END) if is_last else 0))
            elif why != 5 and not (is_last and why in (NULL, 0)):
                expected.append((thread, begin, end, False, int(Flag.CUT_END) if is_last else 0))
    found = zip(slices.tid, slices.start, slices.stop, slices.is_running, slices.flags, strict=True)
    assert [tuple(map(int, row)) for row in found] == [tuple(map(int, row)) for row in sorted(expected)]


def test_units_in_metric_names() -> None:
    assert split_unit("SM Active [Throughput %]") == ("SM Active", "%")
    assert split_unit("GPC Clock Frequency [MHz]") == ("GPC Clock Frequency", "MHz")
    assert split_unit("Plain name") == ("Plain name", "")


def test_columns_that_do_not_exist_are_missing(tmp_path: Path) -> None:
    source = make_export(tmp_path / "x.sqlite", {"T": ("a, b", [(1, None), (None, "2")])})
    tables = SqliteTables(source)
    (batch,) = tables.read("T", ints=("a", "nope"), reals=("gone",), texts=("b", "also"))
    assert batch["a"].tolist() == [1, NULL]
    assert batch["nope"].tolist() == [NULL, NULL]
    assert np.isnan(batch.reals["gone"]).all()
    assert list(batch.texts["b"]) == [None, b"2"]
    assert list(batch.texts["also"]) == [None, None]
    assert list(tables.read("missing", ints=("a",))) == []
    tables.close()


cells = st.one_of(
    st.none(), st.integers(-3, 3), st.floats(-2, 2), st.sampled_from(["", "1", "text"]), st.just(b"\xff")
)


@settings(max_examples=rounds(20))
@given(
    runs=st.lists(st.tuples(cells, cells, st.integers(1, 9)), max_size=12),
    chunk_rows=st.integers(1, 7),
    first_rows=st.integers(1, 7),
)
def test_reading_gives_every_cell_whatever_changes_where(
    runs: list[tuple[Any, Any, int]], chunk_rows: int, first_rows: int
) -> None:
    rows = [(first, second) for first, second, count in runs for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_tables, "_FIRST_ROWS", first_rows)
        tables = SqliteTables(make_export(Path(folder) / "x.sqlite", {"T": ("a, b", rows)}))
        found = list(tables.read("T", ints=("a",), reals=("a",), texts=("b",), chunk_rows=chunk_rows))
        tables.close()
    numbers = [cell for batch in found for cell in batch["a"].tolist()]
    reals = [cell for batch in found for cell in batch.reals["a"].tolist()]
    texts = [cell for batch in found for cell in batch.texts["b"]]
    assert numbers == [
        int(cell) if isinstance(cell, (int, float)) or cell == "1" else NULL for cell, _ in rows
    ]
    expected = [float(cell) if isinstance(cell, (int, float)) else None for cell, _ in rows]
    assert [None if np.isnan(cell) else cell for cell in reals] == expected
    assert texts == [
        cell if cell is None or isinstance(cell, bytes) else str(cell).encode() for _, cell in rows
    ]


def test_builder_is_left_without_a_file_when_conversion_fails(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError), CaptureBuilder(tmp_path / "out.h5"):
        SqliteTables(tmp_path / "missing.sqlite")
    assert list(tmp_path.iterdir()) == []
