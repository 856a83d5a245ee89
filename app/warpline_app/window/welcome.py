"""What the window shows while nothing is open."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr
from warpline_app.commands.keys import key_text
from warpline_app.commands.runner import CommandRunner

RECENT_SHOWN = 6


class WelcomePage(QWidget):
    """Explains how to begin: open, drop, record; and offers what was open lately."""

    recent_chosen = Signal(object)
    """a Path"""

    def __init__(self, runner: CommandRunner, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("welcome")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        column = QVBoxLayout()
        column.setSpacing(10)
        headline = QLabel(tr("What was the hardware waiting for?"))
        headline.setObjectName("headline")
        text = QLabel(
            tr(
                "Record a program, or open a capture or another profiler's trace.\n"
                "You can also drop files anywhere on this window."
            )
        )
        text.setObjectName("muted")
        column.addWidget(headline)
        column.addWidget(text)
        column.addSpacing(8)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        for command_id, title, is_primary in (
            ("file.new_capture", tr("New Capture…"), True),
            ("file.open", tr("Open…"), False),
        ):
            button = QPushButton(title)
            if is_primary:
                button.setObjectName("primary")
            button.clicked.connect(lambda _=False, name=command_id: runner.run(name))
            buttons.addWidget(button)
            keys = QLabel(key_text(runner.commands[command_id].keys[0]))
            keys.setObjectName("keyCap")
            buttons.addWidget(keys)
            buttons.addSpacing(10)
        buttons.addStretch(1)
        column.addLayout(buttons)
        column.addSpacing(22)
        self._recent_title = QLabel(tr("Recent"))
        self._recent_title.setObjectName("subhead")
        column.addWidget(self._recent_title)
        self._recent = QGridLayout()
        self._recent.setHorizontalSpacing(18)
        self._recent.setVerticalSpacing(1)
        column.addLayout(self._recent)
        centered = QHBoxLayout(self)
        centered.addStretch(1)
        inner = QVBoxLayout()
        inner.addStretch(2)
        inner.addLayout(column)
        inner.addStretch(3)
        centered.addLayout(inner)
        centered.addStretch(1)
        self.recent_buttons: list[QPushButton] = []

    def set_recent(self, paths: list[Path]) -> None:
        """Offer these files; those that are gone are left out."""
        while (item := self._recent.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.recent_buttons = []
        present = [path for path in paths if path.exists()][:RECENT_SHOWN]
        for row, path in enumerate(present):
            button = QPushButton(path.name)
            button.setObjectName("link")
            button.setToolTip(str(path))
            button.clicked.connect(lambda _=False, chosen=path: self.recent_chosen.emit(chosen))
            folder = QLabel(_short_folder(path))
            folder.setObjectName("muted")
            self._recent.addWidget(button, row, 0)
            self._recent.addWidget(folder, row, 1)
            self.recent_buttons.append(button)
        self._recent.setColumnStretch(1, 1)
        self._recent_title.setVisible(bool(present))


def _short_folder(path: Path) -> str:
    folder = path.parent
    try:
        return str(Path("~") / folder.relative_to(Path.home()))
    except ValueError:
        return str(folder)
