"""What the window says as soon as a capture is open: that its program failed, that part of it is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot
from tests.gui.sample import write_sample

from warpline.storage import CaptureBuilder
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow
from warpline_app.window.message_bars import MessageBar

OpenPage = Callable[[Path], CapturePage]
LAST = "RuntimeError: CUDA out of memory"


def failed(path: Path, status: int, signal: int | None, tail: list[str] | None) -> Path:
    """A capture of a program that ended so."""
    with CaptureBuilder(path) as builder:
        builder.meta.update(exit_status=status, exit_signal=signal, stderr_tail=tail)
        builder.set_span(0, 1_000_000)
        builder.track("process/1", title="python train.py [1]", role="process")
        builder.finish()
    return path


def only_bar(window: MainWindow) -> MessageBar:
    """The one bar there is."""
    (bar,) = window.message_bars.bars
    return bar


def button(bar: MessageBar, title: str) -> QPushButton | None:
    """A button of a bar."""
    return next((found for found in bar.findChildren(QPushButton) if found.text() == title), None)


def test_a_failed_program_is_shown_with_its_error_and_output(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(failed(tmp_path / "run.h5", 1, None, ["Traceback (most recent call last):", LAST]))
    bar = only_bar(window)
    assert bar.text == f"run.h5: the program ended with status 1: {LAST}"
    show = button(bar, "Show output")
    assert show is not None
    show.click()
    assert window.panels.is_in_front("console")
    qtbot.waitUntil(lambda: window.panels.is_settled, timeout=60_000)
    console = window.panels.panel("console")
    assert console is not None
    texts = [text.toPlainText() for text in console.findChildren(QPlainTextEdit)]
    assert texts == [f"Traceback (most recent call last):\n{LAST}"]
    window.workspace.close(page.document)
    assert not window.message_bars.bars


@pytest.mark.parametrize(("terminate", "count"), [(True, 0), (False, 1)])
def test_a_program_that_the_recorder_ended_did_not_fail(
    window: MainWindow, open_page: OpenPage, tmp_path: Path, terminate: bool, count: int
) -> None:
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        builder.meta.update(exit_status=143, exit_signal=15, recording={"terminate": terminate})
        builder.set_span(0, 1_000_000)
        builder.finish()
    open_page(path)
    assert len(window.message_bars.bars) == count


@pytest.mark.parametrize(
    ("status", "signal", "words"),
    [(137, 9, "was ended by signal 9 (SIGKILL)"), (139, None, "was ended by signal 11 (SIGSEGV)")],
)
def test_a_killed_program_is_shown_with_its_signal(
    window: MainWindow, open_page: OpenPage, tmp_path: Path, status: int, signal: int | None, words: str
) -> None:
    open_page(failed(tmp_path / "run.h5", status, signal, None))
    assert only_bar(window).text == f"run.h5: the program {words}"
    assert button(only_bar(window), "Show output") is None


def test_a_successful_program_shows_no_notice(
    window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    open_page(failed(tmp_path / "fine.h5", 0, None, ["a warning"]))
    open_page(write_sample(tmp_path / "unknown.h5"))
    assert not window.message_bars.bars


def test_a_truncated_trace_shows_what_is_missing(
    window: MainWindow, open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    events = [
        {"ph": "X", "name": f"step {i}", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5} for i in range(100)
    ]
    text = json.dumps({"traceEvents": events})
    (tmp_path / "whole.json").write_text(text)
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    open_page(tmp_path / "whole.json")
    assert not window.message_bars.bars
    open_page(tmp_path / "cut.json")
    assert only_bar(window).text.startswith("cut.json: the file is incomplete: ")
    assert only_bar(window).text.endswith("The part before is kept")


def test_events_of_another_clock_are_told_and_one_key_away(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    path = tmp_path / "clocks.json"
    times = [number * 30 for number in range(300)] + [26 * 86_400_000_000 + number for number in range(4)]
    event = {"ph": "X", "pid": 1, "tid": 1, "name": "work", "dur": 20}
    path.write_text(json.dumps([event | {"ts": time} for time in times]))
    page = open_page(path)
    state = page.document.state
    bar = only_bar(window)
    assert bar.text == "clocks.json: 4 events lie 26 days later than the others"
    opened = state.view
    assert opened[1] - opened[0] < 12_000_000
    page.view.canvas.setFocus()
    qtbot.keyClick(page.view.canvas, Qt.Key.Key_Home, Qt.KeyboardModifier.ShiftModifier)
    assert state.view == state.span == page.document.capture.span
    qtbot.keyClick(page.view.canvas, Qt.Key.Key_Home)
    assert state.view == opened
    show = button(bar, "Show whole capture")
    assert show is not None
    show.click()
    assert state.view == state.span


def lossy(path: Path, lost: int, enabled: bool = True) -> Path:
    """A capture of 9,999 events and a source that lost so many records."""
    with CaptureBuilder(path) as builder:
        builder.add_source("python", enabled, lost=lost)
        builder.add_source("perf", True)
        track = builder.track("process/1/thread/1", title="main")
        builder.add_events(track, "range", range(0, 99_990, 10), 5, [builder.string("work")] * 9_999)
        builder.finish()
    return path


@pytest.mark.parametrize(
    ("lost", "enabled", "words"),
    [
        (20, True, "20 records of 10,019 were lost (0.2 %)"),
        (1, False, "1 record of 10,000 was lost (< 0.1 %)"),
    ],
)
def test_lost_records_are_told_with_whose_how_many_of_all_and_what_it_means(
    window: MainWindow, open_page: OpenPage, tmp_path: Path, lost: int, enabled: bool, words: str
) -> None:
    open_page(lossy(tmp_path / "lossy.h5", lost, enabled))
    assert only_bar(window).text == (f"lossy.h5: Python stacks: {words}, too few to change the results")


def test_a_loss_of_less_than_a_thousandth_stands_in_the_status_line_and_about_the_capture(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    open_page(lossy(tmp_path / "lossy.h5", 1))
    assert not window.message_bars.bars
    assert window.status_line.missing_text == "1 record lost"
    window.panels.show_panel("sources")
    qtbot.waitUntil(lambda: window.panels.is_settled, timeout=60_000)
    panel = window.panels.panel("sources")
    assert panel is not None
    about = [label.text() for label in panel.findChildren(QLabel)]
    assert "1 record lost (< 0.1 % of all): too few to change the results" in about
