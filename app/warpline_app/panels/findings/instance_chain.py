"""The chain of the instance one is at: the finding's own is that of one of its instances."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Signal

from warpline.analysis.findings.finding import Finding
from warpline.model.progress import IsCancelled
from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.panels.findings.evidence import hop_text
from warpline_app.state.lit import Lit, LitHop

if TYPE_CHECKING:
    from warpline.storage import Capture


class InstanceChain(QObject):
    """Diagnoses the stretch one steps to, beside the window; the newest step wins."""

    found = Signal(object)
    """a Finding: what the stretch alone tells"""

    def __init__(self, document: Document, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._job: Job | None = None
        self._asked: tuple[str, int] | None = None
        document.state.lit_changed.connect(self._lit_changed)

    @property
    def is_busy(self) -> bool:
        """Whether a stretch is being diagnosed."""
        return self._job is not None

    def _lit_changed(self, lit: Lit | None) -> None:
        asked = None if lit is None or lit.at < 0 else (lit.key, lit.at)
        if asked == self._asked:
            return
        self._asked = asked
        if self._job is not None:
            self._job.cancel()
            self._job = None
        if lit is None or asked is None:
            return
        capture = self._document.capture
        job = Job(lambda _progress, is_cancelled: _diagnosed(capture, lit, is_cancelled), self)
        self._job = job

        def show(found: Finding | None) -> None:
            if self._job is job:
                self._job = None
                self._show(lit, found)

        def ended(_error: object = None) -> None:
            if self._job is job:
                self._job = None

        job.succeeded.connect(show)
        # The chain of the finding stays: it is true, of another of its instances.
        job.failed.connect(ended)
        job.cancelled.connect(ended)
        job.launch()

    def _show(self, lit: Lit, found: Finding | None) -> None:
        state = self._document.state
        if found is None or state.lit is None or (state.lit.key, state.lit.at) != (lit.key, lit.at):
            return
        last = max(len(self._document.capture.events) - 1, 0)
        hops = tuple(LitHop(min(hop.row, last), hop_text(hop)) for hop in found.chain)
        rows = np.array([hop.row for hop in hops if hop.row >= 0], np.int64)
        state.set_lit(replace(state.lit, hops=hops, rows=np.union1d(state.lit.rows, rows)))
        self.found.emit(found)


def _diagnosed(capture: Capture, lit: Lit, is_cancelled: IsCancelled) -> Finding | None:
    """What the stretch alone tells of the finding that is lit up; None where it tells nothing."""
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.framework.selection import Selection, View

    assert lit.instance is not None
    start, stop = lit.instance
    of = capture.tracks[lit.tracks[0]].uri if lit.tracks else None
    kind = lit.key.partition("|")[0]
    # Without what ended it nobody can tell what was waited for: that begins at once, or a little later.
    for more in (1, 1 + (stop - start) // 4):
        view = View(capture, Selection(start, min(stop + more, capture.span[1])), is_cancelled)
        found = diagnose(view, of=of).findings
        same = [finding for finding in found if finding.id == kind and finding.chain]
        if same:
            return max(same, key=lambda one: one.time_ns)
    return None
