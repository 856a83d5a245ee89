"""The timeline's state: view, selection, filter, pins, undo, and saved layouts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.timeline.timeline_tools import MAIN, STREAM

from warpline_app.remembered.saved_layout import apply_layout, layout_of
from warpline_app.state.timeline_state import Filter, TimelineState


def test_a_setter_without_a_change_emits_nothing(state: TimelineState) -> None:
    heard: list[object] = []
    for signal in (state.view_changed, state.selection_changed, state.filter_changed, state.pins_changed):
        signal.connect(heard.append)
    state.set_view(*state.view)
    state.select(None)
    state.set_filter(Filter())
    state.set_pins(())
    assert not heard
    state.select(3)
    assert heard == [3]


def test_zoom_and_filter_are_undone_in_the_order_they_were_done(state: TimelineState) -> None:
    state.set_view(10, 1000)
    state.set_filter(Filter(names="gemm"))
    state.set_view(20, 500)
    state.undo()
    assert state.view == (10, 1000)
    assert state.filter.names == "gemm"
    state.undo()
    assert state.filter.is_empty
    state.undo()
    assert state.view == state.span
    assert not state.can_undo
    for _ in range(3):
        state.redo()
    assert (state.view, state.filter.names) == ((20, 500), "gemm")


def test_a_new_change_discards_redo(state: TimelineState) -> None:
    state.set_view(10, 1000)
    state.undo()
    could_redo = state.can_redo
    state.set_view(20, 500)
    assert (could_redo, state.can_redo) == (True, False)
    state.redo()
    assert state.view == (20, 500)


def test_hiding_rows_is_undone_among_the_other_steps(state: TimelineState) -> None:
    state.set_hidden([MAIN])
    state.set_view(10, 1000)
    state.set_hidden([MAIN, STREAM])
    state.set_hidden([STREAM, MAIN])  # nothing changes: no step
    state.undo()
    assert state.hidden == {MAIN}
    state.undo()
    state.undo()
    assert not state.hidden
    assert not state.can_undo
    state.redo()
    assert state.hidden == {MAIN}


def test_pins_order_heights_and_marks_are_undone_by_name(state: TimelineState) -> None:
    before = layout_of(state)
    state.set_pins([STREAM])
    state.set_order("cpu", ["cpu/1", "cpu/0"])
    for height in range(20, 30):
        state.set_height(MAIN, height, "height")
    state.end_gesture()
    state.add_mark(7, "seven")
    names = []
    while state.can_undo:
        names.append(state.undo_title)
        state.undo()
    assert names == ["Undo note", "Undo row height", "Undo row order", "Undo pin"]
    assert layout_of(state) == before
    assert (state.undo_title, state.redo_title) == ("", "Redo pin")


def test_changes_of_one_step_are_undone_together_and_a_loaded_layout_is_not(state: TimelineState) -> None:
    with state.unrecorded():
        state.set_pins([MAIN])
    assert not state.can_undo
    with state.one_step():
        state.set_pins([])
        with state.one_step():
            state.set_hidden([STREAM])
    state.undo()
    assert (state.pins, state.hidden, state.can_undo) == ((MAIN,), frozenset(), False)


def test_a_held_key_is_one_step_of_undo(state: TimelineState) -> None:
    for stop in range(90_000_000, 10_000_000, -1_000_000):
        state.set_view(0, stop, gesture="keys")
    state.end_gesture()
    state.set_view(0, 1_000_000, gesture="keys")
    state.undo()
    assert state.view == (0, 11_000_000)
    state.undo()
    assert state.view == state.span


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_a_view_stays_in_the_capture(start: int, stop: int) -> None:
    state = TimelineState(1000, 50_000)
    state.set_view(start, stop)
    low, high = state.view
    assert 1000 <= low < high <= 50_000


def test_escape_clears_one_thing_at_a_time(state: TimelineState) -> None:
    state.select(1)
    state.select_range(5, 9)
    state.set_highlight([3])
    state.set_filter(Filter(names="x"))
    state.clear()
    assert state.range_selection is None
    still = state.selection
    assert still == 1
    state.clear()
    assert state.selection is None
    state.clear()
    assert not state.highlight
    state.clear()
    assert state.filter.is_empty


def test_marks_keep_their_order_and_one_text_per_moment(state: TimelineState) -> None:
    state.add_mark(500, "b")
    state.add_mark(100, "a")
    state.add_mark(500, "c")
    assert [(time_ns, note.text) for time_ns, note in state.timed_notes] == [(100, "a"), (500, "c")]
    state.remove_note(state.notes[0].id)
    assert [note.text for note in state.notes] == ["c"]


def test_a_layout_round_trips_and_damaged_values_are_ignored(state: TimelineState) -> None:
    state.set_pins([STREAM])
    state.set_order("cpu", ["cpu/1", "cpu/0"])
    state.set_hidden(["system/load"])
    state.set_height(MAIN, 30)
    state.set_expanded("cpu", False)
    state.set_view(1_000, 2_000)
    state.set_origin(7)
    kept = layout_of(state)
    other = TimelineState(*state.span)
    apply_layout(other, kept)
    assert layout_of(other) == kept
    damaged = {"view": ["a", 2], "pins": 3, "order": {"x": 1}, "heights": {"a": "b"}}
    apply_layout(other, damaged)
    assert other.view == (1_000, 2_000)
