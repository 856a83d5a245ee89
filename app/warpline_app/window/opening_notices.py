"""Shows what is wrong with a capture when it opens; the bars go when it closes."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from warpline.i18n import tr
from warpline_app.open.document import Document
from warpline_app.open.messages import Actions, UserMessage
from warpline_app.open.notices import OpeningNotice, opening_notices
from warpline_app.open.workspace import Workspace


class OpeningNotices(QObject):
    """Shows notices for every capture opened in a workspace."""

    def __init__(
        self, workspace: Workspace, show_output: Callable[[], None], parent: QObject | None = None
    ) -> None:
        """``show_output`` shows the program output of the capture in front."""
        super().__init__(parent)
        self._messages = workspace.messages
        self._workspace = workspace
        self._show_output = show_output
        self._shown: dict[Document, list[UserMessage]] = {}
        workspace.document_opened.connect(self._tell)
        workspace.document_leaving.connect(self._take_back)

    def _tell(self, document: Document) -> None:
        def show_output() -> None:
            self._workspace.bring_to_front(document)
            self._show_output()

        def show_whole() -> None:
            self._workspace.bring_to_front(document)
            document.state.show_whole()

        def actions(notice: OpeningNotice) -> Actions:
            if notice.has_more:
                return ((tr("Show whole capture"), show_whole),)
            return ((tr("Show output"), show_output),) if notice.has_output else ()

        self._shown[document] = [
            self._messages.show_of(document, notice.text, "warning", notice.details, actions(notice))
            for notice in opening_notices(
                document.capture, document.title, document.console_text, was_stopped=document.was_stopped
            )
        ]

    def _take_back(self, document: Document) -> None:
        for message in self._shown.pop(document, ()):
            self._messages.dismiss(message)
