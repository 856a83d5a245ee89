"""Time range of an export: selected, visible, whole capture, or typed."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLineEdit, QRadioButton, QVBoxLayout, QWidget

from warpline.i18n import tr
from warpline.model import format_duration, format_time
from warpline.model.times import parse_time
from warpline_app.look.plain import PlainLabel
from warpline_app.state.timeline_state import TimelineState

_FIELD_PX = 140


class RangeChoice(QWidget):
    """The range of an export. Times are shown and read as on the ruler, from its origin."""

    changed = Signal()

    def __init__(self, state: TimelineState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        selected, view, span = state.range_selection, state.view, state.span
        self.selected = QRadioButton(
            tr("Selected range: {range}", range=self._text(selected))
            if selected
            else tr("Selected range: none")
        )
        self.selected.setEnabled(selected is not None)
        self.visible = QRadioButton(tr("Visible range: {range}", range=self._text(view)))
        self.whole = QRadioButton(tr("Whole capture: {length}", length=format_duration(span[1] - span[0])))
        self.from_to = QRadioButton(tr("From"))
        self.first, self.last = (QLineEdit(text) for text in self._texts(selected or view))
        self.group = QButtonGroup(self)
        for button in (self.selected, self.visible, self.whole, self.from_to):
            self.group.addButton(button)
        (self.selected if selected else self.whole).setChecked(True)
        self.group.buttonToggled.connect(self.changed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for button in (self.selected, self.visible, self.whole):
            layout.addWidget(button)
        layout.addLayout(self._from_to_line())

    def _from_to_line(self) -> QHBoxLayout:
        line = QHBoxLayout()
        line.addWidget(self.from_to)
        line.addWidget(self.first)
        line.addWidget(PlainLabel(tr("to", "range")))
        line.addWidget(self.last)
        line.addStretch(1)
        for field, name in ((self.first, tr("Start of the range")), (self.last, tr("End of the range"))):
            text_px = field.fontMetrics().horizontalAdvance(field.text()) + 24
            field.setFixedWidth(max(_FIELD_PX, text_px))
            field.setAccessibleName(name)
            field.setToolTip(tr("A time on the ruler, with its unit: 1.5 s, 20 ms, 300 µs"))
            # Typing a time chooses this option.
            field.textEdited.connect(lambda _text: self.from_to.setChecked(True))
            field.textEdited.connect(lambda _text: self.changed.emit())
        return line

    def _texts(self, bounds: tuple[int, int]) -> tuple[str, str]:
        # To the nanosecond: an event in the last digit would be left out.
        origin = self._state.origin_ns
        return format_time(bounds[0] - origin), format_time(bounds[1] - origin)

    def _text(self, bounds: tuple[int, int]) -> str:
        """Rounded: a thousandth of the length tells the ends apart."""
        step_ns = 10 ** (len(str(max(1, (bounds[1] - bounds[0]) // 1000))) - 1)
        times = ((time - self._state.origin_ns + step_ns // 2) // step_ns * step_ns for time in bounds)
        return " – ".join(format_time(time, step_ns) for time in times)

    def bounds(self) -> tuple[int | None, int | None]:
        """Start and stop in capture time; None where the range is unlimited.

        Raises ValueError with a message for the user when the typed range is invalid.
        """
        if self.visible.isChecked():
            return self._state.view
        if self.selected.isChecked() and self._state.range_selection is not None:
            return self._state.range_selection
        if self.from_to.isChecked():
            return self._typed()
        return None, None

    def _typed(self) -> tuple[int, int]:
        try:
            start, stop = (
                parse_time(field.text()) + self._state.origin_ns for field in (self.first, self.last)
            )
        except ValueError as error:
            raise ValueError(tr("Not a time; for example 1.5 s, 20 ms or 300 µs")) from error
        low, high = self._state.span
        if stop <= start:
            raise ValueError(tr("The range ends before it starts"))
        if stop <= low or start >= high:
            raise ValueError(tr("The capture has no data in this range"))
        return max(start, low), min(stop, high)
