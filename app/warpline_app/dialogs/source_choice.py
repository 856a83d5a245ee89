"""Which sources to record: check boxes, greyed out with the reason where this machine cannot."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QCheckBox, QGridLayout, QWidget

from warpline.i18n import tr, translated
from warpline.recording.sources.registry import choices
from warpline_app.look.elided import ElidedLabel
from warpline_app.recording.doctor_report import SourceReport


class SourceChoice(QWidget):
    """One line per source: a check box, and what it brings or why it cannot be had."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.boxes: dict[str, QCheckBox] = {}
        self.notes: dict[str, ElidedLabel] = {}
        self._wanted: set[str] = set()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(5)
        shown = choices()
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
        """Sources that are wanted and possible, in the order shown."""
        return tuple(name for name, box in self.boxes.items() if box.isChecked() and box.isEnabled())

    def set_chosen(self, names: Sequence[str]) -> None:
        """Want these sources."""
        self._wanted = set(names)
        for name, box in self.boxes.items():
            box.setChecked(name in self._wanted and box.isEnabled())

    def _choose(self, name: str, on: bool) -> None:
        (self._wanted.add if on else self._wanted.discard)(name)

    def show_reports(self, reports: tuple[SourceReport, ...]) -> None:
        """Grey out what cannot be recorded here, and say why."""
        by_trace: dict[str, list[SourceReport]] = {}
        for report in reports:
            by_trace.setdefault(report.trace or report.name, []).append(report)
        for name, box in self.boxes.items():
            found = by_trace.get(name)
            if not found:
                continue
            # Several collectors may serve one choice (perf, else procfs): one that works is enough.
            usable = [report for report in found if report.available]
            box.setEnabled(bool(usable))
            box.setChecked(name in self._wanted and bool(usable))
            first = usable[0] if usable else found[0]
            if not usable:
                note = translated(first.reason) or tr("not possible here")
                self.notes[name].setText(note)
            elif first.reason and first is not found[0]:
                self.notes[name].setText(translated(first.reason))
            remedies = [
                translated(report.remedy) for report in found if report.remedy and not report.available
            ]
            tip = "\n".join(
                f"{translated(report.title)}: {translated(report.reason)}"
                for report in found
                if report.reason
            )
            text = "\n".join([part for part in (tip, *remedies) if part])
            self.notes[name].setToolTip(text)
            box.setToolTip(text)

    def show_failure(self, error: Exception) -> None:
        """Nothing is known: everything may be tried."""
        self.failure.setText(str(error))
        self.failure.show()
