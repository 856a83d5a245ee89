"""Findings for pages: computed in a thread, again when a running recording has grown, and told as plain values."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QObject

from warpline.i18n import sentences, translated
from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.background import Job
from warpline_app.panels.findings.card import gain_text, where_text

if TYPE_CHECKING:
    from warpline.analysis.findings.finding import Diagnosis, Finding
    from warpline.storage import Capture
    from warpline_app.open.document import Document

RENEWED_AFTER_S = 5.0
_MOST_SHARE = 0.1
"""Share of the time in which a running recording's findings are computed."""
MOST_FINDINGS = 50
MOST_INSTANCES = 1_000


@dataclass(frozen=True)
class _Result:
    generation: int
    values: dict[str, Any]
    findings: tuple[Finding, ...]
    ended_s: float
    took_s: float


class PageFindings(QObject):
    """The findings of a document. Questions that arrive while they are computed are answered once they are known."""

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._result: _Result | None = None
        self._job: Job | None = None
        self._waiting: list[Callable[[dict[str, Any]], None]] = []
        self.generation = 0
        """Of the document's capture; see `ShownTimeline`."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of the present capture; none while they are not known."""
        result = self._result
        return result.findings if result is not None and result.generation == self.generation else ()

    def ask(self, answer: Callable[[dict[str, Any]], None]) -> None:
        """Pass the findings to ``answer``, now or later."""
        result = self._result
        if result is not None and not self._is_old(result):
            answer(result.values)
            return
        self._waiting.append(answer)
        if self._job is None:
            self._begin()

    def _is_old(self, result: _Result) -> bool:
        if result.generation == self.generation:
            return False
        if self._document.live_edge is None:
            return True
        rest_s = max(RENEWED_AFTER_S, result.took_s / _MOST_SHARE)
        return time.monotonic() - result.ended_s >= rest_s

    def _begin(self) -> None:
        document, generation, begun_s = self._document, self.generation, time.monotonic()
        capture, home_ns = document.capture, document.state.span[0]
        is_live = document.live_edge is not None
        # The capture of a running recording is replaced meanwhile.
        document.keep(capture)

        def work(_progress: Progress, is_cancelled: IsCancelled) -> _Result:
            diagnosis = _diagnosis(capture, is_cancelled)
            values = diagnosis_values(capture, diagnosis, home_ns)
            now_s = time.monotonic()
            return _Result(
                generation,
                {**values, "is_live": is_live},
                diagnosis.findings[:MOST_FINDINGS],
                now_s,
                now_s - begun_s,
            )

        job = self._job = Job(work, self)

        def done(result: _Result) -> None:
            self._result = result
            self._end(capture, result.values)

        job.succeeded.connect(done)
        job.failed.connect(lambda error: self._end(capture, _nothing(str(error), is_live=is_live)))
        job.launch()

    def _end(self, capture: Capture, values: dict[str, Any]) -> None:
        self._job = None
        self._document.release(capture)
        waiting, self._waiting = self._waiting, []
        for answer in waiting:
            answer(values)

    def stop(self) -> None:
        """Compute no longer."""
        self._waiting.clear()
        if self._job is not None:
            self._job.cancel()


def _diagnosis(capture: Capture, is_cancelled: IsCancelled) -> Diagnosis:
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.framework.selection import Selection, View

    return diagnose(View(capture, Selection(None, None), is_cancelled), lambda _fraction, _text: None)


def _nothing(reason: str, *, is_live: bool) -> dict[str, Any]:
    return {"findings": [], "headline": "", "reason": reason, "is_live": is_live}


def diagnosis_values(capture: Capture, diagnosis: Diagnosis, home_ns: int) -> dict[str, Any]:
    """A diagnosis in the user's language; times count from ``home_ns``."""
    from warpline.analysis.findings.wording import headline, verdict

    budget = diagnosis.budget
    if budget is None:
        reason = "; ".join(
            part for part in (translated(diagnosis.reason), translated(diagnosis.remedy)) if part
        )
        return {"findings": [], "headline": "", "reason": reason}
    whole_ns = max(budget.stop_ns - budget.start_ns, 1)
    texts = (headline(diagnosis), *map(translated, diagnosis.notices), verdict(diagnosis))
    return {
        "findings": [
            finding_values(capture, finding, whole_ns, home_ns)
            for finding in diagnosis.findings[:MOST_FINDINGS]
        ],
        "headline": sentences(text if text.endswith((".", "。")) else f"{text}." for text in texts if text),
        "reason": "",
    }


def finding_values(capture: Capture, finding: Finding, whole_ns: int, home_ns: int) -> dict[str, Any]:
    """What a card says of a finding, and when its instances were."""
    from warpline.analysis.findings.wording import finding_sentence

    ranges = finding.evidence.ranges
    if not len(ranges) and finding.evidence.rows:
        rows = np.clip(np.array(finding.evidence.rows, np.int64), 0, max(len(capture.events) - 1, 0))
        ranges = np.column_stack(capture.event_times(np.unique(rows))).astype(np.int64)
        ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    if len(ranges) > MOST_INSTANCES:
        longest = np.argsort(ranges[:, 0] - ranges[:, 1], kind="stable")[:MOST_INSTANCES]
        ranges = ranges[np.sort(longest)]
    time, factor = gain_text(finding, whole_ns)
    share = "< 1 %" if 0 < finding.share < 0.005 else f"{100 * finding.share:.0f} %"
    return {
        "id": finding.id,
        "severity": str(finding.severity),
        "sentence": finding_sentence(finding),
        "where": where_text(finding.where),
        "remedy": translated(finding.remedy),
        "share": share if finding.time_ns else "",
        "gain": [text for text in (factor, time) if text],
        "instances": (ranges - home_ns).tolist(),
        "longest": int((ranges[:, 1] - ranges[:, 0]).argmax()) if len(ranges) else -1,
    }
