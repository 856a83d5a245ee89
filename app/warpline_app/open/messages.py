"""Messages to the user, shown as bars in the window until dismissed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

Level = Literal["error", "warning", "info"]
Actions = tuple[tuple[str, Callable[[], object]], ...]


@dataclass(frozen=True, eq=False)
class UserMessage:
    """A message of one sentence, with optional details and buttons (title, callback)."""

    text: str
    level: Level = "error"
    details: str = ""
    actions: Actions = ()

    @property
    def is_passing(self) -> bool:
        """Whether it disappears after a while: success needs no answer."""
        return self.level == "info"


class MessageList(QAbstractListModel):
    """Messages not yet dismissed, newest first; no text appears twice."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._messages: list[UserMessage] = []

    @property
    def all(self) -> tuple[UserMessage, ...]:
        """All messages, newest first."""
        return tuple(self._messages)

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008  # Qt's own
        """The number of messages."""
        return 0 if parent.isValid() else len(self._messages)

    def data(
        self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """The sentence, or the `UserMessage` for ``UserRole``."""
        message = self._messages[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return message.text
        return message if role == Qt.ItemDataRole.UserRole else None

    def show(
        self, text: str, level: Level = "error", details: str = "", actions: Actions = ()
    ) -> UserMessage:
        """Add a message on top; it replaces one with the same text."""
        for former in [message for message in self._messages if message.text == text]:
            self.dismiss(former)
        message = UserMessage(text, level, details, actions)
        self.beginInsertRows(QModelIndex(), 0, 0)
        self._messages.insert(0, message)
        self.endInsertRows()
        return message

    def dismiss(self, message: UserMessage) -> None:
        """Remove a message; does nothing if it is gone."""
        if message in self._messages:
            row = self._messages.index(message)
            self.beginRemoveRows(QModelIndex(), row, row)
            del self._messages[row]
            self.endRemoveRows()

    def clear(self) -> None:
        """Remove all messages."""
        for message in self.all:
            self.dismiss(message)
