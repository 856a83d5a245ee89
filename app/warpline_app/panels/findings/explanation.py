"""What a finding rests on: its chain and longest events, each a link, its numbers, and what would refute it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from warpline.analysis.findings.finding import Budget, Finding, Hop, Where
from warpline.analysis.findings.refutations import refutation
from warpline.analysis.findings.why import event_line, longest_events, number_lines
from warpline.i18n import tr, translated
from warpline.model.times import format_duration
from warpline_app.look.plain import plain
from warpline_app.look.wrapped import WrappedLabel
from warpline_app.panels.findings.evidence import hop_text

if TYPE_CHECKING:
    from warpline.storage import Capture


class LinkButton(QPushButton):
    """One line, elided rather than widening the panel."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setObjectName("link")
        self.setToolTip(plain(text))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())


class HopButton(LinkButton):
    """A link of the chain."""

    def __init__(self, number: int, hop: Hop) -> None:
        time = hop.stop_ns - hop.start_ns
        length = tr(" · up to {time}", time=format_duration(time)) if time > 0 else ""
        super().__init__(f"{number}   {hop_text(hop)}{length}")
        self.setToolTip(plain(str(hop.where)))
        self.setEnabled(hop.row >= 0 or time > 0)


class Explanation(QWidget):
    """The chain, numbered as on the timeline; with a budget and capture also what ``check --why`` prints."""

    hop_chosen = Signal(object)
    """a Hop to show"""

    def __init__(
        self,
        finding: Finding,
        budget: Budget | None = None,
        capture: Capture | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 2)
        column.setSpacing(0)
        self.buttons: list[HopButton] = []
        self.events: list[LinkButton] = []
        for number, hop in enumerate(finding.chain, 1):
            button = HopButton(number, hop)
            button.clicked.connect(lambda _checked, hop=hop: self.hop_chosen.emit(hop))
            column.addWidget(button)
            self.buttons.append(button)
        if not finding.chain:
            column.addWidget(_muted(tr("No cause was recorded.")))
        if budget is not None and capture is not None:
            for line in number_lines(finding, budget, capture.span[0]):
                column.addWidget(_muted(line))
            for row in longest_events(finding, capture):
                event = LinkButton(event_line(capture, row))
                event.clicked.connect(lambda _checked, row=row: self.hop_chosen.emit(Hop("", Where(), row)))
                column.addWidget(event)
                self.events.append(event)
            column.addWidget(_muted(translated(refutation(finding))))
        if finding.needs:
            column.addWidget(_muted(translated(finding.needs)))


def _muted(text: str) -> QLabel:
    label = WrappedLabel(text)
    label.setObjectName("muted")
    return label
