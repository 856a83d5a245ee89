"""Layout shared by dialogs with a form: row spacing, margins, buttons at the bottom."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)


def make_form() -> QFormLayout:
    """A form whose fields span the dialog's width."""
    form = QFormLayout()
    form.setHorizontalSpacing(16)
    form.setVerticalSpacing(8)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return form


def cancel_or(title: str) -> tuple[QDialogButtonBox, QPushButton]:
    """Cancel, and the default button."""
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    button = QPushButton(title)
    button.setObjectName("primary")
    button.setDefault(True)
    buttons.addButton(button, QDialogButtonBox.ButtonRole.AcceptRole)
    return buttons, button


def lay_out(
    dialog: QDialog,
    form: QFormLayout,
    below: Iterable[QWidget],
    *,
    width_px: int,
    notes: Iterable[QWidget] = (),
) -> None:
    """Fill a dialog: the form, the ``notes`` under it, and ``below`` at the bottom."""
    layout = QVBoxLayout(dialog)
    layout.setContentsMargins(20, 18, 18, 14)
    layout.setSpacing(12)
    layout.addLayout(form)
    for widget in notes:
        layout.addWidget(widget)
    layout.addStretch(1)
    for widget in below:
        layout.addWidget(widget)
    dialog.setMinimumWidth(width_px)
