"""Bars that say what became of the files of open captures: cut off, written over, replaced, gone."""

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
    """Looks at the files of a workspace once a second while something is open.

    Captures are mapped; with the guard that is enabled here, a file that is cut off costs its contents and not the
    window.
    """

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        page_guard.enable()
        self._workspace = workspace
        self._told: dict[Document, tuple[str, UserMessage]] = {}
        self._timer = QTimer(self)
        self._timer.setInterval(_EVERY_MS)
        self._timer.timeout.connect(self.look)
        for changed in (workspace.item_added, workspace.item_replaced, workspace.item_removed):
            changed.connect(self._follow)

    def look(self) -> None:
        """Tell what became of each file, once."""
        documents = self._documents()
        for document in documents:
            fate = document.capture.fate().value
            # A converted trace lies in a cache, which may let go of it: whoever has it open does not mind.
            if document.source != document.path and fate in _IS_WHOLE:
                fate = "as it was"
            if fate != self._told.get(document, ("as it was", None))[0]:
                self._take_back(document)
                if fate != "as it was":
                    self._told[document] = fate, self._tell(document, fate)
        for document in set(self._told) - set(documents):
            self._take_back(document)

    def _documents(self) -> list[Document]:
        found: list[Document] = []
        for item in self._workspace.items:
            if isinstance(item, Document):
                found.append(item)
            elif isinstance(item, ComparedPair):
                found += item.documents
        return found

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
                "{name}: the file was removed, or its disk is no longer there; it can be looked at until it is closed",
                name=name,
            ),
            "replaced": tr("{name}: another file is in its place now; shown is the one before", name=name),
            "changed": tr(
                "{name}: the file was written into; what is shown may not be what was opened", name=name
            ),
            "lost": tr(
                "{name}: the file was cut off, or its disk does not answer; parts of what is shown are missing",
                name=name,
            ),
        }
        # What was cut off or is gone would not open: the view of what is left of it is kept.
        can_open = fate in ("replaced", "changed")
        actions = ((tr("Open Again"), partial(self._open_again, document)),) if can_open else ()
        return self._workspace.messages.show(
            texts[fate], "error" if fate == "lost" else "warning", "", actions
        )

    def _open_again(self, document: Document) -> None:
        pairs = (item for item in self._workspace.items if isinstance(item, ComparedPair))
        pair = next((one for one in pairs if document in one.documents), None)
        if pair is not None:
            # What is looked at is how the two differ: both are opened, in the place they had.
            a, b = (one.source for one in pair.documents)
            self._workspace.close(pair)
            self._workspace.compare(a, b)
            return
        if document in self._workspace.items:
            self._workspace.close(document)
        self._workspace.open_file(document.source)

    def _take_back(self, document: Document) -> None:
        told = self._told.pop(document, None)
        if told is not None:
            self._workspace.messages.dismiss(told[1])
