"""Twice as much costs at most two and a half times as much (``tests/benchmarks/bench_doubling.py`` measures all)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.doubling import python_steps, run, write_trace
from tests.doubling_costs import Cost, costs

from warpline.analysis.findings.host_segments import host_segments
from warpline.analysis.findings.rule import builtin_rules
from warpline.analysis.findings.thread_time import Threads
from warpline.analysis.framework.fitting import shorten_apart
from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import Table
from warpline.analysis.framework.selection import View
from warpline.analysis.ranges.nested_ranges import DEEPEST_STACK, stack_of
from warpline.i18n.width import fits, text_width
from warpline.interchange.export import parquet_exporter
from warpline.interchange.export.selection import ExportSelection, chunks, lane_slices
from warpline.model import KindSpec
from warpline.storage import CaptureBuilder, open_capture
from warpline.storage.write.behind import WriteBehind

BAR = 2.5


def assert_linear(call: Callable[[int], Callable[[], object]], size: int) -> None:
    """Differences leave out what each call takes, whatever its size."""
    small, middle, large = (python_steps(call(size * factor)) for factor in (1, 2, 4))
    assert large - middle <= BAR * (middle - small), (small, middle, large)


@pytest.mark.parametrize("shape", ["threads", "processes"])
def test_findings_look_once_at_each_thread(tmp_path: Path, shape: str) -> None:
    def segments(count: int) -> Callable[[], object]:
        path = tmp_path / f"{count}.h5"
        run("import", "-o", str(path), str(write_trace(shape, count, tmp_path / "trace.json")))
        capture = open_capture(path)
        return lambda: host_segments(Threads(View(capture)))

    assert_linear(segments, 50)


@pytest.mark.parametrize("is_whole", [True, False])
def test_nested_events_are_read_at_once_not_lane_by_lane(tmp_path: Path, is_whole: bool) -> None:
    def steps(count: int) -> int:
        path = tmp_path / f"{count}.h5"
        run("import", "-o", str(path), str(write_trace("same", count, tmp_path / "trace.json")))
        capture = open_capture(path)
        assert len(capture.lanes) == count
        view = View(capture) if is_whole else View(capture).restrict(*capture.span)
        tracks = [track.index for track in capture.tracks]
        return python_steps(lambda: nested_events(view, tracks))

    steps(100)
    assert steps(1_000) <= 1.5 * steps(100)


def test_of_a_long_text_only_what_is_shown_is_measured() -> None:
    def steps(length: int) -> int:
        texts = [f"{number} · {'·' * length}" for number in range(10)]
        return python_steps(lambda: shorten_apart(texts, 60))

    assert steps(20_000) <= 2 * steps(1_000)


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_the_table_measures_every_kind_of_part(tmp_path: Path) -> None:
    capture = tmp_path / "capture.h5"
    run("import", "-o", str(capture), str(write_trace("events", 3, tmp_path / "trace.json")))
    parts: dict[str, Cost] = {}
    for found in costs(capture, ("info", "finding", "report events", "export csv")):
        parts |= found
    assert {"info", "findings", "budget", "report events", "export csv"} <= set(parts)
    assert {f"finding {rule.name}" for rule in builtin_rules()} <= set(parts)
    assert not [cost.problem for cost in parts.values() if cost.problem]
    assert all(cost.peak_bytes > 1_000_000 for cost in parts.values())


class Chain:
    """Ranges, each inside the one before."""

    def __init__(self, depth: int) -> None:
        self.parent = np.arange(-1, depth - 1)


def test_a_deep_stack_is_written_to_a_limit() -> None:
    stack = stack_of(Chain(100_000))  # type: ignore[arg-type]
    assert stack(2) == ":0:1:2"
    assert stack(99_999).startswith(":…:")
    assert stack(99_999).endswith(":99998:99999")
    assert len(stack(99_999)) < 2_000


def test_a_deep_stack_is_indented_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "deep.h5"
    with CaptureBuilder(path) as builder:
        thread = builder.add_thread(builder.add_process(1), 1)
        ranges = builder.track("process/1.1/thread/1.1/ranges", role="ranges", thread=thread)
        name = builder.string("r")
        for level in range(300):
            builder.add_events(ranges, "range", [level], [1000 - 2 * level], name)
        builder.finish()
    with open_capture(path) as capture:
        result = compute_report(capture, "nvtx_pushpop_trace").result
        assert isinstance(result, Table)
        levels, trees = result.values("level"), result.values("name_tree")
    assert max(levels) == 299
    assert trees[levels.index(3)] == "      r"
    assert max(map(len, trees)) == 2 * DEEPEST_STACK + 1


@pytest.mark.parametrize("shape", ["same", "depth"])
def test_a_deep_stack_is_exported_in_one_piece(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "capture.h5"
    run("import", "-o", str(path), str(write_trace(shape, 500, tmp_path / "trace.json")))
    with open_capture(path) as capture:
        assert len(capture.lanes) == 500
        assert [rows for _, rows in chunks(capture, ExportSelection())] == [slice(0, 500)]


def test_lanes_of_several_kinds_and_tracks_are_exported_apart(tmp_path: Path) -> None:
    path = tmp_path / "capture.h5"
    with CaptureBuilder(path) as builder:
        for kind in "xy":
            builder.add_kind(KindSpec(kind, kind, "other", "event"))
        for letter in "ab":
            track = builder.track(f"other/{letter}")
            for level, kind in enumerate(["x", "x", "y", "y", "x"]):
                builder.add_events(track, kind, [level], [100 - 2 * level], builder.string("event"))
        builder.finish()
    with open_capture(path) as capture:
        pieces = [rows for _, rows in chunks(capture, ExportSelection())]
        assert [rows.stop - rows.start for rows in pieces] == [2, 2, 1] * 2
        part = ExportSelection(1, 99)
        rows = [row for _, piece in chunks(capture, part) for row in range(piece.start, piece.stop)]
        assert rows == [row for _, lane in lane_slices(capture, part) for row in range(lane.start, lane.stop)]


def test_counters_are_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = 0
    submit = WriteBehind.submit

    def counted(behind: WriteBehind, nbytes: int, write: Callable[[], None]) -> None:
        nonlocal writes
        writes += 1
        submit(behind, nbytes, write)

    def written(count: int) -> int:
        nonlocal writes
        writes = 0
        path = tmp_path / f"{count}.h5"
        run("import", "-o", str(path), str(write_trace("counters", count, tmp_path / "trace.json")))
        with open_capture(path) as capture:
            found = sorted((int(counter.name.split()[1]), *counter.values) for counter in capture.counters)
        assert found == [(i, i) for i in range(count)]
        return writes

    monkeypatch.setattr(WriteBehind, "submit", counted)
    assert written(3_000) < 100, "each counter was written on its own"


def test_a_table_of_many_small_parts_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(parquet_exporter, "_PARTS", 7)
    monkeypatch.setattr(parquet_exporter, "_GROUP_ROWS", 40)
    capture, out = tmp_path / "capture.h5", tmp_path / "out.parquet"
    run("import", "-o", str(capture), str(write_trace("processes", 100, tmp_path / "trace.json")))
    run("export", str(capture), str(out))
    table = parquet.ParquetFile(out)
    assert table.metadata.num_row_groups == 3
    assert table.read(["row"]).column(0).to_pylist() == list(range(100))


@pytest.mark.parametrize("text", ["", "abc", "αβγ", "漢字", "e\u0301", "漢" * 50])
def test_fits_agrees_with_the_width(text: str) -> None:
    for width in range(8):
        assert fits(text, width) == (text_width(text) <= width)
