"""The capture of a recording that still runs: it is replaced by longer ones under the same view and selection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from warpline_app.open.counterparts import event_in, names_in
from warpline_app.open.document import Document, LiveEdge
from warpline_app.open.messages import MessageTarget

if TYPE_CHECKING:
    from warpline.recording.live.snapshots import LiveSnapshot
    from warpline.storage import Capture

FOLLOWED_NS = 10_000_000_000
"""Length of the view that follows a recording, until the user chooses another."""


class LiveDocument(Document):
    """Emits ``grown`` when its capture was replaced. Row numbers and name ids differ then; the state's are translated.

    While it ``follows``, the view moves with the end of the capture. Any other change of the view ends that.
    """

    grown = Signal()
    follows_changed = Signal(bool)

    def __init__(
        self,
        capture: Capture,
        snapshot: LiveSnapshot,
        title: str,
        parent: QObject | None = None,
        *,
        source: Path,
        messages: MessageTarget | None = None,
    ) -> None:
        super().__init__(capture, title, parent, source=source, messages=messages)
        self._follows = True
        self._is_growing = True
        """The view still begins with the recording"""
        self._kept: list[Capture] = []
        self._moves = False
        self._begun_ns = _begun_ns(capture) - snapshot.kept_ns
        self.state.view_changed.connect(self._view_changed)
        self._advance(snapshot)

    @property
    def path(self) -> Path:
        """The file of the capture, or where it will be: what is shown of a recording is a temporary file."""
        return self.source if self.is_live else super().path

    @property
    def is_live(self) -> bool:
        """Whether the recording still runs, as far as this document shows it."""
        return self.live_edge is not None

    @property
    def follows(self) -> bool:
        """Whether the view moves with the recording."""
        return self._follows and self.is_live

    def set_follows(self, on: bool) -> None:
        """Move the view with the recording, in its present length, or let it stay."""
        if on != self._follows:
            self._follows = on
            if on:
                self._is_growing = False
                self._follow()
            self.follows_changed.emit(on)

    def grow(self, capture: Capture, snapshot: LiveSnapshot) -> None:
        """Show a longer capture of the same recording; the former one is closed."""
        self._exchange(capture)
        self._advance(snapshot)
        self.grown.emit()

    def finish(self, capture: Capture, title: str, source: Path) -> None:
        """Take the finished capture. Its times count from its own start, which is later if a ring kept only the end.

        Call `tell_finished` once the document has everything else that belongs to a finished capture.
        """
        follows, moved_ns = self.follows, _begun_ns(capture) - self._begun_ns
        self.live_edge = None
        self.source, self._title = source, title
        self._exchange(capture, moved_ns)
        if moved_ns:
            self.state.shift(-moved_ns)
        view = self.state.view
        self._move(lambda: self.state.set_span(*capture.span))
        if follows:
            stop = self.state.span[1]
            self._move(lambda: self.state.set_view(stop - (view[1] - view[0]), stop))
        self._follows = False

    def tell_finished(self) -> None:
        """Let the views show the finished capture."""
        self.grown.emit()
        self.follows_changed.emit(False)

    def keep(self, capture: Capture) -> None:
        """Keep a capture open after it is replaced, because something still shows it; `release` closes it."""
        self._kept.append(capture)

    def release(self, capture: Capture) -> None:
        """Close a capture that was kept, unless it is shown."""
        self._kept.remove(capture)
        if capture is not self.capture and capture not in self._kept:
            capture.close()

    def _exchange(self, capture: Capture, moved_ns: int = 0) -> None:
        from warpline.recording.live.snapshots import since_start

        before, self.capture = self.capture, capture
        state = self.state
        state.renumber(
            selection=event_in(since_start(capture, moved_ns), before, state.selection),
            highlight=names_in(capture, before, state.highlight),
        )
        start, stop = capture.activity.range_ns
        if capture.span[0]:  # a part of the recording: what it leaves out was active, too
            start = min(start, state.activity[0])
        is_whole = start <= 0 and stop == capture.span[1]
        state.set_activity(None if is_whole else (start + moved_ns, stop + moved_ns))
        if before not in self._kept:
            before.close()

    def _advance(self, snapshot: LiveSnapshot) -> None:
        self.live_edge = LiveEdge(snapshot.settled_ns, snapshot.head_ns)
        self._move(lambda: self.state.set_span(0, snapshot.head_ns))
        if self._follows:
            self._follow()

    def _follow(self) -> None:
        stop = self.state.span[1]
        start, end = self.state.view
        length = min(stop, FOLLOWED_NS) if self._is_growing else end - start
        self._move(lambda: self.state.set_view(stop - length, stop))

    def _move(self, act: Callable[[], None]) -> None:
        self._moves = True
        try:
            with self.state.unrecorded():
                act()
        finally:
            self._moves = False

    def _view_changed(self, _view: object) -> None:
        if not self._moves and self._follows:
            self._is_growing = False
            self.set_follows(False)


def _begun_ns(capture: Capture) -> int:
    """When a capture's times begin, in CLOCK_MONOTONIC of the recorded machine; 0 if it does not say."""
    begun = capture.meta.get("start_monotonic_ns")
    return begun if isinstance(begun, int) else 0
