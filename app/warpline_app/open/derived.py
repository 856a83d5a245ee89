"""The contents of a document's derived rows: their queries run in a job, others' only when the user allows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from warpline.i18n import tr, tr_n
from warpline.model.derived_rows import DerivedRow
from warpline.model.errors import Cancelled, UsageError, WarplineError
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline_app.open.background import Job
from warpline_app.open.messages import MessageTarget
from warpline_app.remembered.settings import Settings
from warpline_app.state.timeline_state import TimelineState

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline_app.open.derived_content import DerivedContent

MOST_ALLOWED = 1_000
_KEY = "queries_allowed"


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
        self._settings: Settings | None = None
        self._allowed: set[str] = set()
        self._contents: dict[str, DerivedContent] = {}
        self._problems: dict[str, str] = {}
        self._job: Job | None = None
        state.derived_rows_changed.connect(self._rows_changed)

    def remember_in(self, settings: Settings) -> None:
        """Keep in the settings which queries are allowed."""
        self._settings = settings

    def content(self, row: DerivedRow) -> DerivedContent | None:
        """What the row shows; None while there is nothing."""
        return self._contents.get(row.sql)

    def problem(self, row: DerivedRow) -> str:
        """Why the row shows nothing; empty while its query runs."""
        if row.sql in self._problems:
            return self._problems[row.sql]
        return "" if self.is_allowed(row) else tr("not run: somebody else's query")

    @property
    def is_busy(self) -> bool:
        """Whether a query runs."""
        return self._job is not None

    def is_allowed(self, row: DerivedRow) -> bool:
        """Whether the user wrote the row's query or allowed it."""
        return self._mark(row.sql) in self._allowed or self._mark(row.sql) in self._known()

    def allow(self, sql: str) -> None:
        """Run a query from now on, on this computer: the user wrote it, or clicked on its row."""
        mark = self._mark(sql)
        self._allowed.add(mark)
        if self._settings is not None and mark not in self._known():
            self._settings.set_record(_KEY, {"marks": [*self._known(), mark][-MOST_ALLOWED:]})
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
        self._contents = dict(other._contents)
        self.changed.emit()

    def close(self) -> None:
        """End the query that runs."""
        if self._job is not None:
            self._job.cancel()

    def _known(self) -> list[str]:
        found = [] if self._settings is None else self._settings.record_of(_KEY).get("marks")
        return [mark for mark in found if isinstance(mark, str)] if isinstance(found, list) else []

    @staticmethod
    def _mark(sql: str) -> str:
        import hashlib  # loads OpenSSL, which the first frame does not need

        return hashlib.sha256(sql.encode("utf-8", "replace")).hexdigest()[:32]

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


def contents_of(
    capture: Capture, queries: list[str], progress: Progress, is_cancelled: IsCancelled
) -> dict[str, DerivedContent | str]:
    """What each query's result shows, or why it shows nothing. Raises Cancelled, WarplineError without DuckDB."""
    from warpline.query.session import QuerySession
    from warpline_app.open.derived_content import MOST_EVENTS, derived_content
    from warpline_app.open.query_runs import run_query

    found: dict[str, DerivedContent | str] = {}
    with QuerySession([Path(capture.path)]) as session:
        for place, sql in enumerate(queries):
            check_cancelled(is_cancelled)
            progress(place / len(queries), tr("running …"))
            try:
                result = run_query(session, sql, MOST_EVENTS, is_cancelled)
                if result.has_more:
                    raise UsageError(
                        tr("a row shows at most {most:,} events; select fewer", most=MOST_EVENTS)
                    )
                found[sql] = derived_content(result, capture)
            except Cancelled:
                raise
            except WarplineError as error:
                found[sql] = str(error)
    return found
