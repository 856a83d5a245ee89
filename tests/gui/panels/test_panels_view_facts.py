"""Details without a selected event: what the time in view went to, what was busiest, and where it leads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTreeWidgetItem
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import OpenPage, panel_of, settle
from tests.gui.sample import MS

from warpline.model.waits import OWN_THREAD
from warpline.storage import CaptureBuilder, open_capture
from warpline_app.panels.details.panel import DetailsPanel
from warpline_app.panels.facts import view_facts
from warpline_app.panels.histogram.panel import HistogramPanel
from warpline_app.window.main_window import MainWindow


def shown(panel: DetailsPanel) -> dict[str, list[QTreeWidgetItem]]:
    """The lines below each head."""
    heads = [panel.tree.topLevelItem(place) for place in range(panel.tree.topLevelItemCount())]
    lines = {}
    for head in heads:
        assert head is not None
        below = [head.child(place) for place in range(head.childCount())]
        lines[head.text(0)] = [line for line in below if line is not None]
    return lines


def test_the_view_is_told_of_until_an_event_is_selected(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state, capture = page.document.state, page.document.capture
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    assert panel.name.text() == "Visible range: 100.0 ms"
    went = shown(panel)["Time budget"]
    assert went[0].text(0).startswith("of GPU 0")
    assert went[1].text(0) == "computation"
    state.set_view(20 * MS, 40 * MS)
    qtbot.waitUntil(lambda: panel.name.text() == "Visible range: 20.00 ms", timeout=60_000)
    settle(qtbot, window)
    assert panel.facts is not None
    (events,) = (
        fact.value for section in panel.facts.sections for fact in section.facts if fact.title == "Events"
    )
    start, stop = capture.events.start, capture.events.start + capture.events.duration
    assert int(events.replace(",", "")) == np.count_nonzero((stop > 20 * MS) & (start < 40 * MS))
    state.select_range(25 * MS, 30 * MS)
    qtbot.waitUntil(lambda: panel.name.text() == "Selected range: 5.000 ms", timeout=60_000)
    assert panel.findings.isVisible()
    state.select(0)
    qtbot.waitUntil(lambda: panel.facts is not None and panel.facts.row == 0, timeout=60_000)
    state.select(None)
    qtbot.waitUntil(lambda: panel.facts is not None and panel.facts.row == -1, timeout=60_000)


def test_the_busiest_rows_lead_to_themselves(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    lines = shown(panel)["Busiest"]
    assert lines
    asked: list[str] = []
    page.document.state.row_wanted.connect(asked.append)
    panel.tree.scrollToItem(lines[0])
    place = panel.tree.visualItemRect(lines[0]).center()
    qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    (key,) = asked
    assert page.view.scene.tree.get(key) is not None, "a row of the timeline"


def test_a_view_of_very_many_events_asks_for_a_smaller_one(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_facts, "AT_MOST_EVENTS", 10)
    open_page(sample)
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    (line,) = shown(panel)["Time budget"]
    assert "zoom in" in line.text(0)


def test_a_click_on_a_title_has_details_and_histogram_tell_of_that_row(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state, capture = page.document.state, page.document.capture
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    assert len(shown(panel)["Busiest"]) == 3
    state.select_track("process/71.1/counters/memory")
    settle(qtbot, window)
    assert panel.kind.text().endswith("Memory")
    assert "Time budget" not in shown(panel), "a counter has no time of its own, and this is said to be its"
    state.select_track("process/71.1/thread/74.1")
    settle(qtbot, window)
    assert panel.kind.text().endswith("pin_memory  74")
    assert ["pin_memory" in line.text(0) for line in shown(panel)["Busiest"]] == [True]
    (events,) = (
        fact.value
        for section in panel.facts.sections  # type: ignore[union-attr]
        for fact in section.facts
        if fact.title == "Events"
    )
    assert events == "20", "its states, and nobody else's"
    histogram = panel_of(qtbot, window, "histogram", HistogramPanel)
    running = capture.strings.id("running")
    assert running is not None
    state.set_highlight((running,))
    settle(qtbot, window)
    assert histogram.spread is not None
    assert set(histogram.spread.durations.tolist()) == {7 * MS}
    state.select_track(None)
    settle(qtbot, window)
    assert set(histogram.spread.durations.tolist()) == {6 * MS, 7 * MS}


def test_the_busiest_rows_of_joined_ranks_tell_their_rank(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "ranks.h5") as builder:
        builder.set_span(0, 100 * MS)
        for rank in range(2):
            top = builder.track(f"rank/{rank}", title=f"Rank {rank}", role="rank", rank=rank)
            gpu = builder.track(
                f"rank/{rank}/gpu/0", title="GPU 0 · H100", role="gpu", parent=top, rank=rank, device=rank
            )
            stream = builder.track(
                f"rank/{rank}/gpu/0/stream/7",
                title="Stream 7",
                role="stream",
                parent=gpu,
                rank=rank,
                stream=7,
            )
            builder.add_events(stream, "kernel", [0], [(90 - rank) * MS], builder.string("gemm"))
        builder.finish()
    with open_capture(tmp_path / "ranks.h5") as capture:
        sections = view_facts.view_sections(capture, capture.span, None, lambda: False)
    (busiest,) = (section for section in sections if section.title == "Busiest")
    assert [fact.title for fact in busiest.facts] == [
        "Stream 7 · GPU 0 · Rank 0",
        "Stream 7 · GPU 0 · Rank 1",
    ]


def test_threads_of_the_recorder_are_none_of_the_busiest(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "own.h5") as builder:
        builder.set_span(0, 100 * MS)
        process = builder.add_process(71, name="python")
        for tid, name in ((71, "main"), (72, OWN_THREAD)):
            thread = builder.add_thread(process, tid, name=name)
            top = builder.track(f"process/71.1/thread/{tid}.1", title=name, role="thread", thread=thread)
            state = builder.track(
                f"process/71.1/thread/{tid}.1/state", role="state", parent=top, thread=thread, process=process
            )
            builder.add_events(state, "thread_state", [0], [50 * MS], builder.string("running"))
        builder.finish()
    with open_capture(tmp_path / "own.h5") as capture:
        sections = view_facts.view_sections(capture, capture.span, None, lambda: False)
    (busiest,) = (section for section in sections if section.title == "Busiest")
    assert [fact.title for fact in busiest.facts] == ["main"]
