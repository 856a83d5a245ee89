"""An exported page has the window's colours."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtQml import QJSEngine
from PySide6.QtWidgets import QApplication
from tests.gui.sample import write_sample

from warpline.interchange.export.page.page_colors import HUES, PageColors
from warpline.resources import path as resource
from warpline.storage import open_capture
from warpline_app.look.theme import DARK, LIGHT, Theme, contrast_ratio, to_rgb
from warpline_app.timeline.draw.codes import FIRST_HUE, ColorTable
from warpline_app.timeline.draw.codes import HUES as HUES_OF_WINDOW
from warpline_app.timeline.draw.event_colors import EventColors


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_the_palette_is_the_themes(theme: Theme) -> None:
    palette = json.loads(resource("page/colors.json").read_text())[theme.name]
    assert tuple(palette.pop("hues")) == theme.hues
    assert palette == {token: theme.hex(token) for token in palette}
    assert set(theme.families) <= set(palette)
    assert HUES == HUES_OF_WINDOW == len(theme.hues)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_labels_can_be_read_on_every_box(qapp: QApplication, theme: Theme) -> None:
    palette = json.loads(resource("page/colors.json").read_text())[theme.name]
    engine = QJSEngine()
    engine.evaluate(resource("page/timeline.js").read_text().partition("class Timeline")[0])
    for color in (*theme.families.values(), *theme.hues):
        engine.evaluate(f"var ink = inkOn({json.dumps(color)}, {json.dumps(palette)})")
        ink = engine.globalObject().property("ink").toString()
        assert contrast_ratio(to_rgb(ink), to_rgb(color)) >= 4.5, (color, ink)


def test_events_have_the_colours_of_the_window(tmp_path: Path) -> None:
    with open_capture(write_sample(tmp_path / "sample.h5")) as capture:
        rows = np.arange(len(capture.events))
        table = ColorTable(DARK)
        numbers = EventColors(capture, table).of(rows, capture.events.kind[rows], capture.events.flags[rows])
        for token, number in zip(PageColors(capture).of(rows), numbers.tolist(), strict=True):
            if token.startswith("hue "):
                assert number == FIRST_HUE + int(token[4:])
            else:
                assert number < FIRST_HUE
