"""The about dialog: version, licence, platform."""

from __future__ import annotations

import platform

from PySide6.QtCore import QSize, Qt, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QHBoxLayout, QVBoxLayout, QWidget

from warpline import __version__
from warpline.i18n import tr
from warpline_app.look.plain import PlainLabel


def versions() -> list[tuple[str, str]]:
    """Names and versions that matter in a bug report."""
    import h5py
    import numpy as np
    import PySide6

    return [
        ("Warpline", __version__),
        ("Python", platform.python_version()),
        ("Qt", f"{qVersion()} (PySide6 {PySide6.__version__})"),
        ("numpy", np.__version__),
        ("h5py", f"{h5py.__version__} (HDF5 {h5py.version.hdf5_version})"),
        (tr("System"), platform.platform()),
    ]


class AboutDialog(QDialog):
    """Icon, description, licence, and versions that can be copied."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("About Warpline"))
        icon = PlainLabel()
        icon.setPixmap(QGuiApplication.windowIcon().pixmap(QSize(72, 72), self.devicePixelRatioF()))
        icon.setAlignment(Qt.AlignmentFlag.AlignTop)
        name = PlainLabel("Warpline")
        name.setObjectName("headline")
        text = PlainLabel(
            tr(
                "Records what a program does on CPU cores, threads and GPU streams,\nand shows it as a timeline."
            )
        )
        self._versions = "\n".join(f"{title}  {version}" for title, version in versions())
        details = PlainLabel(self._versions)
        details.setObjectName("muted")
        details.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        licence = PlainLabel(tr("Apache License 2.0. Qt is used under the LGPL, version 3."))
        licence.setObjectName("muted")
        column = QVBoxLayout()
        column.setSpacing(8)
        for widget in (name, text, details, licence):
            column.addWidget(widget)
        row = QHBoxLayout()
        row.setSpacing(18)
        row.addWidget(icon)
        row.addLayout(column, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = buttons.addButton(tr("Copy versions"), QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._versions))
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 18, 18, 14)
        layout.setSpacing(16)
        layout.addLayout(row)
        layout.addWidget(buttons)


def show_about(parent: QWidget | None) -> AboutDialog:
    """Show the dialog."""
    dialog = AboutDialog(parent)
    dialog.open()
    return dialog
