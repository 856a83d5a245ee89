"""What the hardware waited for: the time budget of the selected range and its findings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QSplitter, QVBoxLayout, QWidget

from warpline.analysis.findings.finding import Budget, BudgetPart, Diagnosis, Finding
from warpline.analysis.findings.wording import headline, verdict
from warpline.analysis.framework.report import NotRecorded
from warpline.i18n import sentences, tr, translated
from warpline.model.errors import UsageError
from warpline.model.progress import IsCancelled, Progress
from warpline.model.times import format_duration
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import muted_label, single_shot
from warpline_app.panels.findings.actions import FindingActions
from warpline_app.panels.findings.budget_bar import BudgetBar
from warpline_app.panels.findings.card_list import CardList
from warpline_app.panels.findings.cause_ranges import CauseRanges
from warpline_app.panels.findings.evidence import CAUSE, finding_key, is_about, lit_of_cause
from warpline_app.panels.findings.instance_chain import InstanceChain
from warpline_app.panels.findings.step_stack import StepStack
from warpline_app.panels.frame.computed import ComputedPanel

if TYPE_CHECKING:
    from warpline_app.open.document import Document
    from warpline_app.panels.findings.cause_ranges import Int64Array

AT_MOST = 5
"""Cards shown at first."""
_LATE_MS = 400
"""Slower computations show their progress."""


@dataclass(frozen=True)
class FindingsRequest:
    """The range, and the URI of the track to diagnose; None for the analysis's choice in the whole capture."""

    range_ns: tuple[int, int] | None
    of: str | None = None


class FindingsPanel(ComputedPanel):
    """The first panel shown for a capture; follows the selected range."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.diagnosis: Diagnosis | None = None
        self.budget = BudgetBar(self.theme)
        self.cards = CardList(AT_MOST)
        self.verbs = FindingActions(document, self)
        self.cards.created.connect(self.verbs.add_tools)
        self.cards.chosen.connect(self.verbs.highlight)
        self.cards.all_wanted.connect(lambda: self.state.set_lit(None))
        self.causes = CauseRanges(document, self)
        self.causes.found.connect(self._cause_found)
        self.budget.part_chosen.connect(self._choose_cause)
        self.cards.key_pressed.connect(self.verbs.key)
        self.cards.dismissed.restore_wanted.connect(document.dismissals.restore)
        self.cards.dismissed.undo_wanted.connect(document.dismissals.undo)
        self.instances = InstanceChain(document, self)
        self.instances.found.connect(self._instance_found)
        document.dismissals.changed.connect(self._dismissals_changed)
        self.state.lit_changed.connect(self._lit_changed)
        self.body = QWidget()
        column = QVBoxLayout(self.body)
        column.setContentsMargins(12, 10, 12, 0)
        column.setSpacing(8)
        column.addWidget(self.budget)
        self.steps = StepStack(self.theme)
        self.steps.step_chosen.connect(self.state.select_range)
        self.steps.hide()
        self._steps_of: str | None = None
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setChildrenCollapsible(False)
        split.addWidget(self.cards)
        split.addWidget(self.steps)
        split.setSizes([700, 300])
        column.addWidget(split, 1)
        self._laying_out = QTimer(self)
        self._laying_out.setSingleShot(True)
        self._laying_out.setInterval(0)
        self._add_progress_line()
        self.arrange((), self.body)
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.insertWidget(0, self.watch)
        self.state.range_selection_changed.connect(self._range_changed)
        self.state.track_selection_changed.connect(self.mark_stale)

    def _add_progress_line(self) -> None:
        """Create the progress line for slow computations."""
        self.watch = QWidget()
        self.progress_bar = QProgressBar()
        self.progress_bar.setRange(0, 1000)
        self.progress_bar.setTextVisible(False)
        self.doing = muted_label()
        self.stop = QPushButton(tr("Cancel"))
        self.stop.clicked.connect(self._stop_or_begin)
        row = QHBoxLayout(self.watch)
        row.setContentsMargins(12, 6, 12, 0)
        row.addWidget(self.doing)
        row.addWidget(self.progress_bar, 1)
        row.addWidget(self.stop)
        self.watch.hide()
        self._is_stopped = False
        self._late = single_shot(self, _LATE_MS, self.watch.show)

    @property
    def is_busy(self) -> bool:
        """Whether something is being computed or laid out."""
        others = (self.instances, self.causes)
        return super().is_busy or self._laying_out.isActive() or any(other.is_busy for other in others)

    def _range_changed(self, _range: object) -> None:
        """Wait for the drag to end and cancel a computation for another range."""
        self._drag_timer.start()
        if self._job is not None and self._running != self.request():
            self._job.cancel()

    def request(self) -> FindingsRequest:
        """The selected range of the selected row."""
        key = self.state.track_selection
        uri = None if key is None else key.partition("#")[0]
        known = uri in {track.uri for track in self.document.capture.tracks}
        return FindingsRequest(self.state.range_selection, uri if known else None)

    def refresh(self) -> None:
        """Start the requested computation."""
        is_new = self._job is None
        super().refresh()
        if is_new and self._job is not None:
            self._is_stopped = False
            self.stop.setText(tr("Cancel"))
            self.progress_bar.setValue(0)
            self._late.start()

    def compute_watched(
        self, request: FindingsRequest, progress: Progress, is_cancelled: IsCancelled
    ) -> Diagnosis:
        """Diagnose the range."""
        # Imported late because it is slow; by now the timeline's first frame is drawn.
        from warpline.analysis.findings.diagnose import diagnose
        from warpline.analysis.framework.selection import Selection, View
        from warpline.library.kept_diagnoses import whole_diagnosis

        if request == FindingsRequest(None):
            return whole_diagnosis(self.document.capture, progress, is_cancelled)
        start, stop = request.range_ns or (None, None)
        view = View(self.document.capture, Selection(start, stop), is_cancelled)
        if request.of is None:
            return diagnose(view, progress)
        try:
            return diagnose(view, progress, of=request.of)
        except UsageError:
            # Counters and cores have no time budget; show that of the whole capture.
            return diagnose(view, progress)

    def show_progress(self, fraction: float, text: str) -> None:
        self.progress_bar.setValue(round(1000 * fraction))
        self.doing.setText(text)

    def _stop_or_begin(self) -> None:
        if self._job is None:
            self.forget()
            return
        # Count the request as shown, so that it does not restart at once.
        self._shown = self._running
        self._is_stopped = True
        self._job.cancel()

    def _ended(self) -> None:
        super()._ended()
        if self._job is None:
            self._late.stop()
            self.watch.setVisible(self._is_stopped)
            self.doing.setText(tr("Stopped: these findings are not for the selected range"))
            self.stop.setText(tr("Compute"))

    def show_result(self, request: FindingsRequest, result: Diagnosis) -> None:
        """Show a diagnosis."""
        self.diagnosis = result
        self.verbs.budget = result.budget
        self._laying_out.start()
        if result.budget is None:
            self.set_badge("")
            self.say_missing(NotRecorded(result.reason, result.remedy))
            return
        self.show_content()
        self.budget.show_budget(result.budget, result.notices)
        self._show_steps(request, result.budget)
        self._show_cards(result, result.budget)
        self._lay_out()
        self.set_scope(self._scope_of(request, result.budget))

    def _show_steps(self, request: FindingsRequest, budget: Budget) -> None:
        """Keep all of the capture's steps selectable while one of them is the selected range."""
        known = self.steps.budget
        is_of_other = request.of != self._steps_of
        self._steps_of = request.of
        if request.range_ns is None or known is None or is_of_other or len(budget.steps) > len(known.steps):
            self.steps.show_budget(budget)
        self.steps.mark_range(request.range_ns)
        self.steps.setVisible(self.steps.budget is not None and len(self.steps.budget.steps) > 1)

    def _lay_out(self) -> None:
        """Activate layouts from the inside out, so that new texts are never clipped."""
        for widget in (self.budget, self.body, self):
            layout = widget.layout()
            if layout is not None:
                layout.activate()
        self.cards.lay_out()

    def _show_cards(self, found: Diagnosis, budget: Budget) -> None:
        reasons = self.document.dismissals.reasons
        shown = tuple(finding for finding in found.findings if finding_key(finding) not in reasons)
        dismissed = tuple(finding for finding in found.findings if finding_key(finding) in reasons)
        summary = sentences((headline(found), verdict(replace(found, findings=shown))))
        self.cards.show_findings(shown, budget.stop_ns - budget.start_ns, self.theme, summary)
        can_undo = self.document.dismissals.can_undo
        self.cards.dismissed.show_dismissed(dismissed, reasons, can_undo=can_undo)
        notable = sum(finding.severity != "note" for finding in shown)
        self.set_badge(str(notable) if notable else "")
        lit = self.state.lit
        if lit is not None:
            same = next((finding for finding in shown if finding_key(finding) == lit.key), None)
            self.verbs.follow(same)
        self._mark_lit()

    def _dismissals_changed(self) -> None:
        if self.diagnosis is not None and self.diagnosis.budget is not None:
            self._show_cards(self.diagnosis, self.diagnosis.budget)

    def _lit_changed(self, _lit: object) -> None:
        self._mark_lit()

    def _instance_found(self, instance: Finding) -> None:
        """Update open explanations to the current instance."""
        for card in self.cards.cards:
            if card.is_selected and card.explanation is not None:
                self.verbs.explain_as(card, replace(card.finding, chain=instance.chain))

    def _choose_cause(self, part: BudgetPart) -> None:
        """Highlight when the time of a part was, and keep its findings; a second click ends that."""
        lit, request = self.state.lit, self._shown
        if lit is not None and lit.key == CAUSE + part.cause:
            self.state.set_lit(None)
        elif isinstance(request, FindingsRequest) and self.diagnosis is not None:
            self.causes.find(part, request.range_ns, request.of)

    def _cause_found(self, part: BudgetPart, ranges: Int64Array) -> None:
        budget = self.diagnosis.budget if self.diagnosis is not None else None
        if budget is not None:
            self.state.set_lit(lit_of_cause(self.document.capture, part, ranges, budget.tracks))

    def _show_cause(self) -> None:
        """Frame the highlighted part of the budget, and show only its findings."""
        lit = self.state.lit
        if lit is None or not lit.key.startswith(CAUSE):
            self.budget.set_chosen("")
            self.cards.keep(None)
            return
        self.budget.set_chosen(lit.key.removeprefix(CAUSE))
        cards = enumerate(self.cards.cards)
        self.cards.keep(frozenset(number for number, card in cards if is_about(card.finding, lit.ranges)))

    def _mark_lit(self) -> None:
        """Select the highlighted finding's card and show the instance number."""
        self._show_cause()
        lit = self.state.lit
        for card in self.cards.cards:
            is_lit = lit is not None and finding_key(card.finding) == lit.key
            if is_lit != card.is_selected:
                card.set_selected(is_lit)
                if is_lit:
                    self.cards.scroll_to(card)
            if is_lit and lit is not None:
                card.show_place(lit.at, len(lit))

    def _scope_of(self, request: FindingsRequest, budget: Budget) -> str:
        who, time = translated(budget.waited_for), format_duration(budget.stop_ns - budget.start_ns)
        if request.range_ns is not None:
            return tr("{who} · selected range · {time}", who=who, time=time)
        if self.document.live_edge is not None:
            return tr("{who} · so far · {time}", who=who, time=time)
        if (budget.start_ns, budget.stop_ns) == self.document.capture.span:
            return tr("{who} · whole capture · {time}", who=who, time=time)
        return f"{who} · {time}"

    def apply_theme(self, theme: Theme) -> None:
        self.budget.set_theme(theme)
        self.cards.set_theme(theme)
        self.steps.theme = theme
