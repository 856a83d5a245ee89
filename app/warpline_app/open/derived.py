"""The contents of a document's derived rows: their queries run in a job, others' only when the user allows it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from warpline.i18n import tr, tr_n
from warpline.model.derived_rows import DerivedRow
from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.background import Job
from warpline_app.open.messages import MessageTarget
from warpline_app.remembered.settings import Settings
from warpline_app.state.timeline_state import TimelineState

if TYPE_CHECKING:
    from warpline.query.allowed_queries import AllowedQueries
    from warpline.storage import Capture
    from warpline.storage.columns.derived_events import DerivedContent, ShownRow


class DerivedRows(QObject):
    """Contents by row id. ``changed`` is emitted when one is there, or the reason why there is none."""

    changed = Signal()

    def __init__(
        self,
        capture_now: Callable[[], Capture | None],
        state: TimelineState,
        parent: QObject | None = None,
    ) -> None:
        """``capture_now`` returns the capture, None when it is gone."""
        super().__init__(parent)
        self._capture_now, self._state = capture_now, state
        self._settings_folder = Path(os.devnull)
        self._contents: dict[str, DerivedContent] = {}
        self._problems: dict[str, str] = {}
        self._job: Job | None = None
        state.derived_rows_changed.connect(self._rows_changed)

    def remember_in(self, settings: Settings) -> None:
        """Keep beside the settings which queries are allowed."""
        self._settings_folder = settings.folder
        self.__dict__.pop("_allowed", None)

    @cached_property
    def _allowed(self) -> AllowedQueries:
        from warpline.query.allowed_queries import AllowedQueries  # the first frame needs no SQL

        return AllowedQueries(self._settings_folder)

    def content(self, row: DerivedRow) -> DerivedContent | None:
        """What the row shows; None while there is nothing."""
        return self._contents.get(row.sql)

    def problem(self, row: DerivedRow) -> str:
        """Why the row shows nothing; empty while its query runs."""
        if row.sql in self._problems:
            return self._problems[row.sql]
        if self.is_allowed(row):
            return ""
        from warpline.query.allowed_queries import foreign_text

        return foreign_text()

    @property
    def is_busy(self) -> bool:
        """Whether a query runs."""
        return self._job is not None

    def is_allowed(self, row: DerivedRow) -> bool:
        """Whether the user wrote the row's query or allowed it."""
        return row.sql in self._allowed

    def allow(self, sql: str) -> None:
        """Run a query from now on, on this computer: the user wrote it, or clicked on its row."""
        self._allowed.add(sql)
        self._problems.pop(sql, None)
        self.changed.emit()
        self._next()

    def show(self, row: DerivedRow, content: DerivedContent | None = None) -> None:
        """Add a row that the user derived."""
        if content is not None:
            self._contents[row.sql] = content
        self.allow(row.sql)
        self._state.put_derived_row(row)

    def ask_for_foreign(self, messages: MessageTarget) -> None:
        """Offer to run the queries that somebody else wrote."""
        foreign = [row for row in self._state.derived_rows if not self.is_allowed(row)]
        if not foreign:
            return

        def run() -> None:
            for row in foreign:
                self.allow(row.sql)

        text = tr_n(
            "The notes beside this capture hold {count} row whose query somebody else wrote. It was not run.",
            "The notes beside this capture hold {count} rows whose queries somebody else wrote. They were not run.",
            len(foreign),
        )
        details = "\n\n".join(row.sql for row in foreign)
        messages.show(text, "warning", details, ((tr("Run"), run),))

    def take_over(self, other: DerivedRows) -> None:
        """Show what another document of the same capture shows, without running a query."""
        self._contents, self._problems = dict(other._contents), dict(other._problems)
        self.changed.emit()

    def show_all(self, rows: Iterable[ShownRow]) -> None:
        """Show these rows and no others, without running a query."""
        shown = tuple(rows)
        for row, content in shown:
            if isinstance(content, str):
                self._problems[row.sql] = content
            else:
                self._contents[row.sql] = content
        self._state.set_derived_rows(row for row, _content in shown)

    @property
    def shown(self) -> tuple[ShownRow, ...]:
        """All rows with what they show, or why they show nothing."""
        return tuple(
            (row, self._contents.get(row.sql) or self.problem(row) or tr("running …"))
            for row in self._state.derived_rows
        )

    def close(self) -> None:
        """End the query that runs."""
        if self._job is not None:
            self._job.cancel()

    def _rows_changed(self, _rows: object) -> None:
        self.changed.emit()
        self._next()

    def _next(self) -> None:
        """Run the queries that have no content yet, one after the other in one process."""
        if self._job is not None:
            return
        due = list(
            dict.fromkeys(
                row.sql
                for row in self._state.derived_rows
                if row.sql not in self._contents and row.sql not in self._problems and self.is_allowed(row)
            )
        )
        capture = self._capture_now() if due else None
        if capture is None:
            return

        def work(progress: Progress, is_cancelled: IsCancelled) -> dict[str, DerivedContent | str]:
            from warpline.query.kept_rows import contents_of

            return contents_of(capture, due, progress, is_cancelled)

        job = Job(work, self)
        self._job = job
        job.succeeded.connect(self._add)
        job.failed.connect(lambda error: self._add(dict.fromkeys(due, str(error))))
        job.cancelled.connect(lambda: self._add(dict.fromkeys(due, tr("Stopped"))))
        job.launch()

    def _add(self, contents: dict[str, DerivedContent | str]) -> None:
        self._job = None
        for sql, content in contents.items():
            if isinstance(content, str):
                self._problems[sql] = content
            else:
                self._contents[sql] = content
        self.changed.emit()
        self._next()
