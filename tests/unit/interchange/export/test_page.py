"""The HTML page is self-contained, says what it merges, and escapes every name."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.gui.sample import MS, write_sample
from tests.unit.interchange.export.export_tools import written

from warpline.analysis.findings.diagnose import AT_MOST, diagnose
from warpline.analysis.findings.wording import finding_sentence
from warpline.analysis.framework.selection import View
from warpline.interchange.export.exporter import ExportOptions
from warpline.interchange.export.exporting import export_capture
from warpline.interchange.export.page.page_derived import MOST_BOXES
from warpline.interchange.export.page.page_rows import page_rows
from warpline.interchange.export.preview import estimate
from warpline.interchange.export.registry import exporter_for
from warpline.interchange.export.selection import ExportSelection
from warpline.model.derived_rows import DerivedRow
from warpline.model.track_patterns import match_tracks
from warpline.resources import path as resource
from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline.storage.columns.counters import Counter, counter_pyramid
from warpline.storage.columns.derived_events import DerivedEvents, ShownRow

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> & \u2028 \x00"


class Page(HTMLParser):
    """A parsed page: elements with attributes, texts of scripts, cells of tables."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.cells: list[str] = []
        self.texts: list[str] = []
        self._script: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag == "script":
            self._script = attributes.get("id") or "code"
            self.scripts[self._script] = ""
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self._script = None if tag == "script" else self._script

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts[self._script] += data
        else:
            self.texts.append(data)
            if self.cells:
                self.cells[-1] += data

    @property
    def data(self) -> Any:
        """What the script of the page reads."""
        return json.loads(self.scripts["capture"])


def page_of(capture: Capture, out: Path, *selection: Any) -> Page:
    """A page of a part of a capture."""
    return Page(written(capture, out, *selection).read_text("utf-8"))


def test_a_page_loads_no_other_file(made: Capture, tmp_path: Path) -> None:
    tracks = match_tracks(made.tracks, ["gpu/*", "process/*"])
    page = page_of(made, tmp_path / "out.html", 100, 900, tracks)
    assert {tag for tag, _ in page.elements} <= {
        "html", "head", "meta", "title", "style", "body", "header", "main", "section", "div", "canvas", "span",
        "i", "h1", "h2", "p", "code", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "small", "script",
    }  # fmt: skip
    attributes = {name for _tag, found in page.elements for name in found}
    assert not attributes & {"src", "href", "onload", "onclick"}
    code = page.scripts["code"] + resource("page/page.css").read_text()
    assert not [word for word in ("http:", "https:", "fetch(", "import(", "@import", "url(") if word in code]
    assert set(page.scripts) == {"capture", "colors", "code"}
    assert "kernel<int, 3>" in page.data["names"]
    at = page.cells.index("kernel<int, 3>")
    assert page.cells[at : at + 3] == ["kernel<int, 3>", "9", "1.170 µs"]
    assert any("not asked for" in text for text in page.texts), "what was not recorded is said"


def test_names_are_text_and_never_markup(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "hostile.h5") as builder:
        builder.meta["command_line"] = ["python", HOSTILE]
        track = builder.track("thing", title=HOSTILE)
        builder.add_events(track, "range", [0, 100], 50, builder.string(HOSTILE))
        builder.finish()
    with open_capture(tmp_path / "hostile.h5") as capture:
        name = capture.strings[int(capture.events.name[0])]
        assert "</script>" in name
        page = page_of(capture, tmp_path / "page.html")
        assert page.data["names"] == [name]
        assert page.data["rows"][0]["title"] == capture.tracks[0].title
        assert set(page.scripts) == {"capture", "colors", "code"}
        assert not [tag for tag, _ in page.elements if tag == "img"]
        assert page.cells[0].replace("\ufffd", "\x00") == name


def test_boxes_are_the_events_of_the_part(tmp_path: Path) -> None:
    with open_capture(write_sample(tmp_path / "sample.h5")) as capture:
        data = page_of(capture, tmp_path / "page.html", 20 * MS, 60 * MS).data
        assert (data["start_ns"], data["duration_ns"]) == (20 * MS, 40 * MS)
        boxes = [box for row in data["rows"] for lane in row["lanes"] for box in lane]
        assert all(
            start >= 0 and start + length <= 40 * MS and count == 1 for start, length, *_, count in boxes
        )
        kernels = [
            box for row in data["rows"] if row["title"] == "Stream 7" for lane in row["lanes"] for box in lane
        ]
        rows = capture.kinds["kernel"].rows
        starts, stops = capture.event_times(rows)
        inside = (starts < 60 * MS) & (stops > 20 * MS)
        first = int(np.flatnonzero(inside)[0])
        expected = [
            max(0, int(starts[first]) - 20 * MS),
            int(stops[first]) - max(20 * MS, int(starts[first])),
        ]
        assert expected in [box[:2] for box in kernels]
        assert {data["colors"][box[3]] for box in kernels} >= {"kernel"}


def test_a_page_begins_with_the_gpu_and_where_something_happens(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "run.h5") as builder:
        process = builder.add_process(1)
        thread = builder.add_thread(process, 1)
        python = builder.track("process/1/thread/1/python", title="Python", role="python", thread=thread)
        gpu = builder.track("gpu/0", title="GPU 0", role="gpu", sort_key=1000)
        stream = builder.track("gpu/0/stream/7", parent=gpu, title="Stream 7", role="stream")
        name = builder.strings(["work"])
        for track, kind, duration in (
            (python, "python", 2_000),
            (python, "python", 500),
            (stream, "kernel", 900),
        ):
            builder.add_events(track, kind, np.array([0]), np.array([duration]), name)
        builder.finish()
    with open_capture(tmp_path / "run.h5") as capture:
        data = page_of(capture, tmp_path / "page.html").data
        assert [row["title"] for row in data["rows"]] == ["GPU 0", "Stream 7", "Python"]
        assert data["first_view"][0] == 0
        assert 900 <= data["first_view"][1] < 1_000
        assert data["duration_ns"] == 2_000
        part = page_of(capture, tmp_path / "part.html", 0, 1_500).data
        assert part["first_view"] == [0, 1_500]


def test_short_events_are_merged_when_a_page_has_too_many(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    with CaptureBuilder(tmp_path / "many.h5") as builder:
        track = builder.track("many", title="Many")
        duration = rng.integers(1, 900, 5000)
        duration[::100] = 100_000
        start = np.cumsum(duration + rng.integers(0, 500, 5000)) - duration
        builder.add_events(track, "range", start, duration, builder.string("f"))
        builder.finish()
    with open_capture(tmp_path / "many.h5") as capture:
        whole = page_rows(capture, ExportSelection())
        assert whole.bin_ns == 0
        assert len(whole.rows[0]["lanes"][0]) == 5000
        thin = page_rows(capture, ExportSelection(), max_drawn=500)
        (boxes,) = thin.rows[0]["lanes"]
        assert len(boxes) <= 500
        assert thin.bin_ns > 0
        assert sum(box[4] for box in boxes) == 5000, "no event is dropped"
        assert sum(box[1] == 100_000 and box[4] == 1 for box in boxes) == 50, "long ones stand alone"
        assert all(a[0] + a[1] <= b[0] for a, b in itertools.pairwise(boxes))


def test_the_estimated_size_is_right_within_a_factor_of_two(tmp_path: Path) -> None:
    with open_capture(write_sample(tmp_path / "sample.h5")) as capture:
        out = tmp_path / "page.html"
        guess = estimate(capture, ExportSelection(), exporter_for(out)).size_bytes
        assert guess / 2 <= written(capture, out).stat().st_size <= guess * 2


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_script_zooms_about_the_pointer_and_stays_inside() -> None:
    code = (
        resource("page/timeline.js").read_text()
        + """
    const near = (a, b) => Math.abs(a - b) < 1e-6;
    const shown = zoomed([0, 1000], 1000, 0.5, 250);
    if (!near(shown[0], 125) || !near(shown[1], 625)) throw new Error("pointer " + shown);
    if (zoomed([0, 1000], 1000, 5, 250)[1] !== 1000) throw new Error("wider than all there is");
    if (placed(900, 500, 1000)[0] !== 500) throw new Error("beyond the end");
    if (stepFor(90) !== 100 || stepFor(101) !== 200 || stepFor(3) !== 5) throw new Error("steps");
    const lane = [[0, 5], [10, 5], [20, 5]];
    if (firstAfter(lane, 12) !== 1 || firstAfter(lane, 16) !== 2 || firstAfter(lane, 99) !== 3) throw new Error("find");
    if (durationText(1234567) !== "1.235 ms") throw new Error(durationText(1234567));
    """
    )
    done = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_page_carries_the_findings_of_its_part(tmp_path: Path) -> None:
    write_sample(tmp_path / "sample.h5")
    with open_capture(tmp_path / "sample.h5") as capture:
        page = written(capture, tmp_path / "page.html")
        said = diagnose(View(capture))
    text = page.read_text("utf-8")
    assert said.findings
    assert text.index("<h2>Findings</h2>") < text.index("<table>")
    parsed = " ".join(Page(text).texts)
    for finding in said.findings[:AT_MOST]:
        assert finding_sentence(finding) in parsed


def derived(**columns: Any) -> DerivedEvents:
    count = len(columns["start"])
    whole = {"line": [0] * count, "name": list(range(count)), **columns}
    arrays = {name: np.array(values, np.int64) for name, values in whole.items() if isinstance(values, list)}
    return DerivedEvents(**{**whole, **arrays, "rows": None, "family": "range"})


def test_derived_rows_stand_first_on_a_page(tmp_path: Path) -> None:
    with open_capture(write_sample(tmp_path / "run.h5")) as capture:
        low = capture.span[0]
        events = derived(
            start=[low, low + 3 * MS], duration=[MS, MS], names=(HOSTILE, "second"), color=[0, 1],
            colors=("kernel", "mine"), track=[0, 1], tracks=("one", "two"),
        )  # fmt: skip
        values = np.array([1.0, np.nan, 4.0])
        counter = Counter(
            index=-1, track=-1, name="value", unit="", interpolation="step", offset_ns=0, values=values,
            recorded_times=low + np.array([0, 2, 5]) * MS, pyramid=counter_pyramid(values),
        )  # fmt: skip
        shown: tuple[ShownRow, ...] = (
            (DerivedRow(title="by hand", sql="1"), events),
            (DerivedRow(title="load", sql="2", color="sync"), counter),
            (DerivedRow(title="theirs", sql="3"), "not run"),
        )
        out = export_capture(capture, tmp_path / "page.html", options=ExportOptions(rows=shown))
        page = Page(out.read_text("utf-8"))
        data = json.loads(page.scripts["capture"])
        rows, names, colors = data["rows"], data["names"], data["colors"]
        titles = [(row["title"], row["depth"]) for row in rows[:7]]
        assert titles[:6] == [
            ("Derived rows", 0), ("by hand", 1), ("one", 2), ("two", 2), ("load", 1), ("theirs – not run", 1)
        ]  # fmt: skip
        assert titles[6][1] == 0
        ((start, length, name, color, count),) = rows[2]["lanes"][0]
        assert (start, length, names[name], colors[color], count) == (0, MS, HOSTILE, "kernel", 1)
        assert colors[rows[3]["lanes"][0][0][3]].startswith("hue ")
        first, last = rows[4]["lanes"][0]
        assert (first[:2], names[first[2]], first[5]) == ([0, 2 * MS], "1", 0.25)
        assert (last[0], names[last[2]], last[5], colors[last[3]]) == (5 * MS, "4", 1.0, "sync")
        assert rows[4]["height"] > 16
        # Nothing of them is on an anonymous page.
        out = export_capture(
            capture, tmp_path / "page.html", options=ExportOptions(rows=shown, anonymize=True)
        )
        assert "by hand" not in out.read_text("utf-8")


def test_a_derived_row_with_too_many_boxes_merges_short_ones(tmp_path: Path) -> None:
    count = 3 * MOST_BOXES
    with open_capture(write_sample(tmp_path / "run.h5")) as capture:
        low, high = capture.span
        start = np.linspace(low, high - 10, count).astype(np.int64)
        events = derived(start=start.tolist(), duration=[5] * count, names=("a",), name=[0] * count)
        page = page_rows(capture, ExportSelection(), ((DerivedRow(title="many", sql="1"), events),))
        (boxes,) = page.rows[1]["lanes"]
        assert len(boxes) <= MOST_BOXES
        assert sum(box[4] for box in boxes) == count
        assert all(box[0] + box[1] <= after[0] for box, after in itertools.pairwise(boxes))
