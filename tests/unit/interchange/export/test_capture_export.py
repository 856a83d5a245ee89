"""Parts of captures handed out: nothing added, nothing lost but what lies outside."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpline.cli import main
from warpline.interchange import import_files
from warpline.interchange.export.chrome_json.text import microseconds
from warpline.interchange.export.exporter import Exporter, ExportOptions
from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.preview import estimate
from warpline.interchange.export.registry import exporter_for, exporters
from warpline.interchange.export.selection import ExportSelection, count_events
from warpline.model import Cancelled, ExportError, Flag, Packing, UsageError
from warpline.model.track_patterns import match_tracks
from warpline.storage import NO_ROW, Capture, CaptureBuilder, open_capture

TORCH = (
    "torch/facebookresearch+HolisticTraceAnalysis/tests/data/nccl_parser_config/nccl_data.json.gz",
    "torch/AMD-AGI+TraceLens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "torch/AMD-AGI+TraceLens/tests/traces/mi210/gpu_only_trace/gpu_only_trace.json.gz",
)
NSYS = (
    "nsys/GindaChen+nsys-ai/tests/fixtures/h100_2gpu_1s.sqlite",
    "nsys/hpcgroup+pipit/pipit/tests/data/saxpy-mpi-cuda_nsys_perlmutter0.sqlite",
)
GENERIC = (
    "chrome_generic/catapult-project+catapult/tracing/test_data/thread_time_visualisation.json.gz",
    "chrome_generic/catapult-project+catapult/tracing/test_data/nestable_async.json",
)


SVG = 'xmlns="http://www.w3.org/2000/svg"'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    """A capture with everything a capture can have: clocks, re-used ids, overlap, stacks, loose links, gaps."""
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


@pytest.fixture(scope="module")
def imported(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Capture]]:
    folder = tmp_path_factory.mktemp("imported")
    captures = {}
    for number, file in enumerate((*TORCH, *NSYS, *GENERIC)):
        captures[file] = open_capture(import_files([data_dir / file], folder / f"{number}.h5"))
    yield captures
    for capture in captures.values():
        capture.close()


def events_of(capture: Capture, kinds: set[str] | None = None) -> Counter[tuple[Any, ...]]:
    """Every event as (kind, name, start, duration)."""
    rows = np.arange(len(capture.events))
    starts, _ = capture.event_times(rows)
    names = capture.strings.get(capture.events.name.tolist())
    kind = [capture.kind_of_code[code] for code in capture.events.kind.tolist()]
    rows_of = zip(kind, names, starts.tolist(), capture.events.duration.tolist(), strict=True)
    return Counter(event for event in rows_of if kinds is None or event[0] in kinds)


def links_of(capture: Capture, *, loose: bool = True) -> Counter[tuple[Any, ...]]:
    """Every link as its kind and both events."""
    rows = np.arange(len(capture.events))
    starts, _ = capture.event_times(rows)
    names = capture.strings.get(capture.events.name.tolist())

    def end(row: int) -> tuple[Any, ...]:
        return ("outside",) if row == NO_ROW else (names[row], int(starts[row]))

    found = Counter(
        (capture.links.kind_name(kind), end(source), end(target))
        for source, target, kind in zip(
            capture.links.from_row.tolist(),
            capture.links.to_row.tolist(),
            capture.links.kind.tolist(),
            strict=True,
        )
    )
    return found if loose else Counter({key: n for key, n in found.items() if ("outside",) not in key})


def attributes_of(capture: Capture, kind: str) -> Counter[tuple[Any, ...]]:
    """Events of a kind with their attributes, texts and stacks spelt out."""
    table = capture.kinds[kind]
    texts = {spec.name for spec in table.spec.attributes if spec.dtype == "string"}
    found: Counter[tuple[Any, ...]] = Counter()
    for row in table.rows.tolist():
        values: list[Any] = []
        for name, value in sorted(table.at(row).items()):
            if value is not None and name in texts:
                value = capture.strings[value]
            elif value is not None and name == "stack":
                value = tuple(capture.stack_frames(value))
            if value is not None:
                values.append((name, value))
        found[int(capture.events.start[row]), *values] += 1
    return found


def rows_of(capture: Capture, kind: str) -> Counter[tuple[Any, ...]]:
    """The roles of the tracks on which events of a kind lie, their threads, and how often each flag occurs there."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in capture.kinds[kind].rows.tolist():
        track = capture.tracks[capture.track_of_row(row)]
        tid = None if track.thread is None else capture.threads[track.thread].tid
        found[track.role, track.title if track.thread is None else tid, int(capture.events.flags[row])] += 1
    return found


def samples_of(capture: Capture) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for counter in capture.counters:
        known = np.isfinite(counter.values)
        pairs = zip(counter.times[known].tolist(), counter.values[known].tolist(), strict=True)
        found.setdefault(counter.name, []).extend(pairs)
    return {name: sorted(pairs) for name, pairs in found.items()}


def written(capture: Capture, out: Path, *selection: Any, **options: Any) -> Path:
    return export_capture(capture, out, ExportSelection(*selection), ExportOptions(**options))


# captures


@pytest.mark.parametrize("compress", [False, True])
def test_a_whole_capture_comes_back_whole(made: Capture, tmp_path: Path, compress: bool) -> None:
    with open_capture(written(made, tmp_path / "out.h5", compress=compress)) as copy:
        assert copy.is_mapped != compress
        assert events_of(copy) == events_of(made)
        assert links_of(copy) == links_of(made)
        for kind in made.kinds:
            assert attributes_of(copy, kind) == attributes_of(made, kind)
        for name in ("span", "sources", "skipped", "warnings", "processes", "threads", "devices", "clocks"):
            assert getattr(copy, name) == getattr(made, name)
        assert [vars(track) for track in copy.tracks] == [vars(track) for track in made.tracks]
        assert np.array_equal(copy.pauses, made.pauses)
        assert np.array_equal(copy.events.flags, made.events.flags)
        assert copy.meta["command_line"] == made.meta["command_line"]
        assert np.array_equal(copy.counters[0].values, made.counters[0].values, equal_nan=True)
        assert copy.counters[0].unit == "%"
        assert copy.strings.id("never used") is None


@pytest.mark.parametrize("file", [*TORCH[:2], *NSYS])
def test_recorded_captures_come_back_whole(imported: dict[str, Capture], tmp_path: Path, file: str) -> None:
    capture = imported[file]
    with open_capture(written(capture, tmp_path / "out.h5", compress=True)) as copy:
        assert events_of(copy) == events_of(capture)
        assert links_of(copy) == links_of(capture)
        assert samples_of(copy) == samples_of(capture)
        assert {name: len(table) for name, table in copy.kinds.items()} == {
            name: len(table) for name, table in capture.kinds.items()
        }
        assert np.array_equal(copy.lanes.count, capture.lanes.count)
        for kind in set(capture.kinds) & {"kernel", "sample", "operator", "memcpy", "thread_state"}:
            assert attributes_of(copy, kind) == attributes_of(capture, kind)


@settings(max_examples=40)
@given(bounds=st.tuples(st.integers(-50, 1300), st.integers(0, 700)))
def test_a_range_holds_what_overlaps_it(
    made: Capture, tmp_path_factory: pytest.TempPathFactory, bounds: tuple[int, int]
) -> None:
    start, stop = bounds[0], bounds[0] + bounds[1]
    out = tmp_path_factory.mktemp("range") / "out.h5"
    rows = np.arange(len(made.events))
    starts, stops = made.event_times(rows)
    inside = (starts < stop) & ((stops > start) | (starts >= start))
    with open_capture(written(made, out, start, stop)) as part:
        assert part.span == (start, stop)
        names = np.array(made.strings.get(made.events.name.tolist()))
        expected: Counter[tuple[Any, ...]] = Counter(
            (
                names[row],
                int(starts[row]),
                int(stops[row]),
                bool(starts[row] < start),
                bool(stops[row] > stop),
            )
            for row in rows[inside].tolist()
        )
        part_rows = np.arange(len(part.events))
        part_starts, part_stops = part.event_times(part_rows)
        flags = part.events.flags.tolist()
        found = Counter(
            (
                part.strings[int(part.events.name[row])],
                int(part_starts[row]),
                int(part_stops[row]),
                bool(flags[row] & Flag.CUT_START),
                bool(flags[row] & Flag.CUT_END),
            )
            for row in part_rows.tolist()
        )
        assert found == expected
        kept = set(rows[inside].tolist())
        pairs = zip(made.links.from_row.tolist(), made.links.to_row.tolist(), strict=True)
        wanted = Counter((source in kept, target in kept) for source, target in pairs)
        wanted.pop((False, False), None)
        ends = zip(part.links.from_row.tolist(), part.links.to_row.tolist(), strict=True)
        assert Counter((source != NO_ROW, target != NO_ROW) for source, target in ends) == wanted
        assert all(start <= begin < end <= stop for begin, end in part.pauses.tolist())
    assert count_events(made, ExportSelection(start, stop)) == int(inside.sum())


def test_counters_of_a_range_start_with_the_value_that_holds(made: Capture, tmp_path: Path) -> None:
    with open_capture(written(made, tmp_path / "out.h5", 120, 260)) as part:
        assert part.counters[0].times.tolist() == [100, 150, 200, 250]


def test_selected_tracks_bring_those_above_them_and_nothing_else(made: Capture, tmp_path: Path) -> None:
    tracks = match_tracks(made.tracks, ["gpu/*"])
    with open_capture(written(made, tmp_path / "out.h5", None, None, tracks)) as part:
        assert {track.uri for track in part.tracks} == {"gpu/0", "gpu/0/process/71.1/context/1/stream/7"}
        assert set(part.kinds) == {"kernel"}
        assert Counter(part.links.from_row.tolist()) == {NO_ROW: 11}
        assert part.strings.id("launch") is None
    with pytest.raises(UsageError, match="nothing/"):
        match_tracks(made.tracks, ["gpu/*", "nothing/*"])


# Chrome JSON


@pytest.mark.parametrize("file", [*TORCH, *GENERIC])
def test_chrome_json_gives_the_same_capture_again(
    imported: dict[str, Capture], tmp_path: Path, file: str
) -> None:
    capture = imported[file]
    out = written(capture, tmp_path / "out.json.gz")
    with open_capture(import_files([out], tmp_path / "again.h5")) as again:
        assert events_of(again) == events_of(capture)
        assert links_of(again) == links_of(capture, loose=False)
        assert samples_of(again) == samples_of(capture)
        assert len(again.devices) == len(capture.devices)
        names = {thread.name for thread in again.threads}
        assert {thread.name for thread in capture.threads if thread.name} <= names


@pytest.mark.parametrize("file", NSYS)
def test_chrome_json_of_an_nsight_capture_keeps_events_names_and_links(
    imported: dict[str, Capture], tmp_path: Path, file: str
) -> None:
    capture = imported[file]
    out = written(capture, tmp_path / "out.json")
    with open_capture(import_files([out], tmp_path / "again.h5")) as again:
        scheduling = {"thread_state", "cpu_slice"} & set(capture.kinds)
        shared = {
            "kernel",
            "memcpy",
            "memset",
            "sync",
            "cuda_api",
            "range",
            "sample",
            "overhead",
            *scheduling,
        }
        kept = events_of(capture, shared)
        assert kept <= events_of(again)
        # Other kinds have no category of their own there and come back as ranges.
        rest = Counter(event[1:] for event in (events_of(capture) - kept).elements())
        assert Counter(event[1:] for event in (events_of(again) - kept).elements()) == rest
        assert links_of(again) == links_of(capture)
        for kind in scheduling:
            assert attributes_of(again, kind) == attributes_of(capture, kind)
            assert rows_of(again, kind) == rows_of(capture, kind)
        if "sample" in capture.kinds:
            stacks = Counter(
                dict(key[1:]).get("stack") for key in attributes_of(capture, "sample").elements()
            )
            assert (
                Counter(dict(key[1:]).get("stack") for key in attributes_of(again, "sample").elements())
                == stacks
            )


def test_chrome_json_is_what_the_format_says(made: Capture, tmp_path: Path) -> None:
    document = json.loads(written(made, tmp_path / "out.json").read_bytes())
    events = document["traceEvents"]
    phases = Counter(event["ph"] for event in events)
    assert phases["X"] == 10 + 10 + 2 + 2
    assert (phases["b"], phases["e"], phases["i"], phases["P"]) == (3, 3, 1, 3)
    assert (phases["s"], phases["f"]) == (10, 10)
    assert phases["C"] == 19, "the gap is no value"
    kernel = next(event for event in events if event.get("cat") == "kernel")
    assert kernel["name"] == "kernel<int, 3>"
    assert (kernel["pid"], kernel["tid"], kernel["ts"], kernel["dur"]) == (0, 7, 0.05, 0.13)
    assert kernel["args"]["grid"] == [4, 2, 1]
    assert kernel["args"]["shared memory"] == 24
    assert kernel["args"]["est. achieved occupancy %"] == 50
    assert (kernel["args"]["device"], kernel["args"]["context"], kernel["args"]["stream"]) == (0, 1, 7)
    assert any(event["name"] == 'range "quoted"\n100 %' for event in events)
    frames = document["stackFrames"]
    sample = next(event for event in events if event["ph"] == "P")
    assert frames[frames[str(sample["sf"])]["parent"]]["name"] == "outer"
    processes = {e["args"]["name"]: e["pid"] for e in events if e["name"] == "process_name"}
    assert processes["python"] == 71
    assert processes["python again"] != 71, "two processes with one number stay two"
    # Correlation ids of two processes may be equal and must not be mistaken for each other.
    by_process: dict[int, set[int]] = {}
    for event in events:
        if event.get("cat") == "cuda_runtime":
            by_process.setdefault(event["pid"], set()).add(event["args"]["correlation"])
    first, second = by_process.values()
    assert not first & second
    # The other rank's clock is ahead by 1 us.
    assert {e["ts"] for e in events if e["pid"] == processes["python again"] and e["ph"] == "X"} == {0.1, 0.7}


def test_chrome_json_of_a_range_has_no_arrow_into_nothing(made: Capture, tmp_path: Path) -> None:
    document = json.loads(written(made, tmp_path / "out.json", 140, 460).read_bytes())
    events = document["traceEvents"]
    places = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}
    points = [e for e in events if e["ph"] in "sf"]
    assert points
    assert all((e["pid"], e["tid"]) in places for e in points)
    assert Counter(e["id"] for e in points).most_common()[-1][1] == 2


@given(st.lists(st.integers(-(2**61), 2**61), max_size=20))
def test_microseconds_lose_no_nanosecond(times: list[int]) -> None:
    for time, text in zip(times, microseconds(np.array(times, np.int64)).tolist(), strict=True):
        whole, _, fraction = text.lstrip("-").partition(".")
        assert (-1 if text.startswith("-") else 1) * (int(whole) * 1000 + int(fraction)) == time
        assert len(fraction) == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_holistic_trace_analysis_sees_the_same_kernels(
    data_dir: Path, imported: dict[str, Capture], tmp_path: Path
) -> None:
    analysis = pytest.importorskip("hta.trace_analysis", reason="the extra hta is not installed")
    ours = written(imported[TORCH[0]], tmp_path / "ours.json.gz")
    tables = []
    for file in (data_dir / TORCH[0], ours):
        trace = analysis.TraceAnalysis(trace_files={0: str(file)}, trace_dir=str(tmp_path))
        kinds, kernels = trace.get_gpu_kernel_breakdown(visualize=False, num_kernels=10_000)
        times = trace.get_temporal_breakdown(visualize=False)
        kernels = kernels.sort_values(["kernel_type", "name"]).reset_index(drop=True)
        tables.append((kinds.to_dict(), kernels.to_dict(), times.to_dict()))
    assert tables[0] == tables[1]
    assert len(tables[0][1]["name"]) > 20


# tables


def test_csv_has_every_event_with_its_attributes(made: Capture, tmp_path: Path) -> None:
    out = written(made, tmp_path / "out.csv.gz")
    with gzip.open(out, "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    starts, stops = made.event_times(np.arange(len(made.events)))
    assert [int(row["row"]) for row in rows] == sorted(
        range(len(made.events)), key=lambda r: int(rows[r]["row"])
    )
    by_row = {int(row["row"]): row for row in rows}
    assert len(by_row) == len(made.events)
    for number in range(len(made.events)):
        row = by_row[number]
        assert (int(row["start_ns"]), int(row["duration_ns"])) == (
            int(starts[number]) - made.span[0],
            int(stops[number] - starts[number]),
        )
        assert row["name"] == made.strings[int(made.events.name[number])]
        assert row["kind"] == made.kind_of_code[int(made.events.kind[number])]
    sample = next(row for row in rows if row["kind"] == "sample")
    assert sample["stack"] == "outer;inner"
    calls = [row for row in rows if row["kind"] == "cuda_api" and row["process_id"] == "71"]
    assert [row["return_value"] for row in calls if row["thread_id"] == "71"][:3] == ["", "1", "2"]


def test_a_folder_gets_one_table_per_kind(made: Capture, tmp_path: Path) -> None:
    written(made, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{kind}.csv" for kind in made.kinds} | {"links.csv", "counters.csv"}
    with (tmp_path / "links.csv").open(newline="") as file:
        links = list(csv.DictReader(file))
    assert Counter(row["from_row"] == "" for row in links) == {False: 10, True: 1}
    with (tmp_path / "counters.csv").open(newline="") as file:
        values = [row["value"] for row in csv.DictReader(file)]
    assert values[1] == str(50 / 7)
    assert values[10] == ""


def test_parquet_has_the_same_table(made: Capture, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    table = parquet.read_table(written(made, tmp_path / "out.parquet"))
    with written(made, tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert table.column_names == list(rows[0])
    for ours, theirs in zip(table.to_pylist(), rows, strict=True):
        for name, text in theirs.items():
            value = ours[name]
            assert text == ("" if value is None else str(value)), name
    assert json.loads(table.schema.metadata[b"warpline"])["range_ns"] == [0, 1200]


def test_every_format_says_its_range_from_the_start_of_the_capture(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    with CaptureBuilder(tmp_path / "late.h5") as builder:
        # A clock that counts from somewhere else, as in an imported trace.
        track = builder.track("cpu/0", title="Core 0", role="core")
        builder.add_events(track, "cpu_slice", 10**15 + np.arange(0, 1000, 100), 50, builder.string("python"))
        path = builder.finish()
    with open_capture(path) as capture:
        start = capture.span[0]
        assert start == 10**15
        part = ExportSelection(start + 200, start + 500)
        table = parquet.read_table(export_capture(capture, tmp_path / "part.parquet", part))
        assert json.loads(table.schema.metadata[b"warpline"])["range_ns"] == [200, 500]
        assert table["start_ns"].to_pylist() == [200, 300, 400]
        document = json.loads(export_capture(capture, tmp_path / "part.json", part).read_bytes())
        assert document["warpline"]["range_ns"] == [200, 500]
        export_capture(capture, tmp_path / "part.h5", part)
    with open_capture(tmp_path / "part.h5") as capture:
        assert capture.meta["exported_from"]["range_ns"] == [200, 500]


def test_without_pyarrow_the_message_says_what_to_install(
    made: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ExportError, match=r"warpline\[parquet\]"):
        written(made, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_page_stands_on_its_own(made: Capture, tmp_path: Path) -> None:
    page = written(
        made, tmp_path / "out.html", 100, 900, match_tracks(made.tracks, ["gpu/*", "process/*"])
    ).read_text()
    assert page.startswith("<!doctype html>")
    assert "kernel&lt;int, 3&gt;" in page, "names are text, never markup"
    assert not [
        mark for mark in ("<script", "<link", "src=", "@import", "http:") if mark in page.replace(SVG, "")
    ]
    assert "<svg" in page
    assert "<td>kernel&lt;int, 3&gt;</td><td>9</td><td>1.170 µs</td>" in page
    assert "not asked for" in page, "what was not recorded is said"


# around it


def test_the_preview_counts_exactly_and_guesses_the_size(
    imported: dict[str, Capture], tmp_path: Path
) -> None:
    capture = imported[NSYS[0]]
    third = capture.duration_ns // 3
    selection = ExportSelection(capture.span[0] + third, capture.span[0] + 2 * third)
    for suffix in (".h5", ".json", ".csv", ".json.gz"):
        out = tmp_path / f"out{suffix}"
        expected = estimate(capture, selection, exporter_for(out), is_packed=suffix.endswith("gz"))
        written(capture, out, selection.start_ns, selection.stop_ns)
        assert 0.3 < expected.size_bytes / out.stat().st_size < 3
    with open_capture(tmp_path / "out.h5") as part:
        assert len(part.events) == expected.events


@pytest.mark.parametrize("suffix", [".h5", ".json", ".csv", ".parquet"])
def test_cancelling_leaves_what_was_there(made: Capture, tmp_path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / f"out{suffix}"
    out.write_text("before")
    with pytest.raises(Cancelled):
        export_capture(made, out, cancelled=lambda: True)
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


def test_impossible_requests_end_in_one_clear_line(made: Capture, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.json"):
        export_capture(made, tmp_path / "out.docx")
    with pytest.raises(UsageError, match="itself"):
        export_capture(made, made.path)
    with pytest.raises(ExportError, match="does not exist"):
        export_capture(made, tmp_path / "no" / "out.json")


def test_every_exporter_keeps_the_contract() -> None:
    found = exporters()
    assert {one.name for one in found} >= {"capture", "chrome", "csv", "parquet", "html"}
    for one in found:
        assert isinstance(one, Exporter)
        assert one.title
        assert all(suffix.startswith(".") for suffix in one.suffixes)
    assert exporter_for(Path("x.JSON.GZ")).name == "chrome"


def test_the_command_exports_a_range(
    made: Capture, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.h5"
    status = main(
        ["export", str(made.path), str(out), "--range", "100ns:300ns", "--track", "gpu/*", "--compress"]
    )
    assert status == 0
    printed = capsys.readouterr()
    assert "3 events" in printed.out
    assert printed.err == ""
    with open_capture(out) as part:
        assert part.span == (100, 300)
        assert not part.is_mapped
    assert main(["export", str(made.path), str(tmp_path / "x.json"), "--compress"]) == 2
    assert main(["export", str(made.path), str(tmp_path / "x.json"), "--range", "5s:6s"]) == 2
    assert main(["export", str(made.path), str(tmp_path / "x.unknown")]) == 2
    assert main(["export", str(tmp_path / "missing.h5"), str(tmp_path / "x.json")]) == 1
    assert all(line.startswith("warpline: error:") for line in capsys.readouterr().err.splitlines())


def test_one_event_is_an_event(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with CaptureBuilder(tmp_path / "run.h5") as builder:
        builder.add_events(builder.track("cpu/0"), "cpu_slice", [0, 100], 50, builder.string("python"))
        path = builder.finish()
    for part, said in (("0ns:60ns", "1 event"), ("0ns:200ns", "2 events")):
        assert main(["export", str(path), str(tmp_path / "out.csv"), "--range", part]) == 0
        assert capsys.readouterr().out == f"{tmp_path / 'out.csv'}: {said}\n"


def test_a_format_whose_packages_are_missing_says_what_to_install(
    made: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Point:
        name, value = "png", "somewhere:png"

        def load(self) -> object:
            raise ModuleNotFoundError("No module named 'PySide6'", name="PySide6")

    monkeypatch.setattr("warpline.interchange.export.registry.metadata.entry_points", lambda **_: [Point()])
    exporters.cache_clear()
    try:
        with pytest.raises(ExportError, match=r"PySide6.*warpline\[gui\]"):
            export_capture(made, tmp_path / "out.png")
    finally:
        exporters.cache_clear()
