"""What cannot be painted stays one widget's trouble: told once, written where it belongs, gone when it is mended."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from tests.gui.timeline.timeline_tools import STREAM, at, pixels, wait_idle
from tests.gui.timeline_sample import MS

from warpline_app.timeline.widgets.header import Header
from warpline_app.timeline.widgets.overlay import Overlay
from warpline_app.timeline.widgets.overview import Overview
from warpline_app.timeline.widgets.ruler import Corner, Ruler
from warpline_app.timeline.widgets.view import TimelineView

PARTS = {
    "overview": (Overview, "_window"),
    "header": (Header, "_draw_row"),
    "ruler": (Ruler, "_paint_notes"),
    "corner": (Corner, "base_text"),
    "canvas": (Overlay, "_paint_related"),
}


def warnings_in(widget: QWidget, warning: int) -> int:
    """Pixels in the middle of a widget in the colour of warnings, or in one between that and its ground."""
    color = np.array([warning & 255, warning >> 8 & 255, warning >> 16 & 255])
    middle = widget.height() // 2
    band = pixels(widget)[max(0, middle - 10) : middle + 10].copy()
    seen = band.view(np.uint8).reshape(-1, 4)[:, :3].astype(int)
    return int((np.abs(seen - color).max(axis=1) < 40).sum())


@pytest.mark.parametrize("part", PARTS)
def test_a_widget_that_cannot_be_painted_says_so_and_the_others_go_on(
    view: TimelineView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    view.state.set_view(0, 90 * MS)
    wait_idle(qtbot, view)
    widget: QWidget = getattr(view, part)
    warning = view.theme.rgb("warning")
    before = warnings_in(widget, warning)
    told: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda _kind, error, _trace: told.append(str(error)))

    def fail(*_args: object) -> None:
        raise ValueError("damaged")

    owner, name = PARTS[part]
    with monkeypatch.context() as broken:
        broken.setattr(owner, name, property(fail) if name == "base_text" else fail)
        view.set_theme(view.theme)  # pictures are made anew
        for _ in range(3):
            view.repaint()
            for each in (view.overview, view.header, view.ruler, view.corner, view.canvas):
                each.repaint()
        QApplication.processEvents()
        assert told == ["damaged"], "once, not with every frame"
        assert warnings_in(widget, warning) > before + 15
        point = at(view, STREAM, 72 * MS)
        assert int(pixels(view.canvas)[point.y() + 4, point.x()]) == view.theme.rgb("communication")
    view.set_theme(view.theme)
    wait_idle(qtbot, view)
    assert warnings_in(widget, warning) == before
    assert told == ["damaged"]
    with monkeypatch.context() as broken:
        broken.setattr(owner, name, property(fail) if name == "base_text" else fail)
        view.set_theme(view.theme)
        widget.repaint()
        assert told == ["damaged"] * 2, "what was mended in between is news"


def test_a_picture_of_a_timeline_with_a_broken_part_is_drawn(
    view: TimelineView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", lambda *_told: None)

    def fail(*_args: object) -> None:
        raise ValueError("damaged")

    monkeypatch.setattr(Ruler, "_paint_notes", fail)
    image = view.picture()
    seen = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    assert (seen == view.theme.rgb("communication")).any()
