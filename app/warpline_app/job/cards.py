"""A job's findings as cards; selecting one shows its ranks on the map."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from warpline.analysis.jobs.job_findings import JobFinding
from warpline.i18n import tr, translated
from warpline.model.times import format_duration
from warpline_app.look.appearance import appearance
from warpline_app.look.plain import PlainLabel
from warpline_app.look.widgets import flat_column
from warpline_app.open.job.board import Chosen, JobBoard
from warpline_app.panels.findings.sign import SeveritySign, severity_title


class JobFindingCard(QFrame):
    """One finding; a click, Return or Space selects it."""

    chosen = Signal()

    def __init__(self, finding: JobFinding, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.finding = finding
        self.setObjectName("card")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.sign = SeveritySign(finding.severity, appearance().theme)
        title = PlainLabel(translated(finding.title))
        title.setObjectName("subhead")
        texts = QVBoxLayout()
        texts.setSpacing(3)
        texts.addWidget(title)
        for text in (translated(finding.text), "→ " + translated(finding.remedy) if finding.remedy else ""):
            if text:
                label = PlainLabel(text)
                label.setTextFormat(Qt.TextFormat.PlainText)
                label.setWordWrap(True)
                label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
                texts.addWidget(label)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 8, 12, 8)
        row.setSpacing(10)
        row.addWidget(self.sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        if finding.cost_ns:
            cost = PlainLabel(format_duration(finding.cost_ns))
            cost.setObjectName("figure")
            cost.setToolTip(tr("Time lost by all ranks together"))
            row.addWidget(cost, 0, Qt.AlignmentFlag.AlignTop)
        self.setAccessibleName(f"{severity_title(finding.severity)}: {translated(finding.title)}")
        self.setAccessibleDescription(translated(finding.text))

    def set_selected(self, is_selected: bool) -> None:
        """Highlight the card, or not."""
        self.setProperty("selected", "true" if is_selected else "false")
        self.style().unpolish(self)
        self.style().polish(self)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select the card."""
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Select the card on Return and Space."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.chosen.emit()
        else:
            super().keyPressEvent(event)


class JobFindingCards(QScrollArea):
    """All findings of a job, worst first."""

    def __init__(self, board: JobBoard, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._board = board
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSizeAdjustPolicy(QScrollArea.SizeAdjustPolicy.AdjustToContents)
        inside = QWidget()
        inside.setObjectName("panel")
        column = flat_column(inside)
        self.cards: list[JobFindingCard] = []
        for finding in board.job.findings:
            card = JobFindingCard(finding)
            card.chosen.connect(lambda card=card: self.choose(card))
            self.cards.append(card)
            column.addWidget(card)
        column.addStretch(1)
        self.setWidget(inside)

    def choose(self, card: JobFindingCard) -> None:
        """Select the finding's ranks on the map and make the first one current."""
        for other in self.cards:
            other.set_selected(other is card)
        board = self._board
        rows = [row for rank in card.finding.ranks if (row := board.map.row_of(rank)) is not None]
        steps = len(board.map.steps)
        if not rows or not steps:
            return
        step = board.current[1] if board.current is not None else 0
        board.choose(Chosen(frozenset(rows), 0, steps - 1))
        board.set_current((rows[0], step))
