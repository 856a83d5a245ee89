"""The capture that a result was computed from, kept while the result is shown and the recording goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline_app.open.counterparts import event_in

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline_app.open.document import Document


class HeldCapture:
    """One capture of a document, open until another one is held. Rows of results are its rows."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.capture: Capture | None = None

    def hold(self, capture: Capture | None) -> None:
        """Keep this capture in place of the former one; None keeps none."""
        if capture is not None:
            self._document.keep(capture)
        before, self.capture = self.capture, capture
        if before is not None:
            self._document.release(before)

    @property
    def is_outdated(self) -> bool:
        """Whether the document shows another capture by now."""
        return self.capture is not None and self.capture is not self._document.capture

    def row_now(self, row: int) -> int | None:
        """The row in the document's present capture of an event of the held one; None if it is not there."""
        if self.capture is None or not self.is_outdated:
            return row
        return event_in(self._document.capture, self.capture, row)

    def row_then(self, row: int | None) -> int | None:
        """The row in the held capture of an event of the document's present one; None if it is not there."""
        if self.capture is None or not self.is_outdated:
            return row
        return event_in(self.capture, self._document.capture, row)
