"""A chosen card lights its evidence up; its instances are walked, its chain explained; it can be dismissed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot
from tests.gui.panels.finding_sample import known_diagnosis, states_of
from tests.gui.panels.panel_tools import LEFT, OpenPage, panel_of, settle
from tests.gui.sample import MS

from warpline.analysis.findings import diagnose as engine
from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.framework.selection import View
from warpline.model.progress import Progress, unwatched
from warpline_app.panels.findings.card import FindingCard
from warpline_app.panels.findings.explanation import Explanation
from warpline_app.panels.findings.panel import FindingsPanel
from warpline_app.remembered.settings import Settings
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    def diagnose(view: View, _progress: Progress = unwatched, of: str | None = None) -> Diagnosis:
        return known_diagnosis(view.capture)

    monkeypatch.setattr(engine, "diagnose", diagnose)


def first_card(qtbot: QtBot, window: MainWindow) -> FindingCard:
    panel = panel_of(qtbot, window, "findings", FindingsPanel)
    return panel.cards.cards[0]


def canvas_pixels(page: CapturePage) -> np.ndarray:
    """0xrrggbb of the canvas, of shape (height, width)."""
    image = page.view.canvas.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    data = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.bytesPerLine() // 4)
    return (data[:, : image.width()] & 0xFFFFFF).copy()


def row_pixels(page: CapturePage, pixels: np.ndarray, event: int) -> np.ndarray:
    """The part of the picture that the row of an event takes."""
    place = page.view.scene.place_of_event(event)
    assert place is not None
    top = page.view.scene.top_of(place.row)
    return pixels[top : top + place.row.height]


def test_what_a_card_rests_on_is_lit_and_all_else_gets_quieter_but_stays(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    card = first_card(qtbot, window)
    kernels = page.document.capture.kinds["kernel"].rows
    bright = page.view.canvas.renderer.theme.rgb("kernel") & 0xFFFFFF
    background = set(np.unique(canvas_pixels(page)[-3:]).tolist())
    before = row_pixels(page, canvas_pixels(page), int(kernels[0]))
    assert np.count_nonzero(before == bright) > 1000
    qtbot.mouseClick(card, LEFT)
    settle(qtbot, window)
    assert card.is_selected
    after = row_pixels(page, canvas_pixels(page), int(kernels[0]))
    assert np.count_nonzero(after == bright) == 0
    drawn = before == bright
    still = np.count_nonzero(~np.isin(after[drawn], list(background)))
    assert still > 0.9 * np.count_nonzero(drawn)
    # The ten stretches of 4 ms have an edge in the accent, nothing between them has.
    accent = page.view.canvas.theme.rgb("selection") & 0xFFFFFF
    lit = page.document.state.lit
    assert lit is not None
    band = row_pixels(page, canvas_pixels(page), int(lit.row_of_range[0]))
    columns = np.flatnonzero((band == accent).any(axis=0))
    width = page.view.scene.width_px
    assert len(columns) == pytest.approx(0.4 * width, abs=25)
    inside = (columns / width * 100) % 10
    assert ((inside > 5.7) | (inside < 0.3)).all()


def test_escape_leaves_it_and_everything_is_as_before(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    card = first_card(qtbot, window)
    before = canvas_pixels(page)
    qtbot.mouseClick(card, LEFT)
    settle(qtbot, window)
    assert (canvas_pixels(page) != before).any()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    settle(qtbot, window)
    assert page.document.state.lit is None
    assert not card.is_selected
    assert (canvas_pixels(page) == before).all()


def test_the_chain_is_drawn_from_hop_to_hop(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    card = first_card(qtbot, window)
    amber = page.view.canvas.theme.rgb("link") & 0xFFFFFF
    assert np.count_nonzero(canvas_pixels(page) == amber) == 0
    qtbot.mouseClick(card, LEFT)
    settle(qtbot, window)
    pixels = canvas_pixels(page)
    for hop in card.finding.chain:
        place = page.view.scene.place_of_event(hop.row)
        assert place is not None
        x, y = max(round(place.rect.left()), 10), round(place.rect.center().y())
        assert np.count_nonzero(pixels[y - 8 : y + 8, x - 8 : x + 8] == amber) > 40
    assert np.count_nonzero(pixels == amber) > 300


def test_dot_and_comma_walk_the_instances(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state = page.document.state
    card = first_card(qtbot, window)
    qtbot.mouseClick(card, LEFT)
    page.view.setFocus()
    said: list[str] = []
    window.workspace.told.connect(said.append)
    for key, number in ((".", 1), (".", 2), (".", 3), (",", 2), (",", 1), (",", 1)):
        qtbot.keyClick(page.view, key)
        assert said[-1].endswith(f"{number} of 10")
        assert state.lit is not None
        assert state.lit.instance == (10 * MS * (number - 1) + 6 * MS, 10 * MS * number)
        assert state.selection == int(state.lit.row_of_range[number - 1])
        assert card.place is not None
        assert card.place.text() == f"{number} of 10"
    state.set_view(0, 2 * MS)
    qtbot.keyClick(page.view, ".")
    low, high = state.view
    assert low <= 16 * MS < 20 * MS <= high
    settle(qtbot, window)


def test_each_instance_has_its_own_chain(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(sample)
    capture, state = page.document.capture, page.document.state
    waits, runs = states_of(capture, 71, "blocked"), states_of(capture, 74, "running")
    asked: list[tuple[int, int, str | None]] = []

    def diagnose(view: View, _progress: Progress = unwatched, of: str | None = None) -> Diagnosis:
        asked.append((view.start_ns, view.stop_ns, of))
        number = view.start_ns // (10 * MS)
        found = known_diagnosis(capture)
        chain = tuple(
            replace(hop, row=row)
            for hop, row in zip(found.findings[0].chain, (waits[number], runs[number], runs[0]), strict=True)
        )
        return Diagnosis(found.budget, (replace(found.findings[0], chain=chain),))

    monkeypatch.setattr(engine, "diagnose", diagnose)
    card = first_card(qtbot, window)
    qtbot.mouseClick(card, LEFT)
    qtbot.keyClick(card, Qt.Key.Key_E)
    page.view.setFocus()
    for number in (0, 1):
        qtbot.keyClick(page.view, ".")
        settle(qtbot, window)
        assert asked[-1] == (
            10 * MS * number + 6 * MS,
            10 * MS * number + 10 * MS + 1,
            "process/71.1/thread/71.1/state",
        )
        assert state.lit is not None
        assert [hop.row for hop in state.lit.hops] == [waits[number], runs[number], runs[0]]
        assert runs[number] in state.lit.rows.tolist()
        assert isinstance(card.explanation, Explanation)
        qtbot.mouseClick(card.explanation.buttons[1], LEFT)
        assert state.selection == runs[number]
    settle(qtbot, window)


def test_explain_opens_the_chain_and_each_line_goes_to_its_event(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    card = first_card(qtbot, window)
    card.setFocus()
    qtbot.keyClick(card, Qt.Key.Key_Return)
    qtbot.keyClick(card, Qt.Key.Key_E)
    assert isinstance(card.explanation, Explanation)
    buttons = card.explanation.buttons
    assert [button.text()[:1] for button in buttons] == ["1", "2", "3"]
    assert "train.py:14" in buttons[1].text()
    for button, hop in zip(buttons, card.finding.chain, strict=True):
        qtbot.mouseClick(button, LEFT)
        assert page.document.state.selection == hop.row
    settle(qtbot, window)
    area = window.panels.panel("findings")
    assert isinstance(area, FindingsPanel)
    view = area.cards.viewport()
    explanation = card.explanation
    qtbot.waitUntil(lambda: 0 <= explanation.mapTo(view, QPoint(0, 0)).y() < view.height(), timeout=60_000)
    # What `check --why` prints stands below: numbers, longest events, and what would refute the finding.
    texts = [label.text() for label in card.explanation.findChildren(QLabel)]
    assert any(text.startswith("The range lasts") for text in texts)
    assert texts[-1].startswith("Refuted if") or texts[-2].startswith("Refuted if")
    for link, row in zip(card.explanation.events, card.finding.evidence.rows, strict=False):
        link.click()
        assert page.document.state.selection == row
    qtbot.keyClick(card, Qt.Key.Key_E)
    settle(qtbot, window)
    assert not card.findChildren(Explanation, options=Qt.FindChildOption.FindDirectChildrenOnly)


def test_a_card_is_copied_as_text_and_as_markdown(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    panel = panel_of(qtbot, window, "findings", FindingsPanel)
    card = panel.cards.cards[0]
    card.setFocus()
    qtbot.keyClick(card, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    text = QGuiApplication.clipboard().text()
    assert text.startswith("[critical] Waiting for lock takes 40.00 ms")
    assert "2. runs · hold (/srv/project/train.py:14)" in text
    panel.verbs.copy(card.finding, as_markdown=True)
    assert QGuiApplication.clipboard().text().startswith(r"**\[critical] Waiting for lock")


def test_a_dismissed_finding_stays_away_after_a_restart_and_comes_back_when_asked(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, settings: Settings
) -> None:
    page = open_page(sample)
    panel = panel_of(qtbot, window, "findings", FindingsPanel)
    card = panel.cards.cards[0]
    qtbot.mouseClick(card, LEFT)
    panel.verbs.dismiss(card.finding, "This is intended")
    assert [card.finding.id for card in panel.cards.cards] == ["waits_for_core"]
    assert panel.badge == ""
    assert panel.cards.headline.isVisible()
    assert page.document.state.lit is None
    assert panel.cards.dismissed.show_all.text() == "1 dismissed — show"
    # Another window of another run, with the settings from the disk.
    settings.save()
    window.workspace.close(page.document)
    again = Settings(Path(settings._store.fileName()))
    other = MainWindow(again)
    other.resize(1280, 800)
    with qtbot.waitExposed(other, timeout=60_000):
        other.show()
    with qtbot.waitSignal(other.tabs.page_opened, timeout=60_000):
        other.workspace.open_file(sample)
    settle(qtbot, other)
    panel = panel_of(qtbot, other, "findings", FindingsPanel)
    assert [card.finding.id for card in panel.cards.cards] == ["waits_for_core"]
    line = panel.cards.dismissed
    qtbot.mouseClick(line.show_all, LEFT)
    assert line.items.isVisible()
    line.restore_wanted.emit(next(iter(panel.document.dismissals.reasons)))
    assert [card.finding.id for card in panel.cards.cards] == ["waits_for_lock", "waits_for_core"]
    assert line.undo.isVisible()
    qtbot.mouseClick(line.undo, LEFT)
    assert [card.finding.id for card in panel.cards.cards] == ["waits_for_core"]


def test_another_range_leaves_what_is_lit_only_where_it_is_found_again(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(sample)
    state = page.document.state
    qtbot.mouseClick(first_card(qtbot, window), LEFT)
    state.select_range(0, 50 * MS)
    settle(qtbot, window)
    assert state.lit is not None
    assert first_card(qtbot, window).is_selected
    found = known_diagnosis(page.document.capture)
    monkeypatch.setattr(
        engine, "diagnose", lambda _view, _progress: Diagnosis(found.budget, found.findings[1:])
    )
    state.select_range(0, 30 * MS)
    settle(qtbot, window)
    assert state.lit is None


def test_a_selected_cards_buttons_are_in_sight_in_a_small_window(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    window.resize(900, 600)
    open_page(sample)
    panel = panel_of(qtbot, window, "findings", FindingsPanel)
    area = panel.cards.viewport()

    def are_in_sight(tools: QWidget) -> bool:
        return area.rect().contains(QRect(tools.mapTo(area, QPoint(0, 0)), tools.size()))

    for card in panel.cards.cards:
        qtbot.mouseClick(card, LEFT, pos=QPoint(4, 4))
        qtbot.waitUntil(partial(are_in_sight, card.tools), timeout=60_000)
        assert card.minimumSizeHint().width() < 390
