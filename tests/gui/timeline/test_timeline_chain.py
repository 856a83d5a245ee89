"""A selected event keeps what belongs to it in full colour; everything else is at half of it, never gone."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.gui.timeline.timeline_tools import LEFT, MAIN, STREAM, MakeView, at, event_of, pixels, wait_idle
from tests.gui.timeline_sample import MS, US

from warpline_app.look.theme import DARK, LIGHT, Theme, mix, to_rgb
from warpline_app.timeline.widgets.view import TimelineView

RANGES = f"{MAIN}/nvtx/default"
API = f"{MAIN}/api"
# A kernel, the call that launched it, and the ranges around that call.
CHAIN = (
    (STREAM, 15 * MS + 200 * US, 0),
    (API, 13 * MS + 50 * US, 0),
    (RANGES, 19 * MS, 1),
    (RANGES, 25 * MS, 0),
)
OTHERS = ((STREAM, 16 * MS + 200 * US, 0), (API, 14 * MS + 50 * US, 0), (RANGES, 63 * MS, 0))


def colours(view: TimelineView, places: tuple[tuple[str, int, int], ...]) -> list[int]:
    """The grounds of bars: near their lower edges, where no text is."""
    shown = pixels(view.canvas)
    points = [at(view, *place) for place in places]
    return [int(shown[point.y() + 5, point.x()]) for point in points]


def is_half(found: int, whole: int, theme: Theme) -> bool:
    """Between its own colour and the ground, whichever of the two grounds that alternate."""
    grounds = [theme.rgb("canvas"), theme.rgb("alternate")]
    return any(
        all(
            abs((found >> shift & 255) - (mix(whole, ground, 0.5) >> shift & 255)) <= 2
            for shift in (16, 8, 0)
        )
        for ground in grounds
    )


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_a_click_keeps_the_chain_lit_and_halves_the_rest(
    make_view: MakeView, qtbot: QtBot, theme: Theme
) -> None:
    view = make_view(theme)
    view.state.set_view(5 * MS, 65 * MS)
    wait_idle(qtbot, view)
    lit, others = colours(view, CHAIN), colours(view, OTHERS)
    qtbot.mouseClick(view.canvas, LEFT, pos=at(view, *CHAIN[0]))
    wait_idle(qtbot, view)
    assert view.state.selection == event_of(view, *CHAIN[0])
    assert colours(view, CHAIN) == lit
    halves = colours(view, OTHERS)
    assert all(is_half(half, whole, theme) for half, whole in zip(halves, others, strict=True))
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    wait_idle(qtbot, view)
    assert colours(view, OTHERS) == others


def test_the_chain_is_the_same_from_above(view: TimelineView, qtbot: QtBot) -> None:
    """A range lights what is in it and what its calls launched, not what was launched before or after it."""
    view.state.set_view(5 * MS, 65 * MS)
    wait_idle(qtbot, view)
    # Calls at 12 to 19 ms launch the kernels from 14 to 21 ms.
    places = tuple((STREAM, time * MS + 200 * US, 0) for time in (14, 21, 13, 23))
    before = colours(view, places)
    qtbot.mouseClick(view.canvas, LEFT, pos=at(view, RANGES, 15 * MS, 1))
    wait_idle(qtbot, view)
    after = colours(view, places)
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, True, False, False]


def test_what_is_dim_keeps_its_text(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_view(5 * MS, 65 * MS)
    wait_idle(qtbot, view)
    view.state.select(event_of(view, RANGES, 62 * MS))
    wait_idle(qtbot, view)
    # Alone, it has no chain: nothing is dimmed for it.
    assert view.canvas.renderer.emphasis.is_everything
    view.state.select(event_of(view, *CHAIN[0]))
    wait_idle(qtbot, view)
    point, end = at(view, RANGES, 60 * MS), at(view, RANGES, 64 * MS)
    bar = pixels(view.canvas)[point.y() - 5 : point.y() + 5, point.x() + 4 : end.x() - 2]
    ground = int(np.bincount(bar.ravel() & 0xFFFFFF).argmax())
    inked = (bar.ravel() & 0xFFFFFF) != ground
    assert inked.sum() > 20


def test_a_filter_and_a_chain_are_both_seen(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_view(5 * MS, 65 * MS)
    wait_idle(qtbot, view)
    lit, own = colours(view, CHAIN), colours(view, OTHERS)
    view.state.change_filter(names="own")
    view.state.select(event_of(view, *CHAIN[0]))
    wait_idle(qtbot, view)
    assert colours(view, CHAIN) == lit
    after = colours(view, OTHERS)
    assert after[2] == own[2]
    assert after[0] != own[0]
    assert after[0] not in {to_rgb(view.theme.canvas), to_rgb(view.theme.alternate)}


def test_a_chain_whose_rows_are_all_closed_is_no_problem(view: TimelineView, qtbot: QtBot) -> None:
    view.state.select(event_of(view, *CHAIN[0]))
    view.state.set_all_expanded({row.key: False for row in view.scene.tree.root.walk() if row.key})
    wait_idle(qtbot, view)
    assert not view.canvas.renderer.failed
