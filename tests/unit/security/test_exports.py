"""Names that mean something to a browser, a spreadsheet or a parser are text in what is exported, say parsers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from warpline.cli import main
from warpline.interchange import import_files
from warpline.interchange.export.exporting import export_capture
from warpline.model.markdown import markdown_text
from warpline.storage import open_capture

# What a page that shows Markdown would load or run, and what ends a row of a table.
MARKDOWN = (
    "![x](http://example.org/x.png)", "[x](javascript:alert(1))", "<img src=x onerror=alert(1)>", "a | b",
    "**bold** `code` ~~gone~~", "&lt;script&gt;", "[x]: http://example.org", "\\[x](y)", "two\nlines", "a\r# title",
)  # fmt: skip
NAMES = (
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a\"b'c&d;<!--", "]]><svg onload=alert(1)>",
    "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "a,b\n\"c\"", "| a | `b` |", "%s%n{0}",
)  # fmt: skip


def made_of(names: Sequence[str], folder: Path) -> Path:
    """A capture in which events, their arguments and their threads are called so."""
    events: list[dict[str, object]] = [
        {"ph": "X", "name": name, "ts": 10 * n, "dur": 5, "pid": 1, "tid": n, "args": {name: name}}
        for n, name in enumerate(names)
    ]
    events += [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": n, "args": {"name": name}}
        for n, name in enumerate(names)
    ]
    (folder / "trace.json").write_text(json.dumps(events))
    import_files([folder / "trace.json"], folder / "run.h5")
    return folder / "run.h5"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_of(NAMES, tmp_path_factory.mktemp("hostile names"))


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


def page_of(capture: Path) -> Page:
    """What a browser would find in the page that is exported."""
    with open_capture(capture) as opened:
        export_capture(opened, capture.with_suffix(".html"))
    page = Page()
    page.feed(capture.with_suffix(".html").read_text("utf-8"))
    return page


def test_a_page_has_no_element_of_a_names_making(capture: Path, tmp_path: Path) -> None:
    page = page_of(capture)
    assert page.tags == page_of(made_of([f"name {n}" for n in range(len(NAMES))], tmp_path)).tags
    assert page.handlers == []
    shown = "\n".join(page.texts)
    for name in NAMES[:4]:
        assert name in shown


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


@pytest.mark.parametrize("name", MARKDOWN)
def test_a_name_in_markdown_is_text(name: str) -> None:
    """In the cell of a table as in a paragraph, says a parser that follows CommonMark."""
    parser = MarkdownIt().enable(["table", "strikethrough"])
    row = parser.parse(f"| {markdown_text(name)} | 7 |\n|---|---:|\n| {markdown_text(name)} | 7 |\n")
    line = parser.parse(f"- {markdown_text(name)}\n")
    cells = [token for token in row if token.type == "inline"]
    assert len(cells) == 4
    for token in [*cells[::2], *(token for token in line if token.type == "inline")]:
        children = token.children or []
        assert {child.type for child in children} <= {"text", "text_special"}
        shown = "".join(child.content for child in children)
        assert shown.split() == name.split()


def test_no_cell_of_a_reports_csv_is_a_formula(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", str(capture), "--report", "nvtx_sum", "--format", "csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    cells = [cell for row in rows for cell in row]
    assert [cell for cell in cells if cell[:1] in {"=", "+", "-", "@"} and not _is_number(cell)] == []
    assert {f"'{name}" for name in NAMES if name[0] in "=+-@"} <= set(cells)
