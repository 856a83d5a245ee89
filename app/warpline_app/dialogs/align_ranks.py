"""Analyze → Align ranks…: the clocks of a capture, how each was aligned, and a shift for each."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr
from warpline.interchange.framework.ranks import clock_text
from warpline.model import format_duration
from warpline.model.times import NS_PER_UNIT, parse_time
from warpline_app.look.plain import PlainLabel
from warpline_app.open.alignment import FURTHEST_NS, ClockShifts, MovableClock, movable_clocks
from warpline_app.open.document import Document
from warpline_app.open.workspace import Workspace

UNITS = ("ns", "µs", "ms")
_STEP_MS = 120
"""Repeated key presses shift the timeline after this pause."""
_ROWS_SHOWN = 10


def shift_text(shift_ns: int, unit: str) -> str:
    """A shift in a unit, exact: ``1500`` ns in µs is ``1.5 µs``."""
    sign = "-" if shift_ns < 0 else ""
    whole, rest = divmod(abs(shift_ns), NS_PER_UNIT[unit])
    digits = len(str(NS_PER_UNIT[unit])) - 1
    fraction = str(rest).zfill(digits).rstrip("0") if rest else ""
    return f"{sign}{whole}{'.' + fraction if fraction else ''} {unit}"


def parse_shift(text: str, unit: str) -> int:
    """Nanoseconds of a shift; a bare number counts in ``unit``. Raises ValueError."""
    text = text.strip().replace("−", "-").replace("μ", "µ")
    shift = parse_time(text if text[-1:].isalpha() else f"{text or '0'}{unit}")
    if abs(shift) > FURTHEST_NS:
        raise ValueError(text)
    return shift


class AlignRanksDialog(QDialog):
    """Stays open beside the timeline, which follows each change; changes can be undone."""

    def __init__(self, workspace: Workspace, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Align ranks"))
        self._workspace = workspace
        self.source = document.source
        self._title = document.title
        self.clocks: list[MovableClock] = movable_clocks(document.capture)
        self.inputs: dict[int, QLineEdit] = {}
        self._methods: dict[int, QLabel] = {}
        self._steps = QTimer(self)
        self._steps.setSingleShot(True)
        self._steps.setInterval(_STEP_MS)
        self._steps.timeout.connect(self.apply)
        self._build()
        self.show_alignment()
        workspace.item_removed.connect(self._item_removed)

    def _build(self) -> None:
        head = PlainLabel(tr("{file}: each rank has its own clock.", file=self._title))
        note = PlainLabel(
            tr(
                "Enter how far to shift a rank (negative: earlier) in ns, µs, ms or s and press Return. "
                "Up and Down shift it by one unit, with Shift by ten."
            )
        )
        note.setObjectName("muted")
        note.setWordWrap(True)
        self.unit = QComboBox()
        self.unit.addItems(UNITS)
        self.unit.setCurrentText("µs")
        self.unit.setAccessibleName(tr("Unit"))
        self.unit.currentTextChanged.connect(lambda _unit: self.show_alignment())
        unit_row = QHBoxLayout()
        unit_row.addWidget(PlainLabel(tr("Unit")))
        unit_row.addWidget(self.unit)
        unit_row.addStretch(1)
        body = QWidget()
        grid = QGridLayout(body)
        grid.setContentsMargins(0, 0, 6, 0)
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(6)
        for column, title in enumerate((tr("Rank"), tr("Aligned by"), tr("Residual"), tr("Shift"))):
            label = PlainLabel(title)
            label.setObjectName("muted")
            grid.addWidget(label, 0, column)
        for row, clock in enumerate(self.clocks, 1):
            self._build_row(grid, row, clock)
        grid.setColumnStretch(1, 1)
        grid.setRowStretch(len(self.clocks) + 1, 1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidget(body)
        rows = min(len(self.clocks), _ROWS_SHOWN) + 1
        area.setMinimumHeight(
            min(body.sizeHint().height(), body.sizeHint().height() * rows // len(self.clocks)) + 4
        )
        self.problem = PlainLabel()
        self.problem.setObjectName("problem")
        self.problem.setWordWrap(True)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.undo_button = self.buttons.addButton(tr("Undo"), QDialogButtonBox.ButtonRole.ActionRole)
        self.redo_button = self.buttons.addButton(tr("Redo"), QDialogButtonBox.ButtonRole.ActionRole)
        self.reset_button = self.buttons.addButton(tr("As imported"), QDialogButtonBox.ButtonRole.ResetRole)
        self.undo_button.clicked.connect(self.undo)
        self.redo_button.clicked.connect(self.redo)
        self.reset_button.clicked.connect(self.reset)
        for button in self.buttons.buttons():
            # Return in a field applies it and presses no button.
            if isinstance(button, QPushButton):
                button.setAutoDefault(False)
        self.buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 18, 18, 14)
        layout.setSpacing(12)
        for widget in (head, note):
            layout.addWidget(widget)
        layout.addLayout(unit_row)
        layout.addWidget(area, 1)
        layout.addWidget(self.problem)
        layout.addWidget(self.buttons)
        self.setMinimumWidth(560)

    def _build_row(self, grid: QGridLayout, row: int, clock: MovableClock) -> None:
        method = self._methods[clock.index] = PlainLabel()
        residual = clock.recorded.residual_ns
        residual_label = PlainLabel("–" if residual is None else format_duration(residual))
        residual_label.setToolTip(
            tr("This alignment method has no residual")
            if residual is None
            else tr("Largest remaining distance between a common step of this rank and of the first one")
        )
        field = self.inputs[clock.index] = QLineEdit()
        field.setAlignment(Qt.AlignmentFlag.AlignRight)
        field.setFixedWidth(150)
        field.setAccessibleName(tr("Shift of {rank}", rank=clock.title))
        field.editingFinished.connect(self.apply)
        field.installEventFilter(self)
        for column, widget in enumerate((PlainLabel(clock.title), method, residual_label, field)):
            grid.addWidget(widget, row, column)

    # -- current state --------------------------------------------------------------------------------------

    @property
    def document(self) -> Document | None:
        """The document that shows the file now, None once it is closed. Each change replaces it."""
        return self._workspace.document_of(self.source)

    @property
    def alignment(self) -> ClockShifts:
        """The clock shifts in use."""
        document = self.document
        return document.alignment if document is not None else ClockShifts()

    def show_alignment(self) -> None:
        """Update the fields from the shifts in use."""
        now = self.alignment
        for clock in self.clocks:
            shift = now.shifts.get(clock.index, 0)
            self.inputs[clock.index].setText(shift_text(shift, self.unit.currentText()))
            by_file = clock_text(clock.recorded).partition(",")[0] or "–"
            self._methods[clock.index].setText(
                tr("{method}, shifted manually", method=by_file) if shift else by_file
            )
        self.problem.clear()
        self.undo_button.setEnabled(bool(now.done))
        self.redo_button.setEnabled(bool(now.undone))
        self.reset_button.setEnabled(bool(now.shifts))

    def apply(self) -> None:
        """Apply the shifts in the fields."""
        self._steps.stop()
        shifts: dict[int, int] = {}
        for clock in self.clocks:
            text = self.inputs[clock.index].text()
            try:
                shifts[clock.index] = parse_shift(text, self.unit.currentText())
            except ValueError:
                self.problem.setText(
                    tr(
                        "{rank}: {text} is not a time; for example 1.5 ms, -300 us or 20 ns",
                        rank=clock.title,
                        text=text,
                    )
                )
                return
        changed = self.alignment.changed(shifts)
        if changed.shifts != self.alignment.shifts:
            self._show(changed)
        else:
            self.show_alignment()

    def undo(self) -> None:
        """Undo the last change."""
        if self.alignment.done:
            self._show(self.alignment.before())

    def redo(self) -> None:
        """Redo the last undone change."""
        if self.alignment.undone:
            self._show(self.alignment.after())

    def reset(self) -> None:
        """Restore the clocks of the file."""
        self._show(self.alignment.changed({}))

    def _show(self, alignment: ClockShifts) -> None:
        document = self.document
        if document is not None:
            self._workspace.realign(document, alignment)
            self.show_alignment()

    # -- keys and closing -----------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Up and Down in a field shift the rank; Ctrl+Z undoes the last applied change, not typing."""
        if (
            isinstance(watched, QLineEdit)
            and isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
        ):
            sign = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()))
            if sign is not None:
                many = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                self._step(watched, sign * (10 if many else 1))
                return True
            if not watched.isModified() and event.matches(QKeySequence.StandardKey.Undo):
                self.undo()
                return True
            if not watched.isModified() and event.matches(QKeySequence.StandardKey.Redo):
                self.redo()
                return True
        return super().eventFilter(watched, event)

    def _step(self, field: QLineEdit, steps: int) -> None:
        unit = self.unit.currentText()
        try:
            shift = parse_shift(field.text(), unit) + steps * NS_PER_UNIT[unit]
        except ValueError:
            return
        field.setText(shift_text(shift, unit))
        self._steps.start()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Return belongs to the fields."""
        if event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            super().keyPressEvent(event)

    def _item_removed(self) -> None:
        if self.document is None:
            self.close()


def show_align_ranks(workspace: Workspace, parent: QWidget | None) -> AlignRanksDialog | None:
    """Show the dialog for the capture in front, or bring the open one to the front."""
    document = workspace.current
    if document is None or not movable_clocks(document.capture):
        return None
    for dialog in parent.findChildren(AlignRanksDialog) if parent is not None else ():
        if dialog.source == document.source:
            dialog.raise_()
            dialog.activateWindow()
            return dialog
    dialog = AlignRanksDialog(workspace, document, parent)
    dialog.show()
    return dialog
