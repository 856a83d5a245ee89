"""Two captures side by side: opened and compared in the background, then shown in one tab."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from warpline.frozen import frozen
from warpline.i18n import tr
from warpline.library.opening import Opened, open_path
from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.open.opening import Opening
from warpline_app.state.view_lock import ViewLock

if TYPE_CHECKING:
    from collections.abc import Callable

    from warpline.analysis.compare.comparison import Comparison


@frozen
class ComparedFiles:
    """Both files open, and what their comparison found."""

    a: Opened
    b: Opened
    found: Comparison

    def close(self) -> None:
        """Let go of both files."""
        self.a.capture.close()
        self.b.capture.close()


class Comparing(Opening):
    """Two files on their way to being compared. ``job`` succeeds with `ComparedFiles`."""

    def __init__(self, a: Path, b: Path, job: Job, parent: QObject | None = None) -> None:
        super().__init__(b, job, "", parent)
        self.title = " ↔ ".join(told_apart(a, b))
        self.heading = tr("Comparing {a} with {b}", a=a.name, b=b.name)


class ComparedPair(QObject):
    """Two captures in one tab: a document for each, of which one has the keyboard, and what keeps them together."""

    active_changed = Signal(object)
    """the Document that keys and search act on"""

    def __init__(self, files: ComparedFiles, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.found: Comparison = files.found
        self.a, self.b = (
            Document(one.capture, one.source.name, self, source=one.source) for one in (files.a, files.b)
        )
        self.active: Document = self.a
        starts = paired_starts(self.found)
        self.lock = ViewLock(self.a.state, self.b.state, *starts, parent=self)
        self.show_windows()

    @property
    def title(self) -> str:
        """What the tab says."""
        return " ↔ ".join(told_apart(self.a.source, self.b.source))

    @property
    def documents(self) -> tuple[Document, Document]:
        """Both, the one before first."""
        return self.a, self.b

    def activate(self, document: Document) -> None:
        """Give keys and search to one of the two."""
        if document is not self.active:
            self.active = document
            self.active_changed.emit(document)

    def show_windows(self) -> None:
        """Show what was compared: the windows of both sides, beginning at the same place."""
        one, other = (
            (int(side.windows.start[0]), int(side.windows.stop.max()))
            for side in (self.found.a, self.found.b)
        )
        self.lock.show_pair(one, other)

    def close(self) -> None:
        """Let go of both files and of itself. Their views must be gone."""
        for document in self.documents:
            document.close()
        # A child of the workspace would stay until the window goes, and keep both files mapped.
        self.deleteLater()


def told_apart(a: Path, b: Path) -> tuple[str, str]:
    """The names of two files, or of the nearest folders by which files of one name differ."""
    if a.name == b.name:
        for one, other in zip(a.parents, b.parents, strict=False):
            if one.name != other.name:
                return one.name, other.name
    return a.name, b.name


def paired_starts(found: Comparison) -> tuple[list[int], list[int]]:
    """Where the steps that belong together begin (capture ns); none where no steps were compared."""
    from warpline.analysis.compare.alignment import Align, pair_steps

    if found.aligned_by is not Align.STEP and not found.choices.range_name:
        return [], []
    a, b = pair_steps(found.a.all_windows, found.b.all_windows)
    return a.start.tolist(), b.start.tolist()


def compare_job(
    a: Path, b: Path, parent: QObject | None = None, *, prepare: Callable[[], None] | None = None
) -> Job:
    """A job that opens two files and compares them; it succeeds with `ComparedFiles`."""

    def work(progress: Progress, is_cancelled: IsCancelled) -> ComparedFiles:
        from warpline.analysis.compare.comparison import CaptureRun, compare

        first = open_path(a, progress, is_cancelled)
        try:
            second = open_path(b, progress, is_cancelled)
        except BaseException:
            first.capture.close()
            raise
        try:
            progress(0.9, tr("comparing"))
            found = compare(
                [CaptureRun(first.capture, str(a))],
                [CaptureRun(second.capture, str(b))],
                cancelled=is_cancelled,
            )
            if prepare is not None:
                prepare()
        except BaseException:
            first.capture.close()
            second.capture.close()
            raise
        return ComparedFiles(first, second, found)

    return Job(work, parent, discard=ComparedFiles.close)
