"""What goes on beside the window and a person knows about: it has a title, tells how far it is, and can be stopped."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from warpline_app.open.background import Job


class Activity(QObject):
    """Opening, importing, exporting: the work of one `Job`. What is no job (a recording) overrides the methods.

    A `Workspace` lists activities until they have ended; some of them have a tab of their own there.
    """

    progressed = Signal(float, str)
    """a fraction in 0–1 and what is being done"""
    ended = Signal()
    """It is over, whatever came of it."""

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
        """Whether something is lost when the window closes now, so that a person is asked first."""
        return False

    def launch(self) -> None:
        """Begin."""
        if self.job is not None:
            self.job.launch()

    def stop(self) -> None:
        """End it; ``ended`` tells when that is so."""
        if self.job is not None:
            self.job.cancel()

    def close_tab(self) -> bool:
        """Somebody closes its tab: True when the tab may go at once, False when it goes with ``ended``."""
        self.stop()
        return True
