"""What can be recorded on this machine, and how to enable the rest."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QGridLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr, translated
from warpline_app.look.appearance import appearance
from warpline_app.recording.doctor_report import SourceReport, read_doctor
from warpline_app.session.background import Job


class DoctorDialog(QDialog):
    """One line per source: available, or why not and the remedy."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("What can be recorded here"))
        self.reports: tuple[SourceReport, ...] = ()
        self._body = QWidget()
        self._grid = QGridLayout(self._body)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(12)
        self._grid.setColumnStretch(1, 1)
        self.note = QLabel(tr("Looking…"))
        self.note.setObjectName("muted")
        self._grid.addWidget(self.note, 0, 0, 1, 2, Qt.AlignmentFlag.AlignTop)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(self._body)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = buttons.addButton(tr("Copy"), QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(self._copy)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 14, 12)
        layout.addWidget(area, 1)
        layout.addWidget(buttons)
        self.resize(720, 480)
        job = Job(read_doctor, self)
        job.succeeded.connect(self._show)
        job.failed.connect(lambda error: self.note.setText(str(error)))
        self.finished.connect(job.cancel)
        job.launch()

    def _show(self, reports: tuple[SourceReport, ...]) -> None:
        self.reports = reports
        self.note.hide()
        theme = appearance().theme
        for row, report in enumerate(reports, 1):
            sign = QLabel("✓" if report.available else "–")
            sign.setStyleSheet(
                f"color: {theme.hex('running' if report.available else 'muted')}; font-weight: bold;"
            )
            name = QLabel(translated(report.title))
            name.setObjectName("subhead")
            text = translated(report.reason) or (tr("available") if report.available else tr("not available"))
            remedy = "" if report.available else translated(report.remedy)
            detail = QLabel(f"{text}\n{remedy}" if remedy else text)
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
            self._grid.addWidget(sign, row, 0)
            self._grid.addLayout(texts, row, 1)
        self._grid.setRowStretch(len(reports) + 1, 1)

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
