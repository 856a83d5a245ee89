"""Why a thread waits, and the way from there to the line of the file: clicks and keys in the window."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QPushButton, QTreeWidgetItem
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import CONTROL, LEFT, OpenPage, cells, panel_of, pixels, settle, summary_of
from tests.gui.wait_sample import FIGHTERS, MS, SOURCE, write_wait_sample

from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline_app.panels.details.panel import DetailsPanel
from warpline_app.panels.findings.card import FindingCard
from warpline_app.panels.findings.panel import FindingsPanel
from warpline_app.panels.flame.panel import FlamePanel
from warpline_app.panels.source.panel import SourcePanel
from warpline_app.panels.source.reading import read_source
from warpline_app.timeline.model.event_text import describe_event
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "fight.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def page(open_page: OpenPage, tmp_path: Path, source: Path) -> CapturePage:
    return open_page(write_wait_sample(tmp_path / "fight.h5", source))


def row_at(capture: Capture, tid: int, role: str, ms: int) -> int:
    track = capture.track(f"{FIGHTERS.format(tid)}/{role}")
    row = capture.event_at(capture.track_lanes(track.index)[0], ms * MS)
    assert row is not None
    return row


def select(qtbot: QtBot, window: MainWindow, page: CapturePage, ms: int) -> DetailsPanel:
    page.document.state.select(row_at(page.document.capture, 72, "state", ms))
    settle(qtbot, window)
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    return panel


def facts(panel: DetailsPanel, section: str = "Reason for the wait") -> dict[str, str]:
    assert panel.facts is not None
    return {
        fact.title: fact.value
        for part in panel.facts.sections
        if part.title == section
        for fact in part.facts
    }


def click(qtbot: QtBot, panel: DetailsPanel, section: str, title: str) -> None:
    tree = panel.tree
    heads = [tree.topLevelItem(number) for number in range(tree.topLevelItemCount())]
    head = next(item for item in heads if item is not None and item.text(0) == section)
    lines = [head.child(number) for number in range(head.childCount())]
    line = next(
        item for item in lines if isinstance(item, QTreeWidgetItem) and item.text(0).startswith(title)
    )
    tree.scrollToItem(line)
    rect = tree.visualItemRect(line)
    qtbot.mouseClick(tree.viewport(), LEFT, pos=QPoint(tree.header().sectionSize(0) + 12, rect.center().y()))


def test_details_answer_why_and_lead_to_whoever_ended_the_wait(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = select(qtbot, window, page, 20)
    assert facts(panel) == {
        "Waited for": "lock, held by fighter-2 (73)",
        "At line": "fight.py:3 in fight",
        "Held by": "fighter-2 (73)",
        "Ended by": "fighter-2 (73)",
        "at line": "fight.py:4",
        "During the call": "sem_wait   20.00 ms",
        "On this thread": "1 time, 20.00 ms",
        "In the capture": "3 times, 44.00 ms",
    }
    click(qtbot, panel, "Reason for the wait", "Ended by")
    state, capture = page.document.state, page.document.capture
    assert state.selection is not None
    assert capture.strings[int(capture.events.name[state.selection])] == "release"
    assert capture.tracks[capture.track_of_row(state.selection)].uri == f"{FIGHTERS.format(73)}/osrt"


def test_details_say_which_source_would_tell(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    told = facts(select(qtbot, window, page, 72))
    assert set(told) == {"Unknown", "To find out"}
    assert facts(select(qtbot, window, page, 5)) == {}


def test_ranges_tell_what_their_thread_did(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    capture, state = page.document.capture, page.document.state
    row = row_at(capture, 73, "ranges", 20)
    state.select(row)
    settle(qtbot, window)
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    assert facts(panel, "Thread states") == {"Running": "22.00 ms"}
    assert "Running 22.0 ms" in describe_event(capture, row, 0).lines
    table = cells(summary_of(qtbot, window, "range_states"))
    assert table[0][0] == "holds the lock"


def test_a_click_on_a_line_shows_it_in_its_file(
    qtbot: QtBot, window: MainWindow, page: CapturePage, source: Path
) -> None:
    panel = select(qtbot, window, page, 20)
    click(qtbot, panel, "Reason for the wait", "At line")
    settle(qtbot, window)
    shown = window.panels.panel("source")
    assert isinstance(shown, SourcePanel)
    assert shown.code.line == 3
    assert shown.code.toPlainText() == SOURCE.rstrip("\n")
    assert shown.code.textCursor().block().text() == "        with LOCK:"
    assert "does not record when the program ran" in shown.note.text()
    assert shown.code.times[3].waiting_ns == 44 * MS
    assert str(source) in shown.scope
    # The bar of the line that waits for the lock is seen in the gutter, and what it says.
    top = next(top for number, top, _height in shown.code.visible_lines() if number == 3)
    assert shown.code.tip_at(top + 2) == "waited 44.00 ms in 3 waits, mostly lock · 5 samples on a core"
    assert pixels(shown.code.gutter, shown.theme.rgb("selection")) > 10


def test_a_key_shows_the_line_of_the_selected_event(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    state = page.document.state
    state.select(row_at(page.document.capture, 72, "state", 60))
    qtbot.keyClick(page.view, Qt.Key.Key_U, CONTROL)
    settle(qtbot, window)
    shown = window.panels.panel("source")
    assert isinstance(shown, SourcePanel)
    assert shown.code.line == 5
    # The next lines with time, round the end.
    qtbot.mouseClick(shown.next, LEFT)
    assert shown.code.line == 8
    qtbot.mouseClick(shown.next, LEFT)
    assert shown.code.line == 3
    state.select(row_at(page.document.capture, 72, "state", 5))
    assert (
        window.commands.commands["event.source"].refusal(window.context)
        == "This event has no stack with a source line"
    )


def test_time_beside_lines_follows_the_range(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    shown = panel_of(qtbot, window, "source", SourcePanel)
    # Nobody asked for a file: the one that costs most, at its costliest line.
    assert shown.files.currentText() == "fight.py"
    assert shown.code.line == 3
    page.document.state.select_range(5 * MS, 15 * MS)
    settle(qtbot, window)
    assert shown.code.times[3].waiting_ns == 5 * MS
    assert 5 not in shown.code.times


def test_a_file_that_is_gone_or_changed_is_told(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path, source: Path
) -> None:
    path = write_wait_sample(tmp_path / "timed.h5", source, start_utc_ns=2_000_000_000 * 10**9)
    open_page(path)
    shown = panel_of(qtbot, window, "source", SourcePanel)
    assert shown.note.text() == "unchanged since the recording"
    os.utime(source, ns=(2_100_000_000 * 10**9,) * 2)
    shown.forget()
    settle(qtbot, window)
    assert "after this recording" in shown.note.text()
    source.unlink()
    shown.forget()
    settle(qtbot, window)
    assert not shown.code.isVisible()
    assert "No such file" in shown.missing.text()
    assert "line 3 in fight: waited 44.00 ms in 3 waits" in shown.missing.text()


def test_waits_are_named_by_their_places_in_the_table_and_the_chart(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = summary_of(qtbot, window, "waits")
    keys = [column.key for column in panel.table.model_.columns]
    assert keys[:3] == ["place", "ratio", "name"]
    place, reason = panel.table.model_.columns[0], panel.table.model_.columns[2]
    assert place.text(0) == "Lock.acquire · threading.py:327"
    parts = panel.shares.parts
    assert parts[0].name == place.text(0)
    assert parts[0].note == reason.text(0) == "lock"
    # Both are searched.
    for text in ("lock", "threading"):
        panel.table.set_search(text)
        assert panel.table.model_.rowCount() > 0
    panel.table.set_search("no such place")
    assert panel.table.model_.rowCount() == 0


def test_places_in_tables_of_waits_lead_to_the_source(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = summary_of(qtbot, window, "lock_contention")
    table = panel.table
    section = next(i for i, c in enumerate(table.model_.columns) if c.key == "holder_place")
    index = table.model_.index(0, section)
    table.scrollTo(index)
    qtbot.mouseClick(table.viewport(), LEFT, pos=table.visualRect(index).center())
    settle(qtbot, window)
    shown = window.panels.panel("source")
    assert isinstance(shown, SourcePanel)
    assert shown.code.line == 4


def test_captures_without_stacks_say_what_to_record(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    shown = panel_of(qtbot, window, "source", SourcePanel)
    assert "--trace osrt,python" in shown.missing.text()
    assert shown.missing.isVisible()


def test_a_box_of_the_flame_graph_leads_to_its_line_and_a_double_click_zooms(
    qtbot: QtBot, window: MainWindow, page: CapturePage
) -> None:
    panel = panel_of(qtbot, window, "flame", FlamePanel)
    assert panel.source.currentData() == "merged"
    panel.source.setCurrentIndex(panel.source.findData("reasons"))
    settle(qtbot, window)
    flame, view = panel.view.flame, panel.view
    assert flame is not None
    titles = [flame.text(page.document.capture, box) for box in range(len(flame))]
    assert pixels(view, view.theme.rgb("wait_lock")) > 100
    box = next(number for number, title in enumerate(titles) if title.endswith(":3)"))
    qtbot.mouseDClick(view, LEFT, pos=view.rect_of(box).center())
    assert view.zoomed == box
    with qtbot.waitSignal(page.document.state.source_wanted, timeout=60_000):
        qtbot.mouseClick(view, LEFT, pos=view.rect_of(box).center())
    settle(qtbot, window)
    shown = window.panels.panel("source")
    assert isinstance(shown, SourcePanel)
    assert shown.code.line == 3


def test_a_finding_leads_to_the_line_it_is_about(qtbot: QtBot, window: MainWindow, page: CapturePage) -> None:
    panel = panel_of(qtbot, window, "findings", FindingsPanel)
    cards = [card for card in panel.findChildren(FindingCard) if card.finding.where.file.endswith("fight.py")]
    assert cards
    line = cards[0].finding.where.line
    (button,) = [b for b in cards[0].tools.findChildren(QPushButton) if b.text() == "Source"]
    qtbot.mouseClick(cards[0], LEFT)
    qtbot.mouseClick(button, LEFT)
    settle(qtbot, window)
    shown = window.panels.panel("source")
    assert isinstance(shown, SourcePanel)
    assert shown.code.line == line


def test_lines_are_counted_as_python_counts_them(tmp_path: Path) -> None:
    script = tmp_path / "pages.py"
    script.write_bytes(b"first = 1\n\x0c\nthird = '\\x1c\xe2\x80\xa8'\r\nfourth = 4\n")
    with CaptureBuilder(tmp_path / "run.h5") as builder:
        builder.set_span(0, 1)
        builder.finish()
    with open_capture(tmp_path / "run.h5") as capture:
        lines = read_source(capture, str(script)).lines
    assert lines is not None
    assert len(lines) == 4
    assert lines[3] == "fourth = 4"


@pytest.fixture
def fake_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ``ssh`` whose hosts are all this machine."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "ssh").write_text('#!/bin/sh\nfor line; do :; done\nexec sh -c "$line"\n')
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.skipif(sys.platform != "linux", reason="the other machine is a Linux machine")
@pytest.mark.usefixtures("fake_ssh")
def test_a_file_of_another_machine_is_fetched_from_there_when_asked_for(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path, source: Path
) -> None:
    page = open_page(write_wait_sample(tmp_path / "far.h5", source, 2_000_000_000 * 10**9, reached_as="box"))
    shown = panel_of(qtbot, window, "source", SourcePanel)
    # There is a file of that name here, too.
    assert not shown.code.isVisible()
    assert f"{source} is on box" in shown.missing.text()
    assert shown.fetch.text() == "Fetch from box"
    qtbot.mouseClick(shown.fetch, LEFT)
    settle(qtbot, window)
    assert shown.code.toPlainText() == SOURCE.rstrip("\n")
    assert shown.note.text() == "from box · unchanged since the recording"
    assert not shown.fetch.isVisible()
    # Another range does not ask the machine again.
    source.unlink()
    page.document.state.select_range(5 * MS, 15 * MS)
    settle(qtbot, window)
    assert shown.code.times[3].waiting_ns == 5 * MS
    shown._fetched.clear()
    shown.forget()
    settle(qtbot, window)
    assert "No such file" in shown.missing.text()


@pytest.mark.parametrize("name", ["docker exec -i box", "-oProxyCommand=x", "box/../x"])
def test_what_a_file_names_as_its_machine_is_no_command(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path, source: Path, name: str
) -> None:
    open_page(write_wait_sample(tmp_path / "far.h5", source, reached_as=name))
    shown = panel_of(qtbot, window, "source", SourcePanel)
    assert "only from ssh hosts" in shown.missing.text()
    assert not shown.fetch.isVisible()
