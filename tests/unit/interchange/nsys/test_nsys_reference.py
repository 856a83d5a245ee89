"""Imported Nsight exports equal plain SQL on the same files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.unit.interchange.nsys.nsys_tools import FILES, FUSER, H100, JACC, PIPIT

from warpline.interchange import detect, import_files
from warpline.interchange.nsys.tables.access import NULL
from warpline.model import Flag
from warpline.storage import Capture, open_capture


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


def repetitions(path: Path) -> int:
    """Rows that repeat a call for its stack (event class 67)."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as export:
        if not export.execute(
            "SELECT 1 FROM pragma_table_info('CUPTI_ACTIVITY_KIND_RUNTIME') WHERE name = 'eventClass'"
        ).fetchone():
            return 0
        ((count,),) = export.execute(
            "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME again WHERE eventClass = 67 AND EXISTS (SELECT 1 FROM "
            "CUPTI_ACTIVITY_KIND_RUNTIME call WHERE call.eventClass != 67 AND call.globalTid = again.globalTid "
            "AND call.correlationId = again.correlationId)"
        )
    return int(count)


@pytest.mark.parametrize("file", FILES)
def test_counts_are_those_of_an_independent_reader(
    data_dir: Path, captures: dict[str, Capture], file: str
) -> None:
    expected = json.loads((data_dir / "expected_info.json").read_text())
    expected = expected.get("files", expected)[f"nsys/{file}"]
    capture = captures[file]
    assert len(rows_of(capture, "kernel")) == expected["kernel"]
    assert len(rows_of(capture, "memcpy")) + len(rows_of(capture, "memset")) == expected["memcpy_memset"]
    assert len(rows_of(capture, "cuda_api")) == expected["cuda_api"] - repetitions(data_dir / "nsys" / file)
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
    # A call that is there with the version of its function and without was recorded once more for its stack.
    versioned = {name.rpartition("_v")[0]: name for name in expected if name.rpartition("_v")[2].isdigit()}
    wanted = {
        versioned.get(name, name).rpartition("_v")[0] or name: [figures["count"], figures["total"]]
        for name, figures in expected.items()
        if name not in versioned
    }
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
    table = capture.kinds["range"]
    rows = rows_of(capture, "range")
    texts = capture.strings.get(capture.events.name[rows])
    if "external_id" in table.attributes:
        # PyTorch's text is the operator's name and the number of the call, kept beside it.
        values, valid = table.column("external_id")
        calls = np.where(valid, values, -1)[table.indices_of(rows)].tolist()
        texts = [
            text if call < 0 else f"{text}, op_id = {call}" for text, call in zip(texts, calls, strict=True)
        ]
    found = totals(capture, rows, texts)
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


def test_synchronisations_go_to_their_context(captures: dict[str, Capture]) -> None:
    capture = captures[H100]
    devices = {track.process: track.device for track in capture.tracks if track.role == "stream"}
    assert devices
    for track in capture.tracks:
        if track.role == "sync":
            assert track.device == devices[track.process]


@pytest.mark.parametrize("file", FILES)
def test_missing_tables_are_reported_as_not_recorded(captures: dict[str, Capture], file: str) -> None:
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


def test_the_span_is_the_recording_or_the_excerpt(captures: dict[str, Capture]) -> None:
    assert captures[FUSER].span == (0, 2_231_574_198)
    piece = captures[H100]
    assert piece.span == (155_357_525_002, 156_326_972_607)
    assert any("an excerpt" in text for text in piece.warnings)
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
