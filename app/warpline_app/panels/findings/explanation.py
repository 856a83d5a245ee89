"""The causes of a finding as a list; each line leads to its event."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from warpline.analysis.findings.finding import Finding, Hop
from warpline.i18n import tr, translated
from warpline.model.times import format_duration
from warpline_app.look.plain import plain
from warpline_app.look.widgets import muted_label
from warpline_app.panels.findings.evidence import hop_text


class HopButton(QPushButton):
    """One line, elided rather than widening the panel."""

    def __init__(self, number: int, hop: Hop) -> None:
        time = hop.stop_ns - hop.start_ns
        length = tr(" · up to {time}", time=format_duration(time)) if time > 0 else ""
        super().__init__(f"{number}   {hop_text(hop)}{length}")
        self.setObjectName("link")
        self.setToolTip(plain(str(hop.where)))
        self.setEnabled(hop.row >= 0 or time > 0)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())


class Explanation(QWidget):
    """Numbered as on the timeline."""

    hop_chosen = Signal(object)
    """a Hop to show"""

    def __init__(self, finding: Finding, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 2)
        column.setSpacing(0)
        self.buttons: list[HopButton] = []
        for number, hop in enumerate(finding.chain, 1):
            button = HopButton(number, hop)
            button.clicked.connect(lambda _checked, hop=hop: self.hop_chosen.emit(hop))
            column.addWidget(button)
            self.buttons.append(button)
        if not finding.chain:
            column.addWidget(_muted(tr("No cause was recorded.")))
        if finding.needs:
            column.addWidget(_muted(translated(finding.needs)))


def _muted(text: str) -> QLabel:
    label = muted_label(text)
    label.setWordWrap(True)
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return label
