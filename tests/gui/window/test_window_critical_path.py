"""The critical path as a lane: toggled, held to the report, clicked, remembered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot
from tests.gui.sample import MS

from warpline.analysis.framework.registry import compute_report
from warpline.storage import CaptureBuilder
from warpline_app.remembered.settings import Settings
from warpline_app.timeline.model.time_model import TimeScale
from warpline_app.timeline.model.why.path import PathSegments
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

OpenPage = Callable[[Path], CapturePage]
LEFT = Qt.MouseButton.LeftButton


def shown(qtbot: QtBot, page: CapturePage) -> PathSegments:
    """The lane's segments once they are there."""
    qtbot.keyClick(page.view, Qt.Key.Key_C)
    lane = page.view.path
    assert lane.isVisible()
    qtbot.waitUntil(lambda: page.view.is_idle, timeout=60_000)
    assert lane.segments is not None, lane.missing
    return lane.segments


def test_the_lane_shows_the_report_and_leads_to_its_events(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    lane, scale = page.view.path, page.view.scene.scale
    assert not lane.isVisible()
    segments = shown(qtbot, page)
    table = compute_report(page.document.capture, "critical_path").table
    assert table is not None
    assert len(segments) == len(table) > 1
    lengths = np.asarray(table.data["segment_ns"])
    assert (segments.stop - segments.start).tolist() == lengths.tolist()
    assert (segments.start[1:] == segments.stop[:-1]).all()
    # A wide segment is as wide in the picture as it is long, and tells itself.
    widest = int(np.argmax(lengths))
    middle = (int(segments.start[widest]) + int(segments.stop[widest])) // 2
    x = round(scale.to_px(middle)) + lane.title_px
    assert lane.segment_at(x) == widest
    assert lane.segment_at(10) == -1
    assert str(table.data["name"][widest]) in lane.tooltip_of(widest)
    assert str(table.data["track"][widest]) in lane.tooltip_of(widest)
    picture = lane.grab().toImage()
    assert picture.pixelColor(x, lane.height() // 2) != page.view.theme.color("canvas")
    qtbot.mouseClick(lane, LEFT, pos=QPoint(x, lane.height() // 2))
    row = int(segments.row[widest])
    assert page.document.state.selection == (row if row >= 0 else None)
    qtbot.keyClick(page.view, Qt.Key.Key_C)
    assert not lane.isVisible()


def test_a_lane_hidden_during_computation_can_be_shown_again(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    lane = page.view.path
    for _ in range(2):
        qtbot.keyClick(page.view, Qt.Key.Key_C)
    assert not lane.isVisible()
    qtbot.waitUntil(lambda: not lane.is_busy, timeout=60_000)
    assert lane.segments is None
    for _ in range(3):
        qtbot.keyClick(page.view, Qt.Key.Key_C)
    qtbot.waitUntil(lambda: lane.segments is not None, timeout=60_000)
    assert lane.isVisible()


def test_the_lane_is_shown_again_after_a_restart(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, settings: Settings
) -> None:
    page = open_page(sample)
    shown(qtbot, page)
    window.workspace.close(page.document)
    assert settings.shows_critical_path
    again = open_page(sample)
    qtbot.waitUntil(lambda: again.view.path.segments is not None, timeout=60_000)
    assert again.view.path.isVisible()


def test_the_lane_follows_the_selected_row(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    first = shown(qtbot, page)
    state, lane = page.document.state, page.view.path
    state.select_track("process/71.1/thread/74.1")
    qtbot.waitUntil(lambda: lane.segments is not first and page.view.is_idle, timeout=60_000)
    assert lane.segments is not None
    assert lane.segments.title == "pin_memory (74)"
    assert lane.segments.title != first.title
    # A row that is nobody's time has the path of the whole.
    state.select_track("cpu/0")
    state.select_track(None)
    qtbot.waitUntil(lambda: page.view.is_idle, timeout=60_000)
    assert lane.segments.title == first.title


def test_a_capture_without_a_critical_path_shows_the_reason(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    with CaptureBuilder(tmp_path / "ranges.h5") as builder:
        builder.set_span(0, 100 * MS)
        process = builder.add_process(71, name="python")
        track = builder.track("process/71.1", title="python", role="process", process=process)
        builder.add_events(track, "range", [10 * MS], [50 * MS], builder.string("step"))
        builder.finish()
    page = open_page(tmp_path / "ranges.h5")
    qtbot.keyClick(page.view, Qt.Key.Key_C)
    qtbot.waitUntil(lambda: bool(page.view.path.missing), timeout=60_000)
    assert "warpline record" in page.view.path.missing


@pytest.mark.parametrize("width", [7, 100, 1000])
def test_each_pixel_shows_the_segment_at_its_middle(width: int) -> None:
    generator = np.random.default_rng(width)
    edges = np.unique(generator.integers(0, 10_000, 300))
    start, stop = edges[:-1], edges[1:]
    gap = generator.random(len(start)) < 0.2
    start, stop = start[~gap], stop[~gap]
    texts = [""] * len(start)
    segments = PathSegments(
        title="",
        start=start,
        stop=stop,
        row=np.full(len(start), -1),
        key=lambda _s: "running",
        cause=texts,
        place=texts,
        track=texts,
    )
    scale = TimeScale(500, 9_500, width)
    drawn = np.full(width, -1)
    for first, last, segment in segments.runs(scale).tolist():
        assert (drawn[first:last] == -1).all()
        drawn[first:last] = segment
    for column in range(width):
        moment = int(500 + (column + 0.5) * 9_000 / width)
        assert drawn[column] == segments.at(moment)


def test_a_path_without_segments_draws_nothing() -> None:
    none = np.empty(0, np.int64)
    assert PathSegments(
        title="", start=none, stop=none, row=none, key=str, cause=(), place=(), track=()
    ).runs(TimeScale(0, 100, 50)).shape == (0, 3)
