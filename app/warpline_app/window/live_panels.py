"""The panels of a running recording: they show one of its captures, and a later one every few seconds."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from warpline_app.look.widgets import single_shot
from warpline_app.open.document import Document
from warpline_app.open.live_document import LiveDocument
from warpline_app.panels.frame.layout import PanelLayout

if TYPE_CHECKING:
    from warpline_app.open.still import Still

RENEWED_AFTER_S = 5.0
_RETURNED_AFTER_MS = 300
_MOST_SHARE = 0.1
"""Share of the time in which panels may compute: in a large recording they are renewed less often."""


class LivePanels(QObject):
    """Tells the panels which document they show: of a running recording, a still that is renewed now and then.

    It is not renewed while the pointer or the keyboard focus is in them, or before they have shown the last one.
    """

    def __init__(self, panels: PanelLayout, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._panels = panels
        self._live: LiveDocument | None = None
        self._still: Still | None = None
        self._renewed_s = 0.0
        self._took_s: float | None = None
        # Former panels and stills form reference cycles, few objects with columns of tens of megabytes: Python would
        # collect them after minutes.
        self._collect_soon = single_shot(self, _RETURNED_AFTER_MS, _return_memory)

    def set_document(self, document: Document | None) -> None:
        """Show the panels of a document."""
        live = document if isinstance(document, LiveDocument) and document.is_live else None
        if live is not None and live is self._live:
            self._panels.set_document(self._still)
            return
        self._leave()
        if live is None:
            self._panels.set_document(document)
            return
        self._live = live
        live.grown.connect(self._grown)
        self._renew(live)

    def _leave(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.grown.disconnect(self._grown)
        self._drop()

    def _drop(self) -> None:
        still, self._still = self._still, None
        if still is not None:
            self._panels.forget_document(still)
            still.close()

    def _renew(self, live: LiveDocument) -> None:
        from warpline_app.open.still import Still

        before, self._still = self._still, Still(live)
        self._renewed_s, self._took_s = time.monotonic(), None
        if before is None:
            self._panels.set_document(self._still)
        else:
            self._panels.exchange(before, self._still)
            before.close()
            self._collect_soon.start()

    def _grown(self) -> None:
        live, now = self._live, time.monotonic()
        if live is None:
            return
        if not live.is_live:
            self._leave()
            self._panels.set_document(live)
            self._panels.fill()
            return
        if self._took_s is None and self._panels.is_settled:
            self._took_s = now - self._renewed_s
        if self._took_s is None or self._panels.are_in_use:
            return
        # What begins after the still ends would be shown as not recorded.
        is_past = self._still is not None and self._still.capture.span[1] <= live.state.view[0]
        wait_s = 0.0 if is_past else self._took_s / _MOST_SHARE
        if now - self._renewed_s >= max(RENEWED_AFTER_S, wait_s):
            self._renew(live)


def _return_memory() -> None:
    """Return the memory of captures that were replaced to the system."""
    from warpline.analysis.framework.allocation import return_freed

    gc.collect()
    return_freed()
