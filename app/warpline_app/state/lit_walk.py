"""Steps through the instances of the highlighted finding."""

from __future__ import annotations

from warpline_app.state.lit import Lit
from warpline_app.state.timeline_state import TimelineState

_SMALLEST_SHARE = 200
"""An instance shorter than the view by more than this factor is zoomed to."""


def show_stretch(state: TimelineState, start_ns: int, stop_ns: int) -> None:
    """Bring a time range into view; zoom only if it would be invisible otherwise."""
    low, high = state.view
    length, view = stop_ns - start_ns, high - low
    if length > view or length * _SMALLEST_SHARE < view:
        margin = 2 * max(length, 1)
        state.set_view(start_ns - margin, stop_ns + margin)
    elif start_ns < low or stop_ns > high:
        middle = (start_ns + stop_ns) // 2
        state.set_view(middle - view // 2, middle - view // 2 + view)


def step_lit(state: TimelineState, direction: int) -> Lit | None:
    """Select the next (1) or previous (−1) instance and bring it into view; returns None when there is none."""
    lit = None if state.lit is None else state.lit.stepped(direction, state.view[0])
    if lit is None or lit.instance is None:
        return None
    state.set_lit(lit)
    row = int(lit.row_of_range[lit.at])
    if row >= 0:
        state.reveal(row)
    else:
        state.select(None)
    show_stretch(state, *lit.instance)
    return lit
