"""What the derived rows beside a capture show: their queries run in a process of their own, others' only if allowed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpline.i18n import tr
from warpline.model.errors import Cancelled, UsageError, WarplineError
from warpline.model.progress import IsCancelled, Progress, check_cancelled, never, unwatched
from warpline.query.allowed_queries import AllowedQueries, foreign_text
from warpline.query.derived_content import MOST_EVENTS, derived_content
from warpline.query.named_tables import reads_events
from warpline.query.session import QueryResult, QuerySession, TableInfo
from warpline.query.watched_run import run_query
from warpline.storage import Capture
from warpline.storage.columns.derived_events import DerivedContent, ShownRow
from warpline.storage.notes_file import rows_of

Contents = dict[str, DerivedContent | str]
"""By their SQL, what the results of queries show, or why they show nothing."""


def kept_rows(
    capture: Capture,
    source: Path,
    *,
    runs_all: bool = False,
    known: Contents | None = None,
    progress: Progress = unwatched,
    is_cancelled: IsCancelled = never,
) -> tuple[ShownRow, ...]:
    """The rows kept beside ``source``, the file that the user named, with what they show of ``capture``.

    Queries that this user neither wrote nor allowed run with ``runs_all`` only; their rows say so otherwise. Queries in
    ``known``, results of earlier calls for this capture, do not run again; it then holds those of the present rows.
    """
    rows = rows_of(source, capture.uuid)
    allowed = AllowedQueries()
    due = list(dict.fromkeys(row.sql for row in rows if runs_all or row.sql in allowed))
    found = {sql: known[sql] for sql in due if known and sql in known}
    new = [sql for sql in due if sql not in found]
    if known is not None:
        known.clear()
        known |= found
    if new:
        try:
            results = contents_of(capture, new, progress, is_cancelled)
            if known is not None:
                known |= results
        except Cancelled:
            raise
        except WarplineError as error:
            results = dict.fromkeys(new, str(error))
        found |= results
    return tuple((row, found.get(row.sql, foreign_text())) for row in rows)


def foreign_count(rows: Sequence[ShownRow]) -> int:
    """How many rows show nothing because somebody else wrote their query."""
    return sum(content == foreign_text() for _row, content in rows)


def contents_of(
    capture: Capture, queries: Sequence[str], progress: Progress, is_cancelled: IsCancelled
) -> Contents:
    """What each query's result shows, or why it shows nothing. Raises Cancelled, WarplineError without DuckDB."""
    found: Contents = {}
    with QuerySession([Path(capture.path)]) as session:
        tables = session.schema()
        for index, sql in enumerate(queries):
            check_cancelled(is_cancelled)
            progress(index / len(queries), tr("running …"))
            try:
                result = run_query(session, sql, MOST_EVENTS, is_cancelled)
                if result.has_more:
                    raise UsageError(
                        tr("a row shows at most {most:,} events; select fewer", most=MOST_EVENTS)
                    )
                found[sql] = content_of(result, sql, tables, capture)
            except Cancelled:
                raise
            except WarplineError as error:
                found[sql] = str(error)
    return found


def content_of(
    result: QueryResult, sql: str, tables: Sequence[TableInfo], capture: Capture
) -> DerivedContent:
    """What the result of a query shows as a row.

    Raises UsageError like `derived_content`, and for ids of tracks, threads and others that are no events.
    """
    content = derived_content(result, capture)
    if any(column.name.casefold() == "id" for column in result.columns) and not reads_events(sql, tables):
        raise UsageError(
            tr("this id is not that of an event; a row of events needs a query on a table of events")
        )
    return content
