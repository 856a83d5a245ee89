"""Bars that say at once what is wrong with a capture that was opened; they go with it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from warpline.i18n import tr
from warpline_app.open.document import Document
from warpline_app.open.messages import UserMessage
from warpline_app.open.notices import opening_notices
from warpline_app.open.workspace import Workspace


class OpeningNotices(QObject):
    """Tells of every capture of a workspace when it opens."""

    def __init__(
        self, workspace: Workspace, show_output: Callable[[], None], parent: QObject | None = None
    ) -> None:
        """``show_output`` shows what the program of the capture in front printed."""
        super().__init__(parent)
        self._messages = workspace.messages
        self._workspace = workspace
        self._show_output = show_output
        self._told: dict[Document, list[UserMessage]] = {}
        workspace.document_opened.connect(self._tell)
        workspace.document_leaving.connect(self._take_back)

    def _tell(self, document: Document) -> None:
        def show_output() -> None:
            self._workspace.bring_to_front(document)
            self._show_output()

        self._told[document] = [
            self._messages.show(
                words.text,
                "warning",
                words.details,
                ((tr("Show Output"), show_output),) if words.has_output else (),
            )
            for words in opening_notices(document.capture, document.title, document.console_text)
        ]

    def _take_back(self, document: Document) -> None:
        for message in self._told.pop(document, ()):
            self._messages.dismiss(message)
