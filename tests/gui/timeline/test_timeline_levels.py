"""A row of levels is as tall as what is in view: no blank lines, and no jumping while the view moves."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot
from tests.gui.timeline.timeline_tools import MAIN, event_of, wait_idle
from tests.gui.timeline_sample import MS

from warpline_app.timeline.model.layout import PlacedRow
from warpline_app.timeline.widgets.view import TimelineView

RANGES = f"{MAIN}/nvtx/default"


def placed(view: TimelineView, *, pinned: bool) -> PlacedRow:
    rows = view.scene.layout.pinned if pinned else view.scene.layout.rows
    return next(row for row in rows if row.row.key == RANGES)


@pytest.mark.parametrize("pinned", [False, True])
def test_a_row_gives_up_blank_levels_at_rest_and_grows_at_once(
    view: TimelineView, qtbot: QtBot, pinned: bool
) -> None:
    state = view.state
    state.set_expanded(RANGES, True)
    state.set_pins([RANGES])
    both = placed(view, pinned=pinned)
    assert len(both.lines) == len(both.row.lanes) == 2
    # From here on only `outer` is in view: the row stays as it is while the view moves, then it shrinks.
    state.set_view(21 * MS, 29 * MS)
    assert len(placed(view, pinned=pinned).lines) == 2
    wait_idle(qtbot, view)
    one = placed(view, pinned=pinned)
    assert len(one.lines) == 1
    assert one.height < both.height
    assert view.scene.layout.height == sum(row.height for row in view.scene.layout.rows)
    # A part of `inner` comes into view: it has its line in the same moment.
    state.set_view(19 * MS, 29 * MS)
    assert len(placed(view, pinned=pinned).lines) == 2
    wait_idle(qtbot, view)
    assert placed(view, pinned=pinned).height == both.height


def test_an_event_of_a_level_that_was_given_up_is_brought_back(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_expanded(RANGES, True)
    inner = event_of(view, RANGES, 15 * MS, depth=1)
    view.state.set_view(21 * MS, 29 * MS)
    wait_idle(qtbot, view)
    assert len(placed(view, pinned=False).lines) == 1
    view.go_to(inner)
    place = view.scene.place_of_event(inner)
    assert place is not None
    assert place.is_drawn
    assert 0 <= place.rect.top() < view.canvas.height()
    assert len(placed(view, pinned=False).lines) == 2
