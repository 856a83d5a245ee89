"""Panels: where they are, what they say of the selected event and range, tables over numpy columns."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot
from tests.gui.sample import COPY, GEMM, KERNELS, MS
from tests.unit.effort import rounds

from warpline.storage import Capture, open_capture
from warpline_app.panels.details.panel import DetailsPanel
from warpline_app.panels.events import panel as events_module
from warpline_app.panels.events.panel import EventsPanel
from warpline_app.panels.events.query import Query, capture_starts, rows_of
from warpline_app.panels.facts.event_facts import event_facts, format_bytes
from warpline_app.panels.frame.registry import all_panels
from warpline_app.panels.sources.panel import SourcesPanel
from warpline_app.panels.table.content import sorted_order, text_ranks
from warpline_app.session.messages import Messages
from warpline_app.session.timeline_state import Filter
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

OpenPage = Callable[[Path], CapturePage]
LEFT = Qt.MouseButton.LeftButton
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def capture(sample: Path) -> Capture:
    return open_capture(sample)


def kernel(capture: Capture, number: int) -> int:
    return int(capture.kinds["kernel"].rows[number])


def facts_of(capture: Capture, row: int) -> dict[str, dict[str, str]]:
    return {
        section.title: {fact.title: fact.value for fact in section.facts}
        for section in event_facts(capture, row).sections
    }


# -- facts ------------------------------------------------------------------------------------------------------


def test_facts_of_a_kernel_have_units_and_say_what_is_missing(capture: Capture) -> None:
    facts = facts_of(capture, kernel(capture, 4))  # the fifth kernel: number 5 of 40, one copy before it
    assert facts[""] == {
        "Start": "20.000000 ms",
        "Duration": "1.05000 ms",
        "End": "21.050000 ms",
        "After launch": "200.0 µs",
    }
    assert facts["Where"]["Stream"] == "7"
    assert facts["Where"]["Device"] == "0  H100"
    assert facts["Kernel"]["Grid"] == "56 × 2 × 1"
    assert facts["Kernel"]["Block"] == "384 × 1 × 1"
    assert facts["Kernel"]["Registers per thread"] == "168"
    assert facts["Kernel"]["Dynamic shared memory"] == "64 KiB  (65,536)"
    assert facts["Kernel"]["Correlation id"] == "1005"
    assert "Queued" in facts["Kernel"]["Not recorded"]


def test_facts_of_a_copy_tell_direction_and_throughput(capture: Capture) -> None:
    row = int(capture.kinds["memcpy"].rows[0])  # number 3: 1 MiB in 1.03 ms
    facts = facts_of(capture, row)["Memory copy"]
    assert facts["Direction"] == "host to device"
    assert facts["Size"] == "1 MiB  (1,048,576)"
    assert facts["Throughput"] == f"{(1 << 20) / 1.03e-3 / 2**20:.4g} MiB/s"


def test_links_lead_both_ways_with_the_delay(capture: Capture) -> None:
    work = kernel(capture, 0)
    (section,) = [s for s in event_facts(capture, work).sections if s.title == "Links"]
    (fact,) = section.facts
    assert (fact.title, fact.note) == ("Launched by", "200.0 µs later")
    assert fact.row is not None
    assert capture.strings[int(capture.events.name[fact.row])] == "cudaLaunchKernel"
    (back,) = [s for s in event_facts(capture, fact.row).sections if s.title == "Links"]
    assert (back.facts[0].title, back.facts[0].row, back.facts[0].note) == (
        "Launched",
        work,
        "after 200.0 µs",
    )


def test_nesting_is_told_upwards_and_downwards(capture: Capture) -> None:
    step = next(row for row in capture.kinds["range"].rows.tolist() if name_of(capture, row) == "step 1")
    (inside,) = [s for s in event_facts(capture, step).sections if s.title.startswith("Contains")]
    assert inside.title == "Contains 4 events"
    assert (inside.facts[0].title, inside.facts[0].value) == ("Own time", "4.00000 ms")
    assert {fact.note for fact in inside.facts[1:]} == {"20 %"}
    child = inside.facts[1].row
    assert child is not None
    (above,) = [s for s in event_facts(capture, child).sections if s.title == "Inside of"]
    assert [fact.row for fact in above.facts] == [step]


def name_of(capture: Capture, row: int) -> str:
    return capture.strings[int(capture.events.name[row])]


def test_every_event_of_the_capture_has_facts(capture: Capture) -> None:
    for row in range(len(capture.events)):
        facts = event_facts(capture, row)
        assert facts.kind_title
        assert facts.sections[0].facts
    with pytest.raises(IndexError):
        event_facts(capture, len(capture.events))


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (9_999, "9,999 B"), (10_240, "10 KiB"), (1 << 40, "1 TiB"), (3 << 42, "12 TiB")],
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert format_bytes(size) == text


# -- details ----------------------------------------------------------------------------------------------------


def test_clicking_an_event_shows_it_and_its_links_lead_on(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state, capture = page.document.state, page.document.capture
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    assert panel.hint.isVisible()
    state.set_view(12 * MS, 13 * MS)
    state.select(kernel(capture, 1))
    qtbot.waitUntil(lambda: panel.facts is not None, timeout=2_000)
    assert panel.name.toolTip() == GEMM
    tree = panel.tree
    heads = [tree.topLevelItem(index) for index in range(tree.topLevelItemCount())]
    links = next(item for item in heads if item is not None and item.text(0) == "Links")
    line = links.child(0)
    assert line is not None
    tree.scrollToItem(line)
    where = tree.visualItemRect(line).center()
    qtbot.mouseClick(tree.viewport(), LEFT, pos=where)
    assert state.selection is not None
    assert name_of(capture, state.selection) == "cudaLaunchKernel"
    start, stop = capture.event_span(state.selection)
    assert state.view[0] <= start
    assert stop <= state.view[1]
    qtbot.waitUntil(lambda: panel.facts is not None and panel.facts.row == state.selection, timeout=2_000)
    tree.clearSelection()
    qtbot.keyClick(tree, Qt.Key.Key_C, CONTROL)
    assert "Start\t" in QGuiApplication.clipboard().text()


def test_the_details_follow_another_origin(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    page.document.state.select(kernel(page.document.capture, 0))
    page.document.state.set_origin(9 * MS)
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    qtbot.waitUntil(lambda: panel.facts is not None, timeout=2_000)
    assert panel.facts is not None
    assert panel.facts.sections[0].facts[0].value.startswith("1")


# -- events -----------------------------------------------------------------------------------------------------


def events_panel(qtbot: QtBot, window: MainWindow) -> EventsPanel:
    window.panels.show_panel("events")
    panel = window.panels.panel("events")
    assert isinstance(panel, EventsPanel)
    qtbot.waitUntil(lambda: panel.is_settled and panel.table.model_.rowCount() > 0, timeout=5_000)
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
    qtbot.waitUntil(lambda: page.view.is_idle, timeout=5_000)
    assert model.items_shown().tolist() == shown


def test_a_range_a_filter_and_a_kind_narrow_the_events(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state, capture = page.document.state, page.document.capture
    panel = events_panel(qtbot, window)
    state.select_range(10 * MS, 20 * MS)
    qtbot.waitUntil(lambda: panel.is_settled and "selected range" in panel.scope, timeout=5_000)
    assert "10.00 ms" in panel.scope
    begin, end = capture.event_times(np.arange(len(capture.events)))
    assert panel.table.model_.rowCount() == int(np.count_nonzero((begin < 20 * MS) & (end > 10 * MS)))
    panel.kind.setCurrentIndex(panel.kind.findData("kernel"))
    qtbot.waitUntil(lambda: panel.is_settled and len(panel.table.model_.columns) > 5, timeout=5_000)
    titles = [column.title for column in panel.table.model_.columns]
    assert "Registers per thread" in titles
    assert "Kind" not in titles
    assert "Queued" not in titles  # recorded for none
    assert panel.table.model_.rowCount() == 4  # numbers 0, 1, 2 and 4; 3 is a copy, 5 starts at 20 ms
    state.select_range(None)
    state.change_filter(names=COPY)
    panel.kind.setCurrentIndex(0)
    qtbot.waitUntil(lambda: panel.is_settled and panel.table.model_.rowCount() == KERNELS // 4, timeout=5_000)


def test_typing_a_name_filters_the_table_alone(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    panel = events_panel(qtbot, window)
    qtbot.keyClicks(panel.search, "/layer [0-1]/")
    qtbot.waitUntil(lambda: panel.is_settled and panel.table.model_.rowCount() == 8, timeout=5_000)
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
    qtbot.waitUntil(lambda: panel.is_settled and panel.table.model_.rowCount() == 10, timeout=5_000)
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
    with qtbot.waitSignal(job.succeeded, timeout=5_000):
        pass
    with target.open(newline="") as file:
        table = list(csv.DictReader(file))
    capture = page.document.capture
    assert [int(line["Start"]) for line in table] == capture.events.start[
        capture.kinds["memcpy"].rows
    ].tolist()


def test_ten_million_rows_are_shown_at_once(qtbot: QtBot) -> None:
    from warpline_app.panels.table.content import TableColumn, TableContent
    from warpline_app.panels.table.table import Table

    values = np.arange(10_000_000)[::-1]
    table = Table(Messages())
    qtbot.addWidget(table)
    table.resize(400, 300)
    table.set_content(
        TableContent(
            [TableColumn("N", lambda item: f"{values[item]:,}", lambda: values, is_number=True)], len(values)
        )
    )
    table.show()
    assert table.model_.rowCount() == 10_000_000
    with qtbot.waitSignal(table.sorted_changed, timeout=20_000):
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
    assert "ordered by track" in panel.note.text()


@settings(max_examples=rounds(30))
@given(st.integers(0, 110), st.integers(0, 110))
def test_rows_of_a_range_are_those_a_loop_finds(sample: Path, low: int, high: int) -> None:
    capture = open_capture(sample)
    low, high = sorted((low, high))
    rows = rows_of(capture, Query(range_ns=(low * MS, high * MS + 1)))
    assert rows is not None
    expected = [
        row
        for row in range(len(capture.events))
        if capture.event_span(row)[0] < high * MS + 1 and capture.event_span(row)[1] > low * MS
    ]
    assert sorted(rows.tolist()) == expected


def test_a_kind_filter_of_the_state_is_obeyed(capture: Capture) -> None:
    rows = rows_of(capture, Query(filter=Filter(kinds=frozenset({"kernel", "memcpy"}))))
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


# -- sources and places -------------------------------------------------------------------------------------------


def test_what_is_not_recorded_is_said_with_reason_and_remedy(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    window.panels.show_panel("sources")
    panel = window.panels.panel("sources")
    assert isinstance(panel, SourcesPanel)
    qtbot.waitUntil(lambda: panel.is_settled, timeout=2_000)
    from PySide6.QtWidgets import QLabel

    texts = [label.text() for label in panel.findChildren(QLabel)]
    assert "no NVIDIA driver\ninstall the driver" in texts
    assert "the clock was set back once" in texts
    assert "python train.py" in texts
    assert panel.badge == "2"


def test_panels_come_go_and_move(qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path) -> None:
    open_page(sample)
    panels = window.panels
    for spec in all_panels():
        panels.show_panel(spec.id)
        assert panels.is_in_front(spec.id)
        assert panels.panel(spec.id) is not None
    panels.show_panel("events", "right")
    assert [spec.id for spec in panels.right.specs] == ["details", "events"]
    for spec in all_panels():
        panels.hide_panel(spec.id)
    assert not panels.bottom.isVisible()
    assert not panels.right.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_2, CONTROL)
    assert panels.is_in_front("events")
    assert panels.right.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_2, CONTROL)
    assert not panels.right.isVisible()


def test_panels_are_kept_per_capture(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    first = open_page(sample)
    first.document.state.select(3)
    one = window.panels.panel("details")
    open_page(Path(shutil.copy(sample, tmp_path / "b.h5")))
    qtbot.waitUntil(lambda: window.panels.panel("details") is not one, timeout=5_000)
    window.tabs.setCurrentWidget(first)
    qtbot.waitUntil(lambda: window.panels.panel("details") is one, timeout=5_000)


def test_a_panel_floats_in_a_window_of_its_own_and_comes_back(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    panels = window.panels
    panels.show_panel("events", "float")
    assert "events" not in [spec.id for spec in panels.bottom.specs]
    panel = panels.panel("events")
    assert isinstance(panel, EventsPanel)
    frame = panel.window()
    assert frame is not window
    qtbot.waitUntil(lambda: panels.is_settled and panel.table.model_.rowCount() > 0, timeout=5_000)
    # It is linked as it was in the window.
    page.document.state.select_range(10 * MS, 30 * MS)
    qtbot.waitUntil(lambda: "in the selected range" in panel.scope, timeout=5_000)
    panel.table.selectRow(0)
    assert page.document.state.selection == panel.table.current_item()
    # Its place is remembered; closing it hides the panel, showing it makes it float again.
    saved = panels.save()
    assert list(saved["float"]) == ["events"]
    frame.close()
    assert not panels.is_shown("events")
    panels.show_panel("events")
    assert panels.panel("events").window() is not window  # type: ignore[union-attr]  # it was just shown
    panels.show_panel("events", "bottom")
    qtbot.waitUntil(lambda: isinstance(panels.panel("events"), EventsPanel), timeout=5_000)
    assert panels.panel("events").window() is window  # type: ignore[union-attr]  # it was just shown
    panels.restore(saved)
    assert panels.is_shown("events")
    assert "events" not in [spec.id for spec in panels.bottom.specs]


def test_a_tab_that_is_dragged_out_of_its_row_goes_where_it_is_let_go(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    panels = window.panels

    def drag(panel_id: str, target: QPoint) -> None:
        tabs = panels.bottom.tabs
        place = [spec.id for spec in panels.bottom.specs].index(panel_id)
        start = tabs.tabRect(place).center()
        qtbot.mousePress(tabs, LEFT, pos=start)
        qtbot.mouseMove(tabs, start + QPoint(0, 8))
        qtbot.mouseMove(tabs, tabs.mapFromGlobal(target))
        qtbot.mouseRelease(tabs, LEFT, pos=tabs.mapFromGlobal(target))

    inside = panels.widget
    drag("steps", inside.mapToGlobal(QPoint(inside.width() - 40, 60)))
    qtbot.waitUntil(lambda: [spec.id for spec in panels.right.specs] == ["details", "steps"], timeout=2_000)
    drag("memory", inside.mapToGlobal(QPoint(80, 60)))
    qtbot.waitUntil(lambda: list(panels.save()["float"]) == ["memory"], timeout=2_000)
    # Nothing but the three areas is left of the drag.
    assert inside.count() == 2
