"""The table of events: which it lists, how it is sorted, what is copied from it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import CONTROL, LEFT, OpenPage, kernel
from tests.gui.sample import COPY, KERNELS, MS
from tests.unit.effort import rounds

from warpline.storage import Capture, open_capture
from warpline_app.open.messages import MessageList
from warpline_app.panels.events import panel as events_module
from warpline_app.panels.events.panel import EventsPanel
from warpline_app.panels.events.query import EventQuery, capture_starts, rows_of
from warpline_app.panels.table.content import sorted_order, text_ranks
from warpline_app.state.timeline_state import Filter
from warpline_app.window.main_window import MainWindow


def events_panel(qtbot: QtBot, window: MainWindow) -> EventsPanel:
    window.panels.show_panel("events")
    panel = window.panels.panel("events")
    assert isinstance(panel, EventsPanel)
    qtbot.waitUntil(lambda: panel.is_settled and panel.table.model_.rowCount() > 0, timeout=60_000)
    return panel


def test_events_are_listed_by_time_and_keep_their_place_when_zooming(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    panel = events_panel(qtbot, window)
    model, capture = panel.table.model_, page.document.capture
    assert model.rowCount() == len(capture.events) == 140
    starts = [capture.event_span(model.item(row))[0] for row in range(140)]
    assert starts == sorted(starts)
    assert panel.scope == "140 events in the whole capture"
    shown = model.items_shown().tolist()
    page.document.state.set_view(0, 5 * MS)
    qtbot.waitUntil(lambda: page.view.is_idle, timeout=60_000)
    assert model.items_shown().tolist() == shown


def test_a_range_a_filter_and_a_kind_narrow_the_events(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state, capture = page.document.state, page.document.capture
    panel = events_panel(qtbot, window)
    state.select_range(10 * MS, 20 * MS)
    qtbot.waitUntil(lambda: panel.is_settled and "selected range" in panel.scope, timeout=60_000)
    assert "10.00 ms" in panel.scope
    begin, end = capture.event_times(np.arange(len(capture.events)))
    assert panel.table.model_.rowCount() == int(np.count_nonzero((begin < 20 * MS) & (end > 10 * MS)))
    panel.kind.setCurrentIndex(panel.kind.findData("kernel"))
    qtbot.waitUntil(lambda: panel.is_settled and len(panel.table.model_.columns) > 5, timeout=60_000)
    titles = [column.title for column in panel.table.model_.columns]
    assert "Registers per thread" in titles
    assert "Kind" not in titles
    assert "Entered the queue" not in titles  # recorded for none
    assert panel.table.model_.rowCount() == 4  # numbers 0, 1, 2 and 4; 3 is a copy, 5 starts at 20 ms
    state.select_range(None)
    state.change_filter(names=COPY)
    panel.kind.setCurrentIndex(0)
    qtbot.waitUntil(
        lambda: panel.is_settled and panel.table.model_.rowCount() == KERNELS // 4, timeout=60_000
    )


def test_typing_a_name_filters_the_table_alone(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    panel = events_panel(qtbot, window)
    qtbot.keyClicks(panel.search, "/layer [0-1]/")
    qtbot.waitUntil(lambda: panel.is_settled and panel.table.model_.rowCount() == 8, timeout=60_000)
    assert page.document.state.filter.is_empty


def test_table_and_timeline_select_together(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state = page.document.state
    panel = events_panel(qtbot, window)
    row = kernel(page.document.capture, 7)
    state.select(row)
    assert panel.table.current_item() == row
    table = panel.table
    index = table.model_.index(table.currentIndex().row() + 1, 0)
    qtbot.mouseClick(table.viewport(), LEFT, pos=table.visualRect(index).center())
    assert state.selection == table.model_.item(index.row()) != row
    state.set_view(0, MS)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    start, _stop = page.document.capture.event_span(state.selection)
    assert state.view[0] <= start < state.view[1]


def test_a_click_on_a_header_sorts_and_turns_round(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    panel = events_panel(qtbot, window)
    header = panel.table.horizontalHeader()
    durations = page.document.capture.events.duration
    middle = header.sectionViewportPosition(1) + header.sectionSize(1) // 2
    for expected in (sorted(durations.tolist(), reverse=True), sorted(durations.tolist())):
        qtbot.mouseClick(header.viewport(), LEFT, pos=QPoint(middle, 8))
        assert [int(durations[item]) for item in panel.table.model_.items_shown()] == expected


def test_rows_are_copied_as_tsv_and_exported(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    page = open_page(sample)
    panel = events_panel(qtbot, window)
    panel.kind.setCurrentIndex(panel.kind.findData("memcpy"))
    qtbot.waitUntil(lambda: panel.is_settled and panel.table.model_.rowCount() == 10, timeout=60_000)
    panel.table.setFocus()
    panel.table.selectRow(0)
    qtbot.keyClick(panel.table, Qt.Key.Key_C, CONTROL)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 2
    row = dict(zip(lines[0].split("\t"), lines[1].split("\t"), strict=True))
    assert (row["Start"], row["Duration"], row["Name"]) == (str(16 * MS), "1030000", COPY)
    assert (row["Size"], row["Direction"]) == (str(1 << 20), "host to device")
    target = tmp_path / "events.csv"
    job = panel.table.export(target)
    with qtbot.waitSignal(job.succeeded, timeout=60_000):
        pass
    with target.open(newline="") as file:
        table = list(csv.DictReader(file))
    capture = page.document.capture
    assert [int(line["Start"]) for line in table] == capture.events.start[
        capture.kinds["memcpy"].rows
    ].tolist()


@pytest.mark.parametrize("dtype", [np.int64, np.uint32])
def test_an_item_among_ascending_ones_is_found_as_among_any(dtype: npt.DTypeLike) -> None:
    from warpline_app.panels.table.content import TableContent
    from warpline_app.panels.table.item_model import TableModel

    rng = np.random.default_rng(4)
    for count in (0, 1, 2, 30):
        items: npt.NDArray[np.integer] = np.unique(rng.integers(0, 40, count)).astype(dtype)
        found = []
        for is_ascending in (True, False):
            model = TableModel()
            model.set_content(TableContent((), 40, items, is_ascending))
            found.append([model.row_of(item) for item in range(-1, 42)])
        assert found[0] == found[1]
        assert [row for row in found[0] if row >= 0] == list(range(len(items)))


def test_ten_million_rows_are_shown_at_once(qtbot: QtBot) -> None:
    from warpline_app.panels.table.content import TableColumn, TableContent
    from warpline_app.panels.table.table import PanelTable

    values = np.arange(10_000_000)[::-1]
    table = PanelTable(MessageList())
    qtbot.addWidget(table)
    table.resize(400, 300)
    table.set_content(
        TableContent(
            [TableColumn("N", lambda item: f"{values[item]:,}", sort_values=lambda: values, is_number=True)],
            len(values),
        )
    )
    table.show()
    assert table.model_.rowCount() == 10_000_000
    with qtbot.waitSignal(table.sorted_changed, timeout=60_000):
        table.sort_by(0, descending=False)
    assert table.model_.item(0) == 9_999_999
    table.scrollToBottom()
    assert table.model_.data(table.model_.index(9_999_999, 0)) == "9,999,999"


def test_large_captures_are_not_sorted_unasked(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "SORT_BY_TIME_UP_TO", 100)
    open_page(sample)
    panel = events_panel(qtbot, window)
    assert panel.table.model_.items_shown().tolist() == list(range(140))
    assert "sorted by track" in panel.note.text()


@settings(max_examples=rounds(30))
@given(st.integers(0, 110), st.integers(0, 110))
def test_rows_of_a_range_are_those_a_loop_finds(sample: Path, low: int, high: int) -> None:
    capture = open_capture(sample)
    low, high = sorted((low, high))
    rows = rows_of(capture, EventQuery(range_ns=(low * MS, high * MS + 1)))
    assert rows is not None
    expected = [
        row
        for row in range(len(capture.events))
        if capture.event_span(row)[0] < high * MS + 1 and capture.event_span(row)[1] > low * MS
    ]
    assert sorted(rows.tolist()) == expected


def test_a_kind_filter_of_the_state_is_obeyed(capture: Capture) -> None:
    rows = rows_of(capture, EventQuery(filter=Filter(kinds=frozenset({"kernel", "memcpy"}))))
    assert rows is not None
    assert len(rows) == KERNELS
    assert capture_starts(capture, rows).min() == 10 * MS


@given(st.lists(st.one_of(st.integers(-5, 5).map(float), st.just(float("nan"))), max_size=40), st.booleans())
def test_sorting_is_stable_and_puts_missing_values_last(values: list[float], descending: bool) -> None:
    array = np.array(values, float)
    order = sorted_order(array, None, descending).tolist()
    present = [i for i in range(len(values)) if values[i] == values[i]]
    expected = sorted(present, key=lambda i: -values[i] if descending else values[i])
    missing = [i for i in range(len(values)) if values[i] != values[i]]
    assert order[: len(expected)] == expected
    assert sorted(order[len(expected) :]) == missing


def test_texts_are_ranked_as_people_order_them() -> None:
    assert text_ranks(["b", "A", "a", "C"]).tolist() == [2, 0, 1, 3]
