"""A finding as a card: statement, potential gain, place, remedy."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.wording import finding_sentence
from warpline.i18n import tr, translated
from warpline.model.frames import file_name
from warpline.model.times import format_duration
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.look.theme import Theme
from warpline_app.look.widgets import muted_label
from warpline_app.look.wrapped import WrappedLabel
from warpline_app.look.wrapping_row import WrappingRow
from warpline_app.panels.findings.sign import SeveritySign, severity_title

_MOST_TIMES = 20


def gain_text(finding: Finding, whole_ns: int) -> tuple[str, str]:
    """Upper bounds of the gain as time and speed-up; the speed-up is empty if insignificant."""
    if finding.gain_ns <= 0:
        return "", ""
    rest = whole_ns - finding.gain_ns
    factor = whole_ns / rest if rest > 0 else float("inf")
    time = tr("up to {time} less", time=format_duration(finding.gain_ns))
    return time, tr("up to {factor:.1f}× faster", factor=factor) if 1.05 <= factor <= _MOST_TIMES else ""


def where_text(where: Where) -> str:
    """The place with the file's base name; the tooltip has the path."""
    place = f"{where.function} ({file_name(where.file)}:{where.line})" if where.file else where.function
    rank = "" if where.rank is None else tr("rank {number}", number=where.rank)
    parts = (where.module, where.operator, where.kernel, place, where.thread, rank)
    return " · ".join(part for part in parts if part)


class FindingCard(QFrame):
    """Shows a finding; a click, Return or Space selects it."""

    chosen = Signal()
    key_pressed = Signal(object)
    """a QKeyEvent the card did not handle; the receiver accepts it"""
    explained = Signal()
    """an explanation was opened"""
    menu_wanted = Signal(QPoint)
    """global position for the card's menu"""

    def __init__(self, finding: Finding, whole_ns: int, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.finding = finding
        self.setObjectName("card")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.sign = SeveritySign(finding.severity, theme)
        self.text = WrappedLabel(finding_sentence(finding))
        self.where = ElidedLabel(where_text(finding.where), mode=Qt.TextElideMode.ElideMiddle)
        self.where.setObjectName("muted")
        self.where.setToolTip(plain(str(finding.where)))
        self.remedy = WrappedLabel("→ " + translated(finding.remedy))
        time, factor = gain_text(finding, whole_ns)
        self.share = PlainLabel("< 1 %" if 0 < finding.share < 0.005 else f"{100 * finding.share:.0f} %")
        self.share.setObjectName("figure")
        self.share.setToolTip(
            plain(
                tr(
                    "{time} of {whole}",
                    time=format_duration(finding.time_ns),
                    whole=format_duration(whole_ns),
                )
                + "\n"
                + tr(
                    "Waits are traced to whatever ended them, and counted there. Summary counts each row's own time."
                )
            )
        )
        if not finding.time_ns:
            self.share.hide()  # long steps have no time of their own; the budget lists it under its causes
        self.gain = muted_label("\n".join(part for part in (factor, time) if part))
        self.gain.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.gain.setToolTip(tr("Upper bound: computed by replaying the timeline without this cost"))
        self.tools = QWidget()
        self.tools.hide()
        self.place: QLabel | None = None
        """Shows the current instance's number."""
        self.explanation: QWidget | None = None
        self._arrange()
        self.setAccessibleName(f"{severity_title(finding.severity)}: {finding_sentence(finding)}")
        self.setAccessibleDescription(translated(finding.remedy))

    def _arrange(self) -> None:
        figures = QVBoxLayout()
        figures.setSpacing(1)
        figures.addWidget(self.share, 0, Qt.AlignmentFlag.AlignRight)
        figures.addWidget(self.gain, 0, Qt.AlignmentFlag.AlignRight)
        figures.addStretch(1)
        texts = self._texts = QVBoxLayout()
        texts.setSpacing(3)
        texts.addWidget(self.text)
        if self.where.text():
            texts.addWidget(self.where)
        texts.addWidget(self.remedy)
        if self.finding.needs:
            needs = WrappedLabel(translated(self.finding.needs))
            needs.setObjectName("muted")
            texts.addWidget(needs)
        texts.addWidget(self.tools)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 8, 12, 8)
        row.setSpacing(10)
        row.addWidget(self.sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        row.addLayout(figures)

    def set_tools(self, widgets: list[QWidget]) -> None:
        """Set the buttons shown while the card is selected."""
        row = WrappingRow(spacing_px=6)
        row.setContentsMargins(0, 3, 0, 0)
        self.tools.setLayout(row)
        for widget in widgets:
            row.add(widget)

    def set_explanation(self, widget: QWidget | None) -> None:
        """Show a widget below the buttons; None removes it."""
        if self.explanation is not None:
            self.explanation.hide()
            self.explanation.deleteLater()
        self.explanation = widget
        if widget is not None:
            self._texts.addWidget(widget)
            self.explained.emit()

    def show_place(self, at: int, count: int) -> None:
        """Show the current instance's number; −1 for none."""
        if self.place is not None:
            number = f"{at + 1:,}" if at >= 0 else "–"
            self.place.setText(tr("{number} of {count:,}", number=number, count=count))

    def set_selected(self, on: bool) -> None:
        """Mark the card as highlighted in the timeline."""
        self.setProperty("selected", on)
        self.style().unpolish(self)
        self.style().polish(self)
        self.tools.setVisible(on)

    @property
    def is_selected(self) -> bool:
        """Whether the card is highlighted."""
        return bool(self.property("selected"))

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self.sign.theme = theme
        self.sign.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select the card."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.setFocus()
            self.chosen.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the card's menu."""
        self.menu_wanted.emit(event.globalPos())

    def event(self, event: QEvent) -> bool:
        """The card's keys take precedence over shortcuts."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and _is_own(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Select on Return and Space; pass other keys to the panel."""
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}:
            self.chosen.emit()
            return
        event.ignore()
        self.key_pressed.emit(event)
        if not event.isAccepted():
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus frame."""
        super().focusInEvent(event)
        self.update()


def _is_own(event: QKeyEvent) -> bool:
    own = {
        Qt.Key.Key_Return,
        Qt.Key.Key_Enter,
        Qt.Key.Key_Space,
        Qt.Key.Key_Up,
        Qt.Key.Key_Down,
        Qt.Key.Key_E,
        Qt.Key.Key_Delete,
    }
    is_plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
    return event.matches(QKeySequence.StandardKey.Copy) or (is_plain and event.key() in own)
