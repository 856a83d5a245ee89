"""Clicking where nothing happened answers why: in the details, for that stretch alone, with a way to its findings."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import LEFT, OpenPage, kernel, settle
from tests.gui.sample import GEMM, MS

from warpline.cli import main
from warpline.storage import open_capture
from warpline_app.panels.details.panel import DetailsPanel
from warpline_app.panels.facts.event_facts import Section
from warpline_app.panels.facts.fact import Fact
from warpline_app.panels.facts.gap_facts import gap_reasons
from warpline_app.state.evidence_state import Gap
from warpline_app.timeline.model.why.gaps import gap_at
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

STREAM = "gpu/0/process/71.1/context/1/stream/7"


def click(qtbot: QtBot, page: CapturePage, key: str, time_ns: int) -> None:
    """Click on a row at a moment."""
    scene = page.view.scene
    scene.reveal_row(key)
    qtbot.waitUntil(lambda: page.view.is_idle, timeout=60_000)
    placed = scene.layout.by_key[key]
    point = QPoint(round(scene.scale.to_px(time_ns)), scene.top_of(placed) + placed.height // 2)
    qtbot.mouseClick(page.view.canvas, LEFT, pos=point)


def details_of(qtbot: QtBot, window: MainWindow) -> DetailsPanel:
    settle(qtbot, window)
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    return panel


def lines(panel: DetailsPanel) -> dict[str, str]:
    assert panel.facts is not None
    return {fact.title: fact.value for section in panel.facts.sections for fact in section.facts}


def test_an_idle_stretch_of_a_stream_says_why_and_leads_on(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state = page.document.state
    state.set_view(9 * MS, 15 * MS)
    click(qtbot, page, STREAM, 11_500_000)
    # Kernel 0 ends at 11 ms, kernel 1 begins at 12 ms.
    assert state.selection is None
    assert state.gap is not None
    assert (state.gap.start_ns, state.gap.stop_ns) == (11 * MS, 12 * MS)
    assert state.gap.before == kernel(page.document.capture, 0)
    assert state.gap.after == kernel(page.document.capture, 1)
    panel = details_of(qtbot, window)
    assert panel.name.text().replace("\u200b", "") == "Idle for 1.000 ms"
    told = lines(panel)
    assert told["After"] == told["Before"] == GEMM
    assert len(told) > 4
    accent = page.view.canvas.theme.rgb("selection") & 0xFFFFFF
    image = page.view.canvas.grab().toImage()
    edge = round(page.view.scene.scale.to_px(11 * MS)) - 1
    column = [image.pixelColor(edge, y).rgb() & 0xFFFFFF for y in range(image.height())]
    assert column.count(accent) > 10
    qtbot.mouseClick(panel.findings, LEFT)
    settle(qtbot, window)
    assert state.range_selection == (11 * MS, 12 * MS + 1)
    assert window.panels.is_in_front("findings")


def test_a_question_in_flight_is_asked_once(
    qtbot: QtBot,
    window: MainWindow,
    open_page: OpenPage,
    sample: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An earlier question that ends late must not cancel the one that took its place, or neither is ever answered."""
    earlier, later = threading.Event(), threading.Event()
    asked: list[str] = []

    def slow_view(*_arguments: object) -> tuple[Section, ...]:
        asked.append("view")
        assert earlier.wait(60)
        return ()

    def slow_gap(*_arguments: object) -> tuple[Fact, ...]:
        asked.append("gap")
        assert later.wait(60)
        return (Fact("", "because"),)

    page = open_page(sample)
    state = page.document.state
    panel = details_of(qtbot, window)
    monkeypatch.setattr("warpline_app.panels.details.panel.view_sections", slow_view)
    monkeypatch.setattr("warpline_app.panels.details.panel.gap_reasons", slow_gap)
    state.set_view(9 * MS, 15 * MS)
    qtbot.waitUntil(lambda: asked == ["view"], timeout=60_000)
    first = panel._job
    assert first is not None
    click(qtbot, page, STREAM, 11_500_000)
    qtbot.waitUntil(lambda: "gap" in asked, timeout=60_000)
    earlier.set()
    qtbot.waitUntil(first.isFinished, timeout=60_000)
    # Its end is delivered, then the timer of zero that a refresh on its behalf would wait for.
    for _ in range(3):
        QCoreApplication.processEvents()
    later.set()
    settle(qtbot, window)
    assert asked == ["view", "gap"]
    assert lines(panel)[""] == "because"


def test_an_event_or_escape_takes_its_place(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state = page.document.state
    state.set_view(9 * MS, 15 * MS)
    click(qtbot, page, STREAM, 11_500_000)
    click(qtbot, page, STREAM, 10_500_000)
    assert (state.gap, state.selection) == (None, kernel(page.document.capture, 0))
    click(qtbot, page, STREAM, 11_500_000)
    assert (state.gap is None, state.selection) == (False, None)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert (state.gap, state.selection) == (None, None)
    panel = details_of(qtbot, window)
    assert panel.facts is not None
    assert (panel.facts.row, panel.name.text()) == (-1, "Visible range: 6.000 ms")


def test_the_findings_of_an_events_time_are_a_click_away(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    page.document.state.select(kernel(page.document.capture, 3))
    panel = details_of(qtbot, window)
    qtbot.mouseClick(panel.findings, LEFT)
    settle(qtbot, window)
    span = page.document.capture.event_span(kernel(page.document.capture, 3))
    assert page.document.state.range_selection == span


def test_a_stretch_is_what_no_lane_of_the_row_fills(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    capture, tree = page.document.capture, page.view.scene.tree
    row = tree.get(STREAM)
    assert row is not None
    start, stop = capture.event_times(capture.rows_in(np.array(row.lanes), 0, 100 * MS))
    for moment in range(0, 100 * MS, 777_777):
        found = gap_at(capture, row, moment)
        if ((start <= moment) & (stop > moment)).any():
            assert found is None
        else:
            assert found is not None
            assert found.start_ns == max((int(end) for end in stop if end <= moment), default=0)
            assert found.stop_ns == min((int(begin) for begin in start if begin > moment), default=100 * MS)
    assert gap_at(capture, row, 100 * MS) is None
    group = tree.get("gpu/0")
    assert group is not None
    assert gap_at(capture, group, 1) is None


def test_the_gap_before_each_batch_is_the_loader_s(data_dir: Path, tmp_path: Path) -> None:
    trace = next(data_dir.glob("torch/**/resnet50_num_workers_0/*.json.gz"))
    path = tmp_path / "resnet.h5"
    assert main(["import", str(trace), "-o", str(path)]) == 0
    with open_capture(path) as capture:
        stream = next(track for track in capture.tracks if track.role == "stream")
        start = capture.event_times(np.asarray(capture.kinds["memcpy"].rows))[0]
        begin = capture.span[0] + 188_104_000
        after = int(np.asarray(capture.kinds["memcpy"].rows)[np.flatnonzero(start > begin)[0]])
        gap = Gap(
            start_ns=begin,
            stop_ns=capture.event_span(after)[0],
            key=stream.uri,
            track=stream.index,
            before=-1,
            after=after,
        )
        facts = gap_reasons(capture, gap, lambda: False)
    assert gap.stop_ns - gap.start_ns == pytest.approx(57.35e6, rel=0.01)
    assert facts[0].title == "data loading"
    assert facts[0].note in {"99 %", "100 %"}
    assert any(fact.title == "Remedy" and "workers" in fact.value for fact in facts)
    (often,) = [fact for fact in facts if fact.title == "Occurrences"]
    assert int(often.value.split()[0]) >= 1
    assert "in total" in often.note
