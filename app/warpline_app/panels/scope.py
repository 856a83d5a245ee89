"""What panels compute about: the selected range and the filter of a capture, as a selection of the analysis."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpline.analysis.report import NotRecorded
from warpline.analysis.selection import Selection
from warpline.i18n import tr

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline_app.state import TimelineState


def selection_of(capture: Capture, state: TimelineState) -> Selection:
    """The selection that the state's range, name filter and *only these rows* stand for."""
    start, stop = state.range_selection or (None, None)
    chosen = state.filter
    names: frozenset[int] | None = None
    if chosen.names:
        try:
            names = frozenset(
                capture.strings.find(chosen.names, regex=chosen.regex, case=chosen.case).tolist()
            )
        except re.error:
            names = frozenset()
    tracks: frozenset[int] | None = None
    if chosen.only:
        # A key may single out a part of a track (stream#kernel=12): its track is what can be selected.
        uris = {key.partition("#")[0] for key in chosen.only}
        tracks = frozenset(track.index for track in capture.tracks if track.uri in uris) or None
    return Selection(start, stop, tracks=tracks, names=names)


def not_recorded_text(missing: NotRecorded) -> str:
    """Why a panel is empty and what to record, as sentences."""
    parts = [tr(text, "report") for text in (missing.reason, missing.remedy) if text]
    return " ".join(text[:1].upper() + text[1:] + ("." if text[-1].isascii() else "。") for text in parts)
