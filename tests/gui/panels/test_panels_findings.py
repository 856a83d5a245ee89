"""The panel Findings: the first thing seen of a capture, its budget, its cards, the range it follows."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import LEFT, OpenPage, panel_of, pixels, settle
from tests.gui.sample import MS

from warpline.analysis.findings import diagnose as engine
from warpline.analysis.findings.finding import Diagnosis, Finding, Severity
from warpline.analysis.framework.selection import View
from warpline.model import Flag
from warpline.model.progress import Progress
from warpline.storage import CaptureBuilder
from warpline_app.look.theme import DARK
from warpline_app.look.wrapped import WrappedLabel, prose
from warpline_app.panels.findings.card import FindingCard
from warpline_app.panels.findings.panel import FindingsPanel
from warpline_app.panels.frame.host import PanelHost
from warpline_app.window.main_window import MainWindow


def findings_of(qtbot: QtBot, window: MainWindow) -> FindingsPanel:
    return panel_of(qtbot, window, "findings", FindingsPanel)


def write_threads(path: Path, *, waits_ms: int) -> Path:
    """100 ms of a thread that waits for something unknown at the end of every 20 ms."""
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 71, name="MainThread")
        above = builder.track("process/71.1", title="python", role="process", process=process)
        state = builder.track(
            "process/71.1/thread/71.1/state",
            title="State",
            role="state",
            parent=above,
            process=process,
            thread=thread,
        )
        starts = np.arange(0, 100 * MS, 20 * MS)
        builder.add_events(state, "thread_state", starts, (20 - waits_ms) * MS, builder.string("running"))
        if waits_ms:
            blocked = builder.string("blocked")
            begin = starts + (20 - waits_ms) * MS
            builder.add_events(state, "thread_state", begin, waits_ms * MS, blocked, flags=int(Flag.IDLE))
        builder.finish()
    return path


def write_ranges(path: Path) -> Path:
    """A capture that cannot tell what anything waited for."""
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        process = builder.add_process(71, name="python")
        track = builder.track("process/71.1", title="python", role="process", process=process)
        builder.add_events(track, "range", [10 * MS], [50 * MS], builder.string("step"))
        builder.finish()
    return path


def test_it_is_the_first_tab_and_in_front_of_every_capture_that_is_opened(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    open_page(sample)
    assert window.panels.bottom.specs[0].id == "findings"
    assert window.panels.is_in_front("findings")
    window.panels.show_panel("summary")
    open_page(write_threads(tmp_path / "threads.h5", waits_ms=8))
    assert window.panels.is_in_front("findings")


def test_cards_have_their_heights_at_once(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    """In a small window, too, whose cards need a scroll bar: no frame shows them squeezed."""
    window.resize(900, 480)
    open_page(write_threads(tmp_path / "threads.h5", waits_ms=8))
    panel = findings_of(qtbot, window)
    assert panel.diagnosis is not None
    assert panel.diagnosis.findings
    many = replace(panel.diagnosis, findings=panel.diagnosis.findings * 5)
    panel.show_result(panel.request(), many)
    shown = [card for card in panel.cards.cards if not card.isHidden()]
    assert shown
    assert all(card.height() >= card.heightForWidth(card.width()) for card in shown)
    assert all(above.geometry().bottom() < below.y() for above, below in pairwise(shown))
    body = panel.cards.widget()
    assert body is not None
    assert shown[-1].geometry().bottom() < body.height()


def test_a_person_who_took_it_away_is_not_shown_it_again(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    window.panels.hide_panel("findings")
    open_page(sample)
    assert not window.panels.is_shown("findings")
    assert window.panels.is_in_front("summary")


def test_the_parts_of_the_bar_are_as_long_as_their_shares(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    open_page(write_threads(tmp_path / "threads.h5", waits_ms=8))
    panel = findings_of(qtbot, window)
    bar = panel.budget.bar
    assert panel.diagnosis is not None
    assert panel.diagnosis.budget is not None
    times = {part.cause: part.time_ns for part in panel.diagnosis.budget.parts}
    assert times == {"running": 60 * MS, "blocked": 40 * MS}
    rects = bar.part_rects()
    assert sum(rect.width() for rect in rects) == bar.width()
    assert rects[0].width() == pytest.approx(0.6 * bar.width(), abs=1)
    assert pixels(bar, int(panel.theme.family("running")[1:], 16)) > 0.5 * bar.width() * bar.height()
    assert panel.budget.legend.texts()[0] == ("running", "60.0 %", "60.00 ms")
    assert "60.00 %" in bar.part_text(0)


def test_sentences_break_inside_of_names_and_nowhere_between_a_number_and_its_unit(qtbot: QtBot) -> None:
    sentence = (
        "It costs 352.4 ms of 1.066 s (33 %) in enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__."
    )
    label = WrappedLabel(sentence)
    qtbot.addWidget(label)
    assert label.text() == sentence
    shown = prose(sentence)
    assert shown.replace("\u200b", "").replace("\u00a0", " ") == sentence
    assert "(33\u00a0%)" in shown
    assert "352.4\u00a0ms" in shown
    assert max(map(len, re.split(r"[ \u200b]", shown))) <= 17


def test_a_tab_of_a_narrow_window_is_whole_or_stands_back(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    panel = findings_of(qtbot, window)
    host = next(host for host in window.findChildren(PanelHost) if host.isAncestorOf(panel))
    panel.set_badge("12")
    panel.set_scope("a scope that is far longer than what is free " * 9)
    for width in (1024, 1400, 820):
        window.resize(width, 700)
        QApplication.processEvents()
        tabs = host.tabs
        seen = [place for place in range(tabs.count()) if tabs.isTabVisible(place)]
        assert tabs.tabText(tabs.currentIndex()).endswith("12")
        assert all(tabs.tabRect(place).width() >= tabs.tabSizeHint(place).width() for place in seen)
        assert tabs.width() >= sum(tabs.tabRect(place).width() for place in seen)
        assert host.more.isVisible() == (len(seen) < tabs.count())


def test_cards_tell_what_stands_out_worst_first(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    panel = findings_of(qtbot, window)
    assert panel.diagnosis is not None
    cards = panel.cards.cards
    assert [card.finding for card in cards] == list(panel.diagnosis.findings)
    assert cards
    assert cards[0].text.text() == cards[0].finding.text
    assert cards[0].finding.remedy in cards[0].remedy.text()
    assert panel.badge == str(sum(f.severity != "note" for f in panel.diagnosis.findings) or "")
    cards[0].setFocus()
    qtbot.keyClick(cards[0], Qt.Key.Key_Down)
    assert len(cards) == 1 or cards[1].hasFocus()


def test_the_selected_range_is_diagnosed_and_what_stood_there_stays_until_then(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(write_threads(tmp_path / "threads.h5", waits_ms=8))
    panel = findings_of(qtbot, window)
    before = panel.diagnosis
    page.document.state.select_range(12 * MS, 20 * MS)
    assert panel.is_busy
    assert panel.diagnosis is before
    assert panel.budget.isVisible()
    settle(qtbot, window)
    assert panel.diagnosis is not None
    assert panel.diagnosis.budget is not None
    assert {p.cause: p.time_ns for p in panel.diagnosis.budget.parts} == {"blocked": 8 * MS}
    assert "8.000 ms" in panel.scope
    page.document.state.select_range(None)
    settle(qtbot, window)
    assert panel.diagnosis.budget is not None
    assert (panel.diagnosis.budget.start_ns, panel.diagnosis.budget.stop_ns) == (0, 100 * MS)


def test_a_click_on_a_part_of_the_bar_lights_it_and_keeps_its_findings(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(write_threads(tmp_path / "threads.h5", waits_ms=8))
    panel, state = findings_of(qtbot, window), page.document.state
    bar = panel.budget.bar
    assert panel.cards.cards

    def lit_ranges() -> list[list[int]]:
        settle(qtbot, window)
        assert state.lit is not None
        return [list(map(int, pair)) for pair in state.lit.ranges]

    running, blocked = (rect.center() for rect in bar.part_rects())
    qtbot.mouseClick(bar, LEFT, pos=blocked)
    # Blocked for 8 ms at the end of every 20 ms; the frame of the part is painted.
    assert lit_ranges() == [[at + 12 * MS, at + 20 * MS] for at in range(0, 100 * MS, 20 * MS)]
    assert pixels(bar, int(panel.theme.selection[1:], 16)) > 2 * bar.part_rects()[1].width()
    kept = [not card.isHidden() for card in panel.cards.cards]
    assert any(kept)
    qtbot.mouseClick(bar, LEFT, pos=running)
    assert lit_ranges() == [[at, at + 12 * MS] for at in range(0, 100 * MS, 20 * MS)]
    assert [not card.isHidden() for card in panel.cards.cards] == [not shown for shown in kept]
    # The others come back by the line below, by a second click, and by Escape; keys choose a part, too.
    qtbot.mouseClick(panel.cards.more, LEFT)
    assert state.lit is None
    assert not any(card.isHidden() for card in panel.cards.cards)
    bar.setFocus()
    qtbot.keyClick(bar, Qt.Key.Key_Right)
    qtbot.keyClick(bar, Qt.Key.Key_Right)
    qtbot.keyClick(bar, Qt.Key.Key_Return)
    assert len(lit_ranges()) == 5
    qtbot.mouseClick(bar, LEFT, pos=blocked)
    settle(qtbot, window)
    assert state.lit is None


def test_the_row_that_is_chosen_is_whose_time_is_told(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    panel = findings_of(qtbot, window)
    assert panel.diagnosis is not None
    assert panel.diagnosis.budget is not None
    assert panel.diagnosis.budget.waited_for.startswith("GPU 0")
    # The thread runs for 7 of every 10 ms (its state is drawn on its own row).
    page.document.state.select_track("process/71.1/thread/74.1")
    settle(qtbot, window)
    assert panel.diagnosis.budget.waited_for == "pin_memory (74)"
    assert {p.cause: p.time_ns for p in panel.diagnosis.budget.parts} == {
        "running": 70 * MS,
        "blocked": 30 * MS,
    }
    page.document.state.select_track(None)
    settle(qtbot, window)
    assert panel.diagnosis.budget.waited_for.startswith("GPU 0")


def test_a_healthy_program_is_told_so_with_its_budget(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    open_page(write_threads(tmp_path / "healthy.h5", waits_ms=0))
    panel = findings_of(qtbot, window)
    assert panel.cards.cards == []
    assert panel.cards.headline.isVisible()
    assert panel.budget.isVisible()
    assert panel.badge == ""


def test_what_cannot_tell_says_what_to_record(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    open_page(write_ranges(tmp_path / "ranges.h5"))
    panel = findings_of(qtbot, window)
    assert panel.missing.isVisible()
    assert "warpline record" in panel.missing.text()
    assert not panel.budget.isVisible()


def test_a_long_computation_tells_how_far_it_is_and_can_be_stopped(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(write_threads(tmp_path / "threads.h5", waits_ms=8))
    panel = findings_of(qtbot, window)
    diagnose = engine.diagnose

    def endless(view: View, progress: Progress) -> Diagnosis:
        progress(0.25, "reading")
        while True:
            view.check_cancelled()

    monkeypatch.setattr(engine, "diagnose", endless)
    page.document.state.select_range(0, 30 * MS)
    qtbot.waitUntil(panel.watch.isVisible, timeout=60_000)
    qtbot.waitUntil(lambda: panel.progress_bar.value() == 250, timeout=60_000)
    qtbot.mouseClick(panel.stop, LEFT)
    settle(qtbot, window)
    assert panel.watch.isVisible()
    monkeypatch.setattr(engine, "diagnose", diagnose)
    qtbot.mouseClick(panel.stop, LEFT)
    qtbot.waitUntil(lambda: not panel.watch.isVisible(), timeout=60_000)
    assert panel.diagnosis is not None
    assert panel.diagnosis.budget is not None
    assert panel.diagnosis.budget.stop_ns == 30 * MS


def test_a_finding_whose_time_stands_under_other_causes_shows_no_share(qtbot: QtBot) -> None:
    for time_ns in (0, 20 * MS):
        found = Finding(
            id="slow_steps", severity=Severity.NOTE, title="Long steps", text="2 steps are longer.",
            time_ns=time_ns, share=time_ns / (100 * MS), gain_ns=20 * MS, remedy="Compare.",
        )  # fmt: skip
        card = FindingCard(found, 100 * MS, DARK)
        qtbot.addWidget(card)
        assert card.share.isHidden() == (time_ns == 0)
        assert "20.00 ms" in card.gain.text()
