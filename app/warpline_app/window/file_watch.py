"""Warns when the file of an open capture is truncated, changed, replaced or removed."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QTimer

from warpline import page_guard
from warpline.i18n import tr
from warpline_app.open.comparing import ComparedPair
from warpline_app.open.document import Document
from warpline_app.open.messages import UserMessage
from warpline_app.open.workspace import Workspace

_EVERY_MS = 1_000
_IS_WHOLE = ("gone", "replaced")


class FileWatch(QObject):
    """Checks the files of a workspace once a second while something is open.

    Captures are memory-mapped. The guard enabled here makes a truncated file lose its contents instead of crashing.
    """

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        page_guard.enable()
        self._workspace = workspace
        self._shown: dict[Document, tuple[str, UserMessage]] = {}
        self._timer = QTimer(self)
        self._timer.setInterval(_EVERY_MS)
        self._timer.timeout.connect(self.look)
        for changed in (workspace.item_added, workspace.item_replaced, workspace.item_removed):
            changed.connect(self._follow)

    def look(self) -> None:
        """Check all files, and report each change of a file's fate once."""
        documents = self._documents()
        for document in documents:
            fate = document.capture.fate().value
            # A converted trace lies in a cache, which may delete it: an open mapping stays valid.
            if document.source != document.path and fate in _IS_WHOLE:
                fate = "as it was"
            if fate != self._shown.get(document, ("as it was", None))[0]:
                self._take_back(document)
                if fate != "as it was":
                    self._shown[document] = fate, self._tell(document, fate)
        for document in set(self._shown) - set(documents):
            self._take_back(document)

    def _documents(self) -> list[Document]:
        documents: list[Document] = []
        for item in self._workspace.items:
            if isinstance(item, Document):
                documents.append(item)
            elif isinstance(item, ComparedPair):
                documents += item.documents
        return documents

    def _follow(self, *_items: object) -> None:
        is_needed = bool(self._documents())
        if is_needed and not self._timer.isActive():
            self._timer.start()
        elif not is_needed:
            self._timer.stop()
        self.look()

    def _tell(self, document: Document, fate: str) -> UserMessage:
        name = document.title
        texts = {
            "gone": tr(
                "{name}: the file was removed, or its disk is gone; the view works until you close it",
                name=name,
            ),
            "replaced": tr("{name}: the file was replaced; the view shows the old one", name=name),
            "changed": tr("{name}: the file changed after it was opened; the view may be wrong", name=name),
            "lost": tr(
                "{name}: the file was truncated, or its disk does not respond; parts of the view are missing",
                name=name,
            ),
        }
        # A truncated or removed file cannot be opened again: keep the view of what is left.
        can_open = fate in ("replaced", "changed")
        actions = ((tr("Open again"), partial(self._open_again, document)),) if can_open else ()
        return self._workspace.messages.show_of(
            self._owner(document), texts[fate], "error" if fate == "lost" else "warning", "", actions
        )

    def _owner(self, document: Document) -> object:
        return next(
            (
                item
                for item in self._workspace.items
                if isinstance(item, ComparedPair) and document in item.documents
            ),
            document,
        )

    def _open_again(self, document: Document) -> None:
        pairs = (item for item in self._workspace.items if isinstance(item, ComparedPair))
        pair = next((pair for pair in pairs if document in pair.documents), None)
        if pair is not None:
            # The comparison itself is what the user looks at: open both files again in its place.
            a, b = (document.source for document in pair.documents)
            self._workspace.close(pair)
            self._workspace.compare(a, b)
            return
        if document in self._workspace.items:
            self._workspace.close(document)
        self._workspace.open_file(document.source)

    def _take_back(self, document: Document) -> None:
        shown = self._shown.pop(document, None)
        if shown is not None:
            self._workspace.messages.dismiss(shown[1])
