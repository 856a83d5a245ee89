"""Tables and the report page."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.unit.interchange.export.export_tools import written

from warpline.extras import install_command
from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.selection import ExportSelection
from warpline.model import ExportError
from warpline.storage import Capture, CaptureBuilder, open_capture


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
    with pytest.raises(ExportError, match=re.escape(install_command("parquet"))):
        written(made, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []
