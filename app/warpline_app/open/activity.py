"""Background activities the user sees: each has a title, reports progress and can be stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from warpline_app.open.background import Job

if TYPE_CHECKING:
    from warpline_app.open.document import Document


class Activity(QObject):
    """Opening, importing, exporting: the work of one `Job`. Activities without a job (a recording) override the
    methods.

    A `Workspace` lists activities until they end; some have a tab.
    """

    progressed = Signal(float, str)
    """a fraction in 0–1 and the current step"""
    ended = Signal()
    """It succeeded, failed or was cancelled."""

    document: Document | None = None
    """The capture that its tab shows already, of a recording that runs"""

    def __init__(self, title: str, job: Job | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.job = job
        if job is not None:
            job.progressed.connect(self.progressed)
            job.succeeded.connect(lambda _result: self.ended.emit())
            job.failed.connect(lambda _error: self.ended.emit())
            job.cancelled.connect(self.ended)

    @property
    def asks_before_closing(self) -> bool:
        """Whether closing the window now would lose something, so that the user is asked first."""
        return False

    def launch(self) -> None:
        """Start the work."""
        if self.job is not None:
            self.job.launch()

    def let_go(self) -> None:
        """Its document has a tab of its own now."""
        self.document = None

    def stop(self) -> None:
        """Ask the work to stop; ``ended`` follows."""
        if self.job is not None:
            self.job.cancel()

    def close_tab(self) -> bool:
        """Close the tab for the user: True if it may close at once, False if it waits for ``ended``."""
        self.stop()
        return True
