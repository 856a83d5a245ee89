"""Contrast of widgets that Qt draws: combo boxes and file dialog buttons."""

from __future__ import annotations

from collections import Counter

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QComboBox, QFileDialog, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from warpline_app.look.appearance import appearance
from warpline_app.look.theme import contrast_ratio
from warpline_app.window.main_window import MainWindow


def colors(widget: QWidget) -> Counter[int]:
    """How many pixels of a widget have each colour."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    return Counter(
        image.pixel(x, y) & 0xFFFFFF
        for x in range(1, image.width() - 1)
        for y in range(1, image.height() - 1)
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_selected_line_of_a_combo_box_is_legible(qtbot: QtBot, theme: str) -> None:
    appearance().choose(theme)
    box = QComboBox()
    qtbot.addWidget(box)
    box.addItems(["■■■■■■■■", "■■■■■■■■"])
    box.show()
    box.showPopup()
    view = box.view()
    view.setCurrentIndex(box.model().index(1, 0))
    place = view.visualRect(box.model().index(1, 0))
    image = view.viewport().grab(place).toImage().convertToFormat(QImage.Format.Format_RGB32)
    found = Counter(image.pixel(x, y) & 0xFFFFFF for x in range(image.width()) for y in range(image.height()))
    ground = found.most_common(1)[0][0]
    best = max(contrast_ratio(0xFF000000 | color, 0xFF000000 | ground) for color in found)
    box.hidePopup()
    assert best >= 7


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_icons_of_file_dialog_buttons_are_visible(qtbot: QtBot, window: MainWindow, theme: str) -> None:
    appearance().choose(theme)
    assert window.commands.run("file.open")
    dialog = window.findChild(QFileDialog)
    assert dialog is not None
    names = (
        "backButton",
        "forwardButton",
        "toParentButton",
        "newFolderButton",
        "listModeButton",
        "detailModeButton",
    )
    for name in names:
        button = dialog.findChild(QToolButton, name)
        assert button is not None
        button.setEnabled(True)
        found = colors(button)
        ground = found.most_common(1)[0][0]
        drawn = sum(
            count
            for color, count in found.items()
            if contrast_ratio(0xFF000000 | color, 0xFF000000 | ground) >= 3
        )
        assert drawn >= 12, (name, drawn)
    dialog.close()
