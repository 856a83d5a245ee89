"""Every test capture survives export and import, whole and in part."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import orjson
import pytest
from tests.unit.interchange.export.export_tools import written

from warpline.interchange import detect, import_files
from warpline.interchange.export.selection import ExportSelection, lane_slices
from warpline.model import ImportFormatError, WarplineError
from warpline.storage import Capture, open_capture

FOLDER = Path(os.environ.get("WARPLINE_TEST_DATA", Path(__file__).parents[5] / "shared" / "data"))
TORCH = "torch/pytorch+kineto/tb_plugin/test/gpu_metrics_input.json"


def traces() -> list[str]:
    """Real files that an importer recognises."""
    found = []
    for path in sorted(FOLDER.rglob("*")) if FOLDER.is_dir() else []:
        if not path.is_file() or path.suffix in {".md", ".txt", ".csv", ".xz"} or "expected" in str(path):
            continue
        try:
            detect(path)
        except (WarplineError, OSError):
            continue
        found.append(str(path.relative_to(FOLDER)))
    return found


def rows_of(capture: Capture, selection: ExportSelection) -> Counter[tuple[str, ...]]:
    """Number of events by the titles of their track and its parents."""
    found: Counter[tuple[str, ...]] = Counter()
    for index, rows in lane_slices(capture, selection):
        titles = []
        while index >= 0:
            titles.append(capture.tracks[index].title)
            index = capture.tracks[index].parent
        found[tuple(reversed(titles))] += rows.stop - rows.start
    return found


@pytest.mark.slow
@pytest.mark.parametrize("file", traces() or [pytest.param("", marks=pytest.mark.skip(reason="no data"))])
def test_json_and_captures_keep_rows_and_ranges(file: str, tmp_path: Path) -> None:
    try:
        whole = open_capture(import_files([FOLDER / file], tmp_path / "in.h5"))
    except ImportFormatError as error:
        pytest.skip(str(error))
    with whole:
        third = whole.duration_ns // 3
        parts = [
            ExportSelection(),
            ExportSelection(whole.span[0] + third, whole.span[0] + 2 * third),
        ]
        for number, selection in enumerate(parts):
            expected = rows_of(whole, selection)
            if not expected:
                continue
            arguments = (selection.start_ns, selection.stop_ns)
            for suffix in (".json", ".h5"):
                out = written(whole, tmp_path / f"out{number}{suffix}", *arguments)
                if suffix == ".json":
                    out = import_files([out], tmp_path / f"again{number}.h5")
                with open_capture(out) as again:
                    assert rows_of(again, ExportSelection()) == expected, suffix
                    assert again.span == selection.interval(whole), suffix


def test_a_part_of_a_trace_of_a_gpu_is_of_its_process(data_dir: Path, tmp_path: Path) -> None:
    with open_capture(import_files([data_dir / TORCH], tmp_path / "in.h5")) as whole:
        start = whole.span[0] + 2_000_000
        out = written(whole, tmp_path / "part.json", start, start + 3_000_000)
        with open_capture(import_files([out], tmp_path / "again.h5")) as again:
            assert [(p.pid, p.name) for p in again.processes] == [(24572, "python")]
            assert [(d.index, d.name) for d in again.devices] == [(0, "Tesla V100-DGXS-32GB")]
            assert again.duration_ns == 3_000_000


def test_an_invalid_header_is_ignored(data_dir: Path, tmp_path: Path) -> None:
    with open_capture(import_files([data_dir / TORCH], tmp_path / "in.h5")) as whole:
        document = orjson.loads(written(whole, tmp_path / "out.json").read_bytes())
        counts = []
        for number, damage in enumerate(({"up": 10_000}, {"up": "above"}, {"up": -1, "uri": 7}, None)):
            for track in document["warpline"]["tracks"]:
                track.update(damage or {})
            if damage is None:
                document["warpline"] = "nothing"
            damaged = tmp_path / f"damaged{number}.json"
            damaged.write_bytes(orjson.dumps(document))
            with open_capture(import_files([damaged], tmp_path / f"again{number}.h5")) as again:
                counts.append(len(again.events))
        assert counts == [len(whole.events)] * len(counts)
