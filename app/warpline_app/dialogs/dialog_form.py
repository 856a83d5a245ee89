"""How a dialog with a form is laid out: one distance between rows, one border, buttons at the bottom."""

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
    """A form whose fields are as wide as the dialog."""
    form = QFormLayout()
    form.setHorizontalSpacing(16)
    form.setVerticalSpacing(8)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return form


def cancel_or(title: str) -> tuple[QDialogButtonBox, QPushButton]:
    """Cancel, and the button that Return presses."""
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
    said: Iterable[QWidget] = (),
) -> None:
    """Fill a dialog: the form, what is ``said`` under it, and at its bottom what stands ``below``."""
    layout = QVBoxLayout(dialog)
    layout.setContentsMargins(20, 18, 18, 14)
    layout.setSpacing(12)
    layout.addLayout(form)
    for widget in said:
        layout.addWidget(widget)
    layout.addStretch(1)
    for widget in below:
        layout.addWidget(widget)
    dialog.setMinimumWidth(width_px)
