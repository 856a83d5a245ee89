"""What panels show of a running recording: one of its captures, which stays while the timeline goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpline_app.open.counterparts import event_in, names_in
from warpline_app.open.document import Document
from warpline_app.open.live_document import LiveDocument
from warpline_app.state.lit import Lit

if TYPE_CHECKING:
    from warpline.storage import Capture


def _pass_view(giver: Document, taker: Document) -> None:
    if giver.state.view != taker.state.view:
        taker.state.set_view(*giver.state.view)


def _pass_selection(giver: Document, taker: Document) -> None:
    taker.state.select(event_in(taker.capture, giver.capture, giver.state.selection))


def _pass_highlight(giver: Document, taker: Document) -> None:
    taker.state.set_highlight(names_in(taker.capture, giver.capture, giver.state.highlight))


_SHARED: dict[str, Callable[[Document, Document], None]] = {
    "view_changed": _pass_view,
    "range_selection_changed": lambda giver, taker: taker.state.select_range(
        *(giver.state.range_selection or (None,))
    ),
    "track_selection_changed": lambda giver, taker: taker.state.select_track(giver.state.track_selection),
    "filter_changed": lambda giver, taker: taker.state.set_filter(giver.state.filter),
    "selection_changed": _pass_selection,
    "highlight_changed": _pass_highlight,
    "notes_changed": lambda giver, taker: taker.state.set_notes(giver.state.notes),
    "origin_changed": lambda giver, taker: taker.state.set_origin(giver.state.origin_ns),
}
"""What a still and the live document share, by the signals of their states: how one takes it from the other."""


class Still(Document):
    """The present capture of a live document with a state of its own, kept in step with the live one's.

    Row numbers and name ids are translated on the way, because the live capture goes on.
    """

    def __init__(self, live: LiveDocument) -> None:
        super().__init__(live.capture, live.title, live, source=live.source, messages=live.messages)
        self.live = live
        self.live_edge = live.live_edge
        live.keep(self.capture)
        self._is_passing = False
        self._links = [
            (getattr(live.state, name), partial(self._pass, copy, live, self))
            for name, copy in _SHARED.items()
        ]
        for signal, slot in self._links:
            signal.connect(slot)
        for name, copy in _SHARED.items():
            getattr(self.state, name).connect(partial(self._pass, copy, self, live))
        live.grown.connect(self._take)
        mine, theirs = self.state, live.state
        mine.lit_changed.connect(self._light)
        mine.reveal_wanted.connect(lambda row: self._with_row(row, theirs.reveal_wanted.emit))
        mine.frame_wanted.connect(lambda row: self._with_row(row, theirs.frame_wanted.emit))
        mine.row_wanted.connect(theirs.row_wanted)
        mine.note_wanted.connect(theirs.note_wanted)
        theirs.events_wanted.connect(mine.events_wanted)
        theirs.source_wanted.connect(mine.source_wanted)
        theirs.findings_wanted.connect(mine.findings_wanted)
        self._take()

    @property
    def path(self) -> Path:
        """The file that the recording will be written to."""
        return self.source

    def close(self) -> None:
        """Let go of the live document, which closes the capture when nobody shows it."""
        for signal, slot in self._links:
            signal.disconnect(slot)
        self._links.clear()  # they refer to this object, which would keep its capture until garbage is collected
        self.live.grown.disconnect(self._take)
        theirs, mine = self.live.state, self.state
        theirs.events_wanted.disconnect(mine.events_wanted)
        theirs.source_wanted.disconnect(mine.source_wanted)
        theirs.findings_wanted.disconnect(mine.findings_wanted)
        self.live.release(self.capture)
        self.deleteLater()

    def _take(self) -> None:
        """Show what is in view and selected in the timeline."""
        # The live capture ends later than this one; times must not be cut.
        with self.state.unrecorded():
            self.state.set_span(*self.live.state.span)
        for copy in _SHARED.values():
            self._pass(copy, self.live, self)

    def _pass(
        self,
        copy: Callable[[Document, Document], None],
        giver: Document,
        taker: Document,
        *_value: object,
    ) -> None:
        if self._is_passing:
            return
        self._is_passing = True
        try:
            copy(giver, taker)
        finally:
            self._is_passing = False

    def _with_row(self, row: int, act: Callable[[int], None]) -> None:
        found = event_in(self.live.capture, self.capture, row)
        if found is not None:
            act(found)

    def _light(self, lit: Lit | None) -> None:
        self.live.state.set_lit(None if lit is None else _lit_in(self.live.capture, self.capture, lit))


def _lit_in(after: Capture, before: Capture, lit: Lit) -> Lit:
    """The same evidence by the rows of another capture; events that it does not have are left out."""
    if after is before:
        return lit
    known: dict[int, int] = {}

    def row_of(row: int) -> int:
        if row not in known:
            found = event_in(after, before, row) if row >= 0 else None
            known[row] = -1 if found is None else found
        return known[row]

    rows = np.array([row_of(row) for row in lit.rows.tolist()], np.int64)
    uris = {track.uri: track.index for track in after.tracks}
    return replace(
        lit,
        rows=np.unique(rows[rows >= 0]),
        row_of_range=np.array([row_of(row) for row in lit.row_of_range.tolist()], np.int64),
        tracks=tuple(uris[uri] for track in lit.tracks if (uri := before.tracks[track].uri) in uris),
        hops=tuple(replace(hop, row=row_of(hop.row)) for hop in lit.hops),
    )
