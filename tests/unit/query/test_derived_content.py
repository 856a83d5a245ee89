"""What results of queries become on the timeline."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warpline.model.derived_rows import DerivedRow
from warpline.model.errors import UsageError
from warpline.query.derived_content import MOST_LINES, MOST_TRACKS, derived_content
from warpline.query.session import QueryResult
from warpline.query.wire import ResultColumn
from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline.storage.columns.counters import Counter
from warpline.storage.columns.derived_events import DerivedEvents
from warpline.storage.notes_file import MAX_ROWS, MAX_TEXT, Notes, read_notes, row_of, write_notes


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    """Two tracks with events that overlap; the capture starts at 1,000."""
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(1_000, 2_000)
        for number in range(2):
            track = builder.track(f"row/{number}", title="row", role="ranges")
            starts = np.array([1_000, 1_300], np.int64) + 100 * number
            builder.add_events(track, "range", starts, 200, builder.string(f"name {number}"))
        builder.finish()
    return open_capture(path)


def result(**columns: object) -> QueryResult:
    made = []
    for name, values in columns.items():
        array = np.array(values, object if any(isinstance(v, str) for v in values) else None)  # type: ignore[attr-defined]
        made.append(ResultColumn(name, "", array, None))
    return QueryResult(tuple(made), False, 0.0)


def test_ids_become_events_once_each_in_lines_that_do_not_overlap(capture: Capture) -> None:
    found = derived_content(result(id=[3, 0, 1, 2, 0]), capture)
    assert isinstance(found, DerivedEvents)
    assert found.rows is not None
    assert sorted(found.rows.tolist()) == [0, 1, 2, 3]
    assert found.start.tolist() == [1_000, 1_100, 1_300, 1_400]
    assert found.line.tolist() == [0, 1, 0, 1]
    assert found.family == "range"


@pytest.mark.parametrize("ids", [[4], [-1], [0, 1 << 40]])
def test_ids_of_no_event_are_refused(capture: Capture, ids: list[int]) -> None:
    with pytest.raises(UsageError, match="no event has the id"):
        derived_content(result(id=ids), capture)


def test_times_become_new_events_by_start(capture: Capture) -> None:
    found = derived_content(result(ts=[500, 0], dur=[10, 20], name=["late", "early"]), capture)
    assert isinstance(found, DerivedEvents)
    assert found.rows is None
    assert found.start.tolist() == [1_000, 1_500]
    assert [found.names[code] for code in found.name.tolist()] == ["early", "late"]


def test_a_track_gives_events_rows_and_a_color_their_colours(capture: Capture) -> None:
    found = derived_content(
        result(ts=[0, 5, 20], dur=[10, 10, 10], track=["b", "a", "b"], color=["kernel", "mine", "kernel"]),
        capture,
    )
    assert isinstance(found, DerivedEvents)
    assert found.tracks == ("b", "a")
    assert [places.tolist() for places in found.lines_of(0)] == [[0, 2]]
    assert [places.tolist() for places in found.lines_of(1)] == [[1]]
    assert found.color is not None
    assert [found.colors[code] for code in found.color.tolist()] == ["kernel", "mine", "kernel"]
    assert found.color_family(np.arange(3)) == "kernel"
    assert found.color_family(np.array([1])) == "range"
    many = [str(number) for number in range(MOST_TRACKS + 1)]
    with pytest.raises(UsageError, match="at most 64"):
        derived_content(result(ts=list(range(len(many))), dur=[1] * len(many), track=many), capture)


def test_times_and_a_number_become_a_counter(capture: Capture) -> None:
    found = derived_content(result(ts=[500, 0], load=[2.5, 1.0]), capture)
    assert isinstance(found, Counter)
    assert found.recorded_times.tolist() == [1_000, 1_500]
    assert found.values.tolist() == [1.0, 2.5]
    assert found.value_at(1_499) == 1.0


@pytest.mark.parametrize(
    "columns", [{"name": ["a"]}, {"ts": [1]}, {"ts": [1], "name": ["a"]}, {"ts": [1.5], "dur": [1]}]
)
def test_other_columns_are_refused(capture: Capture, columns: dict[str, list[object]]) -> None:
    with pytest.raises(UsageError, match="a row needs the columns"):
        derived_content(result(**columns), capture)
    with pytest.raises(UsageError, match="no rows"):
        derived_content(result(id=[]), capture)


def test_events_that_overlap_too_often_share_the_last_line(capture: Capture) -> None:
    count = MOST_LINES + 3
    found = derived_content(result(ts=list(range(count)), dur=[100] * count), capture)
    assert isinstance(found, DerivedEvents)
    assert found.line.tolist() == [min(place, MOST_LINES - 1) for place in range(count)]
    # Times that no 64 bits hold are clamped.
    wild = derived_content(result(ts=[-(1 << 62), 1 << 62], dur=[1 << 62, 1 << 62]), capture)
    assert isinstance(wild, DerivedEvents)
    assert bool((wild.start + wild.duration >= wild.start).all())


def test_rows_are_kept_with_their_sql_and_merged_by_their_last_change(tmp_path: Path) -> None:
    path = tmp_path / "run.h5.notes.json"
    row = DerivedRow(title="long", sql="SELECT id FROM kernel", changed_ns=5)
    write_notes(path, Notes(rows=(row,), capture="u"))
    assert read_notes(path).rows == (row,)
    newer = DerivedRow(id=row.id, title="longer", sql=row.sql, changed_ns=6)
    assert Notes(rows=(row,)).merged(Notes(rows=(newer,))).rows == (newer,)
    assert Notes(rows=(row,)).merged(Notes(deleted=frozenset((row.id,)))).rows == ()
    many = tuple(DerivedRow(sql="SELECT 1") for _ in range(MAX_ROWS + 5))
    write_notes(path, Notes(rows=many, capture="u"))
    assert len(read_notes(path).rows) == MAX_ROWS


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        {"id": "a"},
        {"id": "a", "sql": " "},
        {"id": "", "sql": "SELECT 1"},
        {"id": "a", "sql": "x" * (MAX_TEXT + 1)},
        {"id": "a", "sql": {"SELECT": 1}},
        {"id": "a", "sql": "SELECT 1", "title": None},
    ],
)
def test_rows_that_do_not_fit_are_left_out(entry: object) -> None:
    assert row_of(entry) is None


def test_titles_are_one_line_and_never_empty() -> None:
    row = row_of({"id": "a", "sql": "SELECT 1", "title": "one\ntwo\u202e"})
    assert row is not None
    assert row.title.splitlines() == [row.title]
    assert "\u202e" not in row.title
    row = row_of({"id": "a", "sql": "SELECT\n  1", "title": " "})
    assert row is not None
    assert row.title == "SELECT 1"
