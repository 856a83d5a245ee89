"""What this machine can record, and how to enable the rest."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QGridLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr, translated
from warpline_app.look.appearance import appearance
from warpline_app.look.plain import PlainLabel
from warpline_app.open.background import Job, Work
from warpline_app.recording.doctor_report import SourceReport, read_doctor, read_doctor_of_every_python


class DoctorDialog(QDialog):
    """One line per source: available, or why not, with the remedy."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("What can be recorded"))
        self.reports: tuple[SourceReport, ...] = ()
        self.note = PlainLabel()
        self.note.setObjectName("muted")
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = buttons.addButton(tr("Copy"), QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(self._copy)
        self.every_python = buttons.addButton(
            tr("Check every Python"), QDialogButtonBox.ButtonRole.ActionRole
        )
        self.every_python.setToolTip(
            tr("Waits, stacks and training steps are checked with the Python that runs Warpline")
        )
        self.every_python.clicked.connect(self._try_every_python)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 14, 12)
        layout.addWidget(self.note)
        layout.addWidget(self._area, 1)
        layout.addWidget(buttons)
        self.resize(720, 480)
        self._look(read_doctor)

    def _look(self, read: Work) -> None:
        self.every_python.setEnabled(False)
        self.note.setText(tr("Checking…"))
        self.note.show()
        job = Job(read, self)
        job.succeeded.connect(self._show)
        job.failed.connect(self._show_failure)
        self.finished.connect(job.cancel)
        job.launch()

    def _try_every_python(self) -> None:
        self._look(read_doctor_of_every_python)

    def _show_failure(self, error: Exception) -> None:
        self.note.setText(str(error))
        self.every_python.setEnabled(True)

    def _show(self, reports: tuple[SourceReport, ...]) -> None:
        self.reports = reports
        self.note.hide()
        self.every_python.setEnabled(True)
        theme = appearance().theme
        body = QWidget()
        grid = QGridLayout(body)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(12)
        grid.setColumnStretch(1, 1)
        for row, report in enumerate(reports, 1):
            sign = PlainLabel("✓" if report.available else "–")
            sign.setStyleSheet(
                f"color: {theme.hex('running' if report.available else 'muted')}; font-weight: bold;"
            )
            name = PlainLabel(translated(report.title))
            name.setObjectName("subhead")
            text = translated(report.reason) or (tr("available") if report.available else tr("not available"))
            remedy = "" if report.available else translated(report.remedy)
            detail = PlainLabel(f"{text}\n{remedy}" if remedy else text)
            detail.setObjectName("muted")
            detail.setTextFormat(Qt.TextFormat.PlainText)
            detail.setWordWrap(True)
            detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            sign.setAlignment(Qt.AlignmentFlag.AlignTop)
            name.setWordWrap(True)
            texts = QVBoxLayout()
            texts.setSpacing(1)
            texts.addWidget(name)
            texts.addWidget(detail)
            grid.addWidget(sign, row, 0)
            grid.addLayout(texts, row, 1)
        grid.setRowStretch(len(reports) + 1, 1)
        self._area.setWidget(body)

    def _copy(self) -> None:
        lines = [
            "\t".join(
                (
                    report.name,
                    "available" if report.available else "not available",
                    report.reason,
                    report.remedy,
                )
            )
            for report in self.reports
        ]
        QGuiApplication.clipboard().setText("\n".join(lines))


def show_doctor(parent: QWidget | None) -> DoctorDialog:
    """Show the dialog."""
    dialog = DoctorDialog(parent)
    dialog.open()
    return dialog
