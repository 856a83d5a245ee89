"""Names that mean something to a browser, a spreadsheet or a parser are text in what is exported, say parsers."""

from __future__ import annotations

import csv
import json
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from warpline.interchange import import_files
from warpline.interchange.export.exporting import export_capture
from warpline.storage import open_capture

NAMES = (
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a\"b'c&d;<!--", "]]><svg onload=alert(1)>",
    "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "a,b\n\"c\"", "| a | `b` |", "%s%n{0}",
)  # fmt: skip


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile names")
    events: list[dict[str, object]] = [
        {"ph": "X", "name": name, "ts": 10 * n, "dur": 5, "pid": 1, "tid": n, "args": {name: name}}
        for n, name in enumerate(NAMES)
    ]
    events += [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": n, "args": {"name": name}}
        for n, name in enumerate(NAMES)
    ]
    (folder / "trace.json").write_text(json.dumps(events))
    import_files([folder / "trace.json"], folder / "run.h5")
    return folder / "run.h5"


class Page(HTMLParser):
    """What a browser would find: elements, their attributes, and texts apart from scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.texts: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [name for name, value in attrs if name.startswith("on") or "alert" in (value or "")]
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside not in {"script", "style"}:
            self.texts.append(data)


def test_a_page_has_no_element_of_a_names_making(capture: Path, tmp_path: Path) -> None:
    with open_capture(capture) as opened:
        export_capture(opened, tmp_path / "page.html")
    page = Page()
    page.feed((tmp_path / "page.html").read_text("utf-8"))
    plain = Page()
    plain.feed((tmp_path / "page.html").read_text("utf-8").replace("alert(1)", ""))
    assert "img" not in page.tags
    assert page.handlers == []
    assert page.tags.count("script") == plain.tags.count("script")
    shown = "\n".join(page.texts)
    for name in NAMES[:4]:
        assert name in shown
        assert f"alert(1)</{name[2:]}" not in shown


def test_no_cell_of_a_table_is_a_formula(capture: Path, tmp_path: Path) -> None:
    with open_capture(capture) as opened:
        export_capture(opened, tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert {len(row) for row in rows} == {len(rows[0])}
    cells = [cell for row in rows for cell in row]
    assert [cell for cell in cells if cell[:1] in {"=", "+", "-", "@"} and not _is_number(cell)] == []
    for name in NAMES:
        assert (f"'{name}" if name[0] in "=+-@" else name) in cells, name


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_a_drawing_has_no_element_of_a_names_making(capture: Path, tmp_path: Path) -> None:
    pytest.importorskip("PySide6")
    with open_capture(capture) as opened:
        export_capture(opened, tmp_path / "drawing.svg")
    tags = {element.tag.rpartition("}")[2] for element in ET.parse(tmp_path / "drawing.svg").iter()}
    assert not tags & {"script", "img", "foreignObject", "a"}


def test_json_gives_the_names_back(capture: Path, tmp_path: Path) -> None:
    with open_capture(capture) as opened:
        export_capture(opened, tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    assert set(NAMES) <= {event["name"] for event in events}
