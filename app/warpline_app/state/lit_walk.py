"""Walking through the instances of the finding that is lit up."""

from __future__ import annotations

from warpline_app.state.lit import Lit
from warpline_app.state.timeline_state import TimelineState

_SMALLEST_SHARE = 200
"""An instance that takes a smaller part of the view than one in this many is zoomed to."""


def show_stretch(state: TimelineState, start_ns: int, stop_ns: int) -> None:
    """Bring a stretch of time into view, by zooming only where it cannot be seen otherwise."""
    low, high = state.view
    length, view = stop_ns - start_ns, high - low
    if length > view or length * _SMALLEST_SHARE < view:
        air = 2 * max(length, 1)
        state.set_view(start_ns - air, stop_ns + air)
    elif start_ns < low or stop_ns > high:
        middle = (start_ns + stop_ns) // 2
        state.set_view(middle - view // 2, middle - view // 2 + view)


def step_lit(state: TimelineState, direction: int) -> Lit | None:
    """Go to the next (1) or previous (−1) instance, select its event, bring it into view; None where there is none."""
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
