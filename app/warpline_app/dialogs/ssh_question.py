"""Shows what ssh asks while the window reaches another machine: host keys, passwords, passphrases.

ssh starts this module as its ``SSH_ASKPASS`` (ssh(1)), with the question as its argument, and reads the answer from
standard output. The question is shown as ssh words it, fingerprint included; no answer is kept.
"""

from __future__ import annotations

import os
import sys

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLineEdit, QVBoxLayout

from warpline.i18n import tr
from warpline.untrusted import visible
from warpline_app.look.plain import PlainLabel

_CHOICE = "(yes/no"
"""ssh asks so whether a host key is the right one; the answer is a word."""


class SshQuestion(QDialog):
    """One question of ssh."""

    def __init__(self, question: str, kind: str = "") -> None:
        """``kind`` is ``SSH_ASKPASS_PROMPT``: ``confirm``, ``none`` for a notice without an answer, or empty."""
        super().__init__()
        self.setWindowTitle(tr("ssh asks"))
        self.setWindowFlag(Qt.WindowType.WindowStaysOnTopHint)
        is_choice = _CHOICE in question
        self.question = PlainLabel("\n".join(visible(line) for line in question.strip().splitlines()))
        self.question.setWordWrap(True)
        self.question.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.answer = QLineEdit()
        self.answer.setAccessibleName(tr("Answer"))
        self.answer.setVisible(not kind and not is_choice)
        self.answer.setEchoMode(QLineEdit.EchoMode.Password)
        buttons = QDialogButtonBox()
        if kind == "none":
            buttons.addButton(QDialogButtonBox.StandardButton.Close)
        elif kind == "confirm" or is_choice:
            # No is the default: Return must not accept a key.
            buttons.addButton(tr("Yes"), QDialogButtonBox.ButtonRole.AcceptRole).setAutoDefault(False)
            buttons.addButton(tr("No"), QDialogButtonBox.ButtonRole.RejectRole).setDefault(True)
        else:
            buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
            buttons.addButton(QDialogButtonBox.StandardButton.Ok).setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 18, 20, 14)
        layout.setSpacing(12)
        for widget in (self.question, self.answer, buttons):
            layout.addWidget(widget)
        self.setMinimumWidth(480)
        self.buttons = buttons
        self._is_choice = is_choice

    @property
    def text(self) -> str:
        """What ssh reads after *accept*."""
        return "yes" if self._is_choice else self.answer.text()


def main() -> int:
    """Ask, and print the answer; 1 without one."""
    from warpline_app.look.application import make_application
    from warpline_app.remembered.settings import Settings

    settings = Settings()
    make_application(settings.theme, settings.language)
    dialog = SshQuestion(" ".join(sys.argv[1:]), os.environ.get("SSH_ASKPASS_PROMPT", ""))
    if dialog.exec() != QDialog.DialogCode.Accepted:
        return 1
    print(dialog.text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
