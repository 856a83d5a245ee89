"""Translates the selected range and filter of a capture into a selection for the analysis."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpline.analysis.framework.kernel_names import short_kernel_name
from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selection import Selection
from warpline.i18n import sentences, translated
from warpline_app.state.name_filter import passing_names

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline_app.state.timeline_state import TimelineState

_NAME_ROW = re.compile(r"#(\w+)=(\d+)$")
"""End of a row key for the events of one kind and name (string id) on a track."""


def selection_of(capture: Capture, state: TimelineState) -> Selection:
    """The selection given by the state's range, selected row, name filter and *only these rows*."""
    start, stop = state.range_selection or (None, None)
    return Selection(start, stop, tracks=selected_tracks(capture, state), names=_names(capture, state))


def _names(capture: Capture, state: TimelineState) -> frozenset[int] | None:
    try:
        names = passing_names(capture.strings, state.filter)
    except re.error:
        # An incomplete expression matches nothing.
        return frozenset()
    passing = None if names is None else frozenset(names.tolist())
    name_id = selected_name(capture, state)
    if name_id is None:
        return passing
    return frozenset((name_id,)) if passing is None or name_id in passing else frozenset()


def selected_name(capture: Capture, state: TimelineState) -> int | None:
    """String id of the selected row's name (streams have a row per kernel); None for other rows."""
    part = _NAME_ROW.search(state.track_selection or "")
    return int(part[2]) if part is not None and part[1] in capture.kinds else None


def selected_tracks(capture: Capture, state: TimelineState) -> frozenset[int] | None:
    """Indices of the tracks of the selected row or *only these rows*; None for all."""
    keys = (state.track_selection,) if state.track_selection is not None else state.filter.only
    if not keys:
        return None
    # The part after # singles out a name; see `selected_name`.
    uris = {key.partition("#")[0] for key in keys}
    found = frozenset(track.index for track in capture.tracks if track.uri in uris)
    # A row without a track (such as all cores) stands for the tracks below it.
    below = tuple(f"{uri}/" for uri in uris)
    return found or frozenset(t.index for t in capture.tracks if t.uri.startswith(below)) or None


def scope_suffix(capture: Capture, state: TimelineState) -> str:
    """The selected row as the end of a panel's scope; empty without one."""
    key = state.track_selection
    if key is None:
        return ""
    uri = key.partition("#")[0]
    titles = [track_title(capture, track.index) for track in capture.tracks if track.uri == uri]
    name = selected_name(capture, state)
    of_name = "" if name is None else f" › {short_kernel_name(capture.strings[name])}"
    return " · " + (titles[0] if titles else uri) + of_name


def track_title(capture: Capture, index: int) -> str:
    """A track's title after its parent's."""
    track = capture.tracks[index]
    above = translated(capture.tracks[track.parent].title) if track.parent >= 0 else ""
    title = translated(track.title)
    return f"{above} › {title}" if above else title


def not_recorded_text(missing: NotRecorded) -> str:
    """Sentences that say why a panel is empty and what to record."""
    parts = [translated(text) for text in (missing.reason, missing.remedy) if text]
    return sentences(text[:1].upper() + text[1:] + ("." if text[-1].isascii() else "。") for text in parts)
