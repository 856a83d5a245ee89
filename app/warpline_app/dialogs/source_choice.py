"""Check boxes for the sources to record, disabled with the reason where this machine lacks one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QCheckBox, QGridLayout, QWidget

from warpline.i18n import tr, translated
from warpline.recording.sources.registry import choices
from warpline.recording.sources.source import Choice
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import plain
from warpline_app.recording.doctor_report import SourceReport


class SourceChoice(QWidget):
    """One line per source: a check box, and what it records or why it is unavailable."""

    def __init__(self, shown: Sequence[Choice] | None = None, parent: QWidget | None = None) -> None:
        """``shown`` are some choices of ``--trace``; None shows all."""
        super().__init__(parent)
        self._choices = shown = choices() if shown is None else tuple(shown)
        self.boxes: dict[str, QCheckBox] = {}
        self.notes: dict[str, ElidedLabel] = {}
        self._wanted: set[str] = set()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(5)
        for row, choice in enumerate(shown):
            box = QCheckBox(translated(choice.title))
            box.clicked.connect(lambda on, name=choice.name: self._choose(name, on))
            note = ElidedLabel(translated(choice.text))
            note.setObjectName("muted")
            grid.addWidget(box, row, 0)
            grid.addWidget(note, row, 1)
            self.boxes[choice.name], self.notes[choice.name] = box, note
        grid.setColumnStretch(1, 1)
        self.failure = ElidedLabel()
        self.failure.setObjectName("muted")
        self.failure.hide()
        grid.addWidget(self.failure, len(shown), 0, 1, 2)

    @property
    def chosen(self) -> tuple[str, ...]:
        """Checked and available sources, in the order shown."""
        return tuple(name for name, box in self.boxes.items() if box.isChecked() and box.isEnabled())

    def set_chosen(self, names: Sequence[str]) -> None:
        """Check these sources."""
        self._wanted = set(names)
        for name, box in self.boxes.items():
            box.setChecked(name in self._wanted and box.isEnabled())

    def _choose(self, name: str, on: bool) -> None:
        (self._wanted.add if on else self._wanted.discard)(name)

    def show_reports(self, reports: tuple[SourceReport, ...]) -> None:
        """Disable sources that this machine cannot record, with the reason."""
        self.failure.hide()
        by_trace: dict[str, list[SourceReport]] = {}
        for report in reports:
            by_trace.setdefault(report.trace or report.name, []).append(report)
        for name, box in self.boxes.items():
            candidates = by_trace.get(name)
            if not candidates:
                continue
            # Several collectors may serve one choice (perf, else procfs); one available collector is enough.
            usable = [report for report in candidates if report.available]
            box.setEnabled(bool(usable))
            box.setChecked(name in self._wanted and bool(usable))
            first = usable[0] if usable else candidates[0]
            if not usable:
                note = translated(first.reason) or tr("not available on this machine")
                self.notes[name].setText(note)
            elif first.reason and first is not candidates[0]:
                self.notes[name].setText(translated(first.reason))
            else:
                text = next(translated(choice.text) for choice in self._choices if choice.name == name)
                self.notes[name].setText(f"{text} · {first.remark}" if first.remark else text)
            remedies = [
                translated(report.remedy) for report in candidates if report.remedy and not report.available
            ]
            tip = "\n".join(
                f"{translated(report.title)}: {translated(report.reason)}"
                for report in candidates
                if report.reason
            )
            text = "\n".join([part for part in (tip, *remedies) if part])
            self.notes[name].setToolTip(plain(text))
            box.setToolTip(plain(text))

    def show_waiting(self, text: str) -> None:
        """Allow every source while a machine is being checked."""
        for choice in self._choices:
            box = self.boxes[choice.name]
            box.setEnabled(True)
            box.setChecked(choice.name in self._wanted)
            self.notes[choice.name].setText(translated(choice.text))
            self.notes[choice.name].setToolTip("")
            box.setToolTip("")
        self.failure.setText(text)
        self.failure.setVisible(bool(text))

    def show_failure(self, error: Exception) -> None:
        """Allow every source, because nothing is known about this machine."""
        self.failure.setText(str(error))
        self.failure.show()
