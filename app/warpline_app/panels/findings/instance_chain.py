"""Computes the causes of the current instance; the finding lists those of one instance only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Signal

from warpline.analysis.findings.finding import Finding
from warpline.model.progress import IsCancelled
from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.panels.findings.evidence import CAUSE, hop_text
from warpline_app.state.lit import Lit, LitHop

if TYPE_CHECKING:
    from warpline.storage import Capture


class InstanceChain(QObject):
    """Diagnoses the current instance in the background; the newest request wins."""

    found = Signal(object)
    """a Finding about this instance alone"""

    def __init__(self, document: Document, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._job: Job | None = None
        self._instance: tuple[str, int] | None = None
        document.state.lit_changed.connect(self._lit_changed)

    @property
    def is_busy(self) -> bool:
        """Whether an instance is being diagnosed."""
        return self._job is not None

    def _lit_changed(self, lit: Lit | None) -> None:
        instance = None if lit is None or lit.at < 0 else (lit.key, lit.at)
        if instance == self._instance:
            return
        self._instance = instance
        if self._job is not None:
            self._job.cancel()
            self._job = None
        if lit is None or instance is None or lit.key.startswith(CAUSE):
            return
        capture = self._document.capture
        job = Job(lambda _progress, is_cancelled: _diagnose(capture, lit, is_cancelled), self)
        self._job = job

        def show(found: Finding | None) -> None:
            if self._job is job:
                self._job = None
                self._show(lit, found)

        def ended(_error: object = None) -> None:
            if self._job is job:
                self._job = None

        job.succeeded.connect(show)
        # On failure, the finding's own causes stay, which apply to another instance.
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


def _diagnose(capture: Capture, lit: Lit, is_cancelled: IsCancelled) -> Finding | None:
    """Diagnose the current instance for the highlighted finding; None without a result."""
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.framework.selection import Selection, View

    assert lit.instance is not None
    start, stop = lit.instance
    uri = capture.tracks[lit.tracks[0]].uri if lit.tracks else None
    kind = lit.key.partition("|")[0]
    # The cause is known only together with the event that ended the wait, right after it or a little later.
    for more in (1, 1 + (stop - start) // 4):
        view = View(capture, Selection(start, min(stop + more, capture.span[1])), is_cancelled)
        findings = diagnose(view, of=uri).findings
        same = [finding for finding in findings if finding.id == kind and finding.chain]
        if same:
            return max(same, key=lambda finding: finding.time_ns)
    return None
