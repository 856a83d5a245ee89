"""Messages to the user, shown as bars in the window until dismissed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

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


class MessageTarget(Protocol):
    """Where messages are shown."""

    def show(
        self, text: str, level: Level = "error", details: str = "", actions: Actions = ()
    ) -> UserMessage:
        """Add a message."""
        ...


class MessageList(QAbstractListModel):
    """Messages not yet dismissed, newest first; no text appears twice.

    Each belongs to one item of the workspace (or to the start page, None), and is shown while that is in front.
    """

    front_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._messages: list[UserMessage] = []
        self._owners: dict[UserMessage, object] = {}
        self._front: object = None

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

    @property
    def here(self) -> tuple[UserMessage, ...]:
        """The messages of the item in front, newest first."""
        return tuple(message for message in self._messages if self._owners[message] is self._front)

    def bring_to_front(self, owner: object) -> None:
        """Show the messages of another item."""
        if owner is not self._front:
            self._front = owner
            self.front_changed.emit()

    def of(self, owner: object) -> MessageTarget:
        """Shows messages of one item, whichever is in front."""
        return _OwnedMessages(self, owner)

    def pass_on(self, owner: object, to: object) -> None:
        """Give the messages of an item to the one that takes its place."""
        self._owners = {
            message: to if former is owner else former for message, former in self._owners.items()
        }
        if self._front is owner:
            self.bring_to_front(to)

    def drop(self, owner: object) -> None:
        """Remove the messages of an item."""
        for message in [message for message, former in self._owners.items() if former is owner]:
            self.dismiss(message)

    def show(
        self, text: str, level: Level = "error", details: str = "", actions: Actions = ()
    ) -> UserMessage:
        """Add a message of the item in front on top; it replaces one with the same text."""
        return self.show_of(self._front, text, level, details, actions)

    def show_of(
        self, owner: object, text: str, level: Level = "error", details: str = "", actions: Actions = ()
    ) -> UserMessage:
        """Add a message of an item on top; it replaces one with the same text."""
        for former in [message for message in self._messages if message.text == text]:
            self.dismiss(former)
        message = UserMessage(text, level, details, actions)
        self.beginInsertRows(QModelIndex(), 0, 0)
        self._owners[message] = owner
        self._messages.insert(0, message)
        self.endInsertRows()
        return message

    def dismiss(self, message: UserMessage) -> None:
        """Remove a message; does nothing if it is gone."""
        if message in self._messages:
            row = self._messages.index(message)
            self.beginRemoveRows(QModelIndex(), row, row)
            del self._messages[row], self._owners[message]
            self.endRemoveRows()

    def clear_here(self) -> None:
        """Remove the messages of the item in front."""
        for message in self.here:
            self.dismiss(message)

    def clear(self) -> None:
        """Remove all messages."""
        for message in self.all:
            self.dismiss(message)


class _OwnedMessages:
    def __init__(self, messages: MessageList, owner: object) -> None:
        self._messages, self._owner = messages, owner

    def show(
        self, text: str, level: Level = "error", details: str = "", actions: Actions = ()
    ) -> UserMessage:
        return self._messages.show_of(self._owner, text, level, details, actions)
