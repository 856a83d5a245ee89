"""Names that look like HTML are shown as they are: in tooltips, labels, tables and boxes."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import QAbstractItemView, QLabel, QListView, QWidget
from pytestqt.qtbot import QtBot
from tests.gui.hostile.random_user import RandomUser, surprises

from warpline.interchange import import_files
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import plain
from warpline_app.panels.frame.registry import all_panels
from warpline_app.window.main_window import MainWindow

APP = Path(__file__).resolve().parents[3] / "app" / "warpline_app"
NAME = "<img src='file:///nowhere/picture.png'>picture"
NAMES = [
    NAME,
    "<b>bold</b>",
    "a <i>b</i>",
    "&lt;b>",
    "<!--x-->",
    "<?xml version='1.0'?>",
    "  <p",
    "<h1>\n<h2>",
    "<table/>",
]
MOST_ROWS = 20


@pytest.mark.parametrize("name", NAMES)
def test_plain_is_plain_and_looks_the_same(name: str) -> None:
    assert not GuiQt.mightBeRichText(plain(name))
    assert plain(name).replace("\u2060", "") == name


@pytest.mark.parametrize("name", ["std::vector<int>", "a < b", "x & y", "kernel<float, 4>(float*)", ""])
def test_other_names_are_not_changed(name: str) -> None:
    assert plain(name) == name


def test_a_label_of_one_line_has_one_line(qtbot: QtBot) -> None:
    pictures = []
    for text in ("two\nlines", "two lines"):
        label = ElidedLabel(text)
        qtbot.addWidget(label)
        label.resize(200, 40)
        pictures.append(label.grab().toImage())
    assert pictures[0] == pictures[1]


def is_fixed(node: ast.expr) -> bool:
    """Whether a text is one of ours without data, or `plain`."""
    if isinstance(node, ast.IfExp):
        return is_fixed(node.body) and is_fixed(node.orelse)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "plain" or (node.func.id == "tr" and not node.keywords)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id == "whole")


def unsafe_calls(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        place = f"{path.relative_to(APP)}:{node.lineno}"
        match node.func:
            case ast.Name("QLabel"):
                yield f"{place} QLabel instead of PlainLabel"
            case ast.Attribute(attr="setToolTip" | "setStatusTip") if not is_fixed(node.args[-1]):
                yield f"{place} a tooltip without plain()"
            case ast.Attribute(attr="showText") if not is_fixed(node.args[1]):
                yield f"{place} a tooltip without plain()"


def test_every_tooltip_and_label_goes_through_one_function() -> None:
    wrong = [call for path in sorted(APP.rglob("*.py")) for call in unsafe_calls(path)]
    # Its entries are of the two programs' own words, and escaped.
    assert [call.split(":")[0] for call in wrong] == ["panels/roofline/panel.py"], wrong


def texts_shown(widget: QWidget) -> Iterator[tuple[str, bool]]:
    """Texts of a widget, and whether Qt decides if they are HTML."""
    yield widget.toolTip(), True
    if isinstance(widget, QLabel):
        yield widget.text(), widget.textFormat() == Qt.TextFormat.AutoText
    if isinstance(widget, QAbstractItemView) and widget.model() is not None:
        model = widget.model()
        for row in range(min(model.rowCount(QModelIndex()), MOST_ROWS)):
            # Lists have one column, and keep their count to themselves.
            columns = 1 if isinstance(widget, QListView) else model.columnCount(QModelIndex())
            for column in range(columns):
                tip = model.index(row, column).data(Qt.ItemDataRole.ToolTipRole)
                yield tip if isinstance(tip, str) else "", True


def test_no_widget_lets_qt_decide_about_a_name(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    del qtbot
    trace = [
        {"ph": "X", "name": NAME, "cat": NAME, "ts": 10 * i, "dur": 5, "pid": 1, "tid": i % 3}
        for i in range(30)
    ]
    trace += [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": NAME}},
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": NAME}},
        {"ph": "C", "name": NAME, "pid": 1, "ts": 1, "args": {NAME: 3}},
    ]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": trace}))
    capture = tmp_path / f"{NAME.replace('/', '_')}.h5"
    import_files([tmp_path / "trace.json"], capture)
    user = RandomUser(window, 1)
    wrong: set[str] = set()
    with surprises():
        assert not user.open(capture)
        for panel in all_panels():
            user.show_panels([panel.id])
            user.move_about(1)
            for widget in window.findChildren(QWidget):
                wrong |= {
                    f"{type(widget).__module__}.{type(widget).__name__}: {text[:80]}"
                    for text, decides in texts_shown(widget)
                    if decides and GuiQt.mightBeRichText(text)
                }
    assert not wrong
