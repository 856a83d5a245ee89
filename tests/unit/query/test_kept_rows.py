"""The rows kept beside a capture: which of their queries run, and what stands for those that do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from warpline.model.derived_rows import DerivedRow
from warpline.model.progress import never, unwatched
from warpline.query import kept_rows as rows
from warpline.query.allowed_queries import MOST, AllowedQueries, foreign_text
from warpline.query.kept_rows import Contents, contents_of, foreign_count, kept_rows
from warpline.query.named_tables import aliases
from warpline.query.session import QuerySession
from warpline.query.watched_run import run_query
from warpline.storage import Capture, open_capture
from warpline.storage.columns.derived_events import DerivedContent, DerivedEvents
from warpline.storage.notes_file import Notes, notes_path, write_notes

EVENTS = "SELECT id FROM events e, kinds WHERE e.kind = kinds.name"
TRACKS = "SELECT id FROM tracks"


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes what the user allowed."""
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "settings"))


def test_rows_of_events_are_told_from_rows_of_tracks(sql_path: Path) -> None:
    pytest.importorskip("duckdb")
    with open_capture(sql_path) as capture:
        found = contents_of(capture, [EVENTS, TRACKS, "SELECT durr FROM events"], unwatched, never)
        events = found[EVENTS]
        assert isinstance(events, DerivedEvents)
        assert events.rows is not None
        assert len(events.rows) == len(capture.events)
    assert (
        found[TRACKS] == "this id is not that of an event; a row of events needs a query on a table of events"
    )
    assert "durr" in str(found["SELECT durr FROM events"])


def test_only_queries_of_the_user_run_unasked(sql_path: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    source = tmp_path / "run.h5"
    mine, theirs = DerivedRow(title="mine", sql=EVENTS), DerivedRow(title="theirs", sql=f"{EVENTS} LIMIT 1")
    with open_capture(sql_path) as capture:
        write_notes(notes_path(source), Notes(rows=(mine, theirs), capture=capture.uuid))
        AllowedQueries().add(EVENTS)
        shown = dict(kept_rows(capture, source))
        assert isinstance(shown[mine], DerivedEvents)
        assert shown[theirs] == foreign_text()
        assert foreign_count(tuple(shown.items())) == 1
        assert foreign_count(kept_rows(capture, source, runs_all=True)) == 0
        write_notes(notes_path(source), Notes(rows=(mine,), capture="of another capture"))
        assert kept_rows(capture, source) == ()


def test_known_results_are_not_made_again(
    sql_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    source, asked = tmp_path / "run.h5", list[list[str]]()

    def counted(capture: Capture, queries: list[str], *others: Any) -> Contents:
        asked.append(queries)
        return contents_of(capture, queries, *others)

    monkeypatch.setattr(rows, "contents_of", counted)
    known: Contents = {}
    first, second = DerivedRow(title="x", sql=EVENTS), DerivedRow(title="y", sql=TRACKS)
    with open_capture(sql_path) as capture:

        def shown(*rows: DerivedRow) -> list[DerivedContent | str]:
            write_notes(notes_path(source), Notes(rows=rows, capture=capture.uuid))
            return [content for _row, content in kept_rows(capture, source, runs_all=True, known=known)]

        (events,) = shown(first)
        assert shown(first, second)[0] is events
        assert shown(second, first)[1] is events
        assert asked == [[EVENTS], [TRACKS]]
        # The results of rows that are gone are not kept.
        assert shown() == []
        assert known == {}


def test_allowed_queries_are_kept_without_their_text(tmp_path: Path) -> None:
    allowed = AllowedQueries(tmp_path)
    allowed.add(EVENTS)
    assert EVENTS in AllowedQueries(tmp_path)
    assert TRACKS not in AllowedQueries(tmp_path)
    (file,) = tmp_path.iterdir()
    assert "events" not in file.read_text("ascii")
    file.write_text("".join(f"{number:032}\n" for number in range(MOST + 5)), "ascii")
    allowed.add(TRACKS)
    assert len(file.read_text("ascii").splitlines()) == MOST
    file.write_bytes(b"\xff\x00 not marks\n" * 100)
    assert TRACKS not in AllowedQueries(tmp_path)
    # Where no file can be written, what was allowed counts for this process.
    nowhere = AllowedQueries(file)
    nowhere.add(EVENTS)
    assert EVENTS in nowhere


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT k.id FROM kernel k, tracks AS t WHERE 1", {"k", "kernel", "t", "tracks"}),
        ("SELECT id FROM kernel, memcpy ORDER BY ts, dur", {"kernel", "memcpy"}),
        ("SELECT id FROM slice_at(5) , links l", {"slice_at", "links", "l"}),
        ("SELECT id FROM kernel ORDER BY ts, events", {"kernel"}),
    ],
)
def test_tables_are_named_after_commas_too(sql: str, tables: set[str]) -> None:
    assert set(aliases(sql)) == tables


def test_a_cancel_before_the_query_begins_is_not_lost(sql_path: Path) -> None:
    pytest.importorskip("duckdb")
    from warpline.model.errors import Cancelled

    looks: list[bool] = []

    def is_cancelled() -> bool:
        looks.append(True)
        return len(looks) > 1

    with QuerySession([sql_path]) as session, pytest.raises(Cancelled):
        run_query(
            session, "SELECT count(*) FROM range(3000) a, range(3000) b, range(3000) c", 1, is_cancelled
        )
