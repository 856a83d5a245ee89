"""Stepping through what a search found, and through events of a name: forward, back, and round the end."""

from __future__ import annotations

import pytest
from tests.gui.timeline_sample import MS
from tests.unit.timeline.timeline_tools import MAIN, STREAM, lane_of

from warpline.storage import Capture
from warpline_app.open.document import Document
from warpline_app.state.timeline_state import TimelineState
from warpline_app.timeline.model.events_of_names import neighbour
from warpline_app.timeline.model.search import Search

COPIES_MS = (80, 82, 84, 90)
"""When the copies of the sample begin."""


@pytest.fixture
def search(capture: Capture, state: TimelineState) -> Search:
    document = Document(capture)
    document.state = state
    made = Search(document)
    made.find_text("memcpy")
    assert [time // MS for time in made.result.times.tolist()] == list(COPIES_MS)
    return made


def start_ms(capture: Capture, row: int | None) -> int | None:
    return None if row is None else capture.event_span(row)[0] // MS


def no_copy(capture: Capture, time_ms: int) -> int:
    """An event that is none of those found, at a moment."""
    found = capture.event_at(lane_of(capture, STREAM if time_ms > 60 else f"{MAIN}/state"), time_ms * MS)
    assert found is not None
    return int(found)


@pytest.mark.parametrize(
    ("view_ms", "previous", "following"),
    [
        ((85, 95), 84, 90),
        ((82, 95), 80, 82),
        ((81, 83), 80, 82),
        ((0, 100), 90, 80),
        ((95, 100), 90, 80),
    ],
    ids=["between", "at one", "just before one", "before all", "after all"],
)
def test_without_a_selection_steps_begin_where_the_view_does(
    capture: Capture,
    state: TimelineState,
    search: Search,
    view_ms: tuple[int, int],
    previous: int,
    following: int,
) -> None:
    state.set_view(view_ms[0] * MS, view_ms[1] * MS)
    assert search.position() is None
    assert start_ms(capture, search.step(-1)) == previous
    assert start_ms(capture, search.step(1)) == following


def test_from_an_event_that_was_not_found_steps_go_to_those_around_it(
    capture: Capture, state: TimelineState, search: Search
) -> None:
    state.set_view(0, 100 * MS)
    state.select(no_copy(capture, 72))
    assert start_ms(capture, search.step(1)) == 80
    assert start_ms(capture, search.step(-1)) == 90, "round the end"
    state.set_view(85 * MS, 95 * MS)
    assert start_ms(capture, search.step(-1)) == 84, "what is selected out of sight does not count"


def test_from_one_that_was_found_steps_go_to_its_neighbours(
    capture: Capture, state: TimelineState, search: Search
) -> None:
    for place, row in enumerate(search.result.rows.tolist()):
        state.select(row)
        assert search.position() == place
        assert start_ms(capture, search.step(1)) == COPIES_MS[(place + 1) % 4]
        assert start_ms(capture, search.step(-1)) == COPIES_MS[place - 1]


def test_nothing_found_is_no_step(state: TimelineState, search: Search) -> None:
    search.find_text("no such name")
    assert search.text() == "no results"
    assert search.step(1) is None
    assert search.step(-1) is None
    assert state.selection is None


@pytest.mark.parametrize(
    ("time_ms", "previous", "following"), [(83, 82, 84), (84, 82, 84), (0, 90, 80), (99, 90, 80)]
)
def test_events_of_a_name_are_stepped_through_from_a_moment(
    capture: Capture, search: Search, time_ms: int, previous: int, following: int
) -> None:
    names = frozenset(search.result.names.tolist())
    for selected in (None, no_copy(capture, 72)):
        assert start_ms(capture, neighbour(capture, names, selected, -1, time_ms * MS)) == previous
        assert start_ms(capture, neighbour(capture, names, selected, 1, time_ms * MS)) == following
    assert neighbour(capture, frozenset(), None, -1, 0) is None
