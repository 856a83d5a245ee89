"""Two captures compared: opened and compared in the background, then shown in one tab."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from warpline.i18n import tr
from warpline.library.opening import Opened, open_path
from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.open.opening import Opening
from warpline_app.state.view_lock import ViewLock

if TYPE_CHECKING:
    from warpline.analysis.compare.comparison import Comparison


@dataclass(frozen=True)
class ComparedFiles:
    """Two open files and their comparison."""

    a: Opened
    b: Opened
    comparison: Comparison

    def close(self) -> None:
        """Close both files."""
        self.a.capture.close()
        self.b.capture.close()


class Comparing(Opening):
    """Two files being compared. ``job`` succeeds with `ComparedFiles`."""

    def __init__(self, a: Path, b: Path, job: Job, parent: QObject | None = None) -> None:
        super().__init__(b, job, "", parent)
        self.title = " ↔ ".join(distinct_names(a, b))
        self.heading = tr("Comparing {a} with {b}", a=a.name, b=b.name)


class ComparedPair(QObject):
    """Two compared captures in one tab: a document for each, one of them active, and the lock that aligns them."""

    active_changed = Signal(object)
    """the Document that keys and search act on"""

    def __init__(self, files: ComparedFiles, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.comparison: Comparison = files.comparison
        self.a, self.b = (
            Document(file.capture, file.source.name, self, source=file.source) for file in (files.a, files.b)
        )
        self.active: Document = self.a
        starts = paired_starts(self.comparison)
        self.lock = ViewLock(self.a.state, self.b.state, *starts, parent=self)
        self.show_windows()

    @property
    def title(self) -> str:
        """The tab's title."""
        return " ↔ ".join(distinct_names(self.a.source, self.b.source))

    @property
    def documents(self) -> tuple[Document, Document]:
        """Both documents, A first."""
        return self.a, self.b

    def activate(self, document: Document) -> None:
        """Make keys and search act on this document."""
        if document is not self.active:
            self.active = document
            self.active_changed.emit(document)

    def show_windows(self) -> None:
        """Show the compared ranges of both sides, starting at the same position."""
        ranges = (
            (int(side.windows.start[0]), int(side.windows.stop.max()))
            for side in (self.comparison.a, self.comparison.b)
        )
        self.lock.show_pair(*ranges)

    def close(self) -> None:
        """Close both files and delete this object. Their views must be gone."""
        for document in self.documents:
            document.close()
        # A child of the workspace would live as long as the window and keep both files mapped.
        self.deleteLater()


def distinct_names(a: Path, b: Path) -> tuple[str, str]:
    """The names of two files, or of their nearest differing folders when the names are equal."""
    if a.name == b.name:
        for parent_a, parent_b in zip(a.parents, b.parents, strict=False):
            if parent_a.name != parent_b.name:
                return parent_a.name, parent_b.name
    return a.name, b.name


def paired_starts(comparison: Comparison) -> tuple[list[int], list[int]]:
    """The starts of matching steps (capture ns); empty when no steps were compared."""
    from warpline.analysis.compare.alignment import Align, pair_steps

    if comparison.aligned_by is not Align.STEP and not comparison.choices.range_name:
        return [], []
    a, b = pair_steps(comparison.a.all_windows, comparison.b.all_windows)
    return a.start.tolist(), b.start.tolist()


def compare_job(a: Path, b: Path, parent: QObject | None = None) -> Job:
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
            comparison = compare(
                [CaptureRun(first.capture, str(a))],
                [CaptureRun(second.capture, str(b))],
                cancelled=is_cancelled,
            )
        except BaseException:
            first.capture.close()
            second.capture.close()
            raise
        return ComparedFiles(first, second, comparison)

    return Job(work, parent, discard=ComparedFiles.close)
