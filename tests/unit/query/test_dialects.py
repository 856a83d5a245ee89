"""Queries written for Perfetto and for Nsight Systems run as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.query.view_checks import binder_of

from warpline.query.rewriting import rewritten
from warpline.storage import open_capture

pytest.importorskip("duckdb")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (
            """SELECT s.value AS name, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k
               JOIN StringIds s ON s.id = k.demangledName GROUP BY 1 ORDER BY 1""",
            "SELECT name, count(*), sum(dur) FROM kernel GROUP BY 1 ORDER BY 1",
        ),
        (
            """SELECT globalTid / 0x1000000 % 0x1000000, globalTid % 0x1000000, count(*)
               FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY 1, 2""",
            "SELECT t.pid, t.tid, count(*) FROM cuda_api c JOIN tracks t ON t.id = c.track_id GROUP BY 1, 2",
        ),
        (
            "SELECT deviceId, sum(end-start) FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY deviceId",
            "SELECT device, sum(dur) FROM kernel k JOIN tracks t ON t.id = k.track_id GROUP BY device",
        ),
        (
            """INCLUDE PERFETTO MODULE slices.with_context;
               SELECT tid, thread_name, pid, count(*) FROM thread_slice GROUP BY ALL ORDER BY ALL""",
            """SELECT h.tid, h.name, t.pid, count(*) FROM events e JOIN tracks t ON t.id = e.track_id
               JOIN threads h ON h.id = t.thread_id GROUP BY ALL ORDER BY ALL""",
        ),
        ("SELECT text, start FROM NVTX_EVENTS ORDER BY start", "SELECT name, ts FROM range ORDER BY ts"),
        (
            "SELECT deviceId, streamId, bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY start",
            "SELECT device, stream, bytes FROM memcpy c JOIN tracks t ON t.id = c.track_id ORDER BY ts",
        ),
        (
            "SELECT name, ts, dur FROM slice WHERE category = 'kernel' ORDER BY ts",
            "SELECT name, ts, dur FROM kernel ORDER BY ts",
        ),
        (
            """SELECT thread.name, slice.name, count(*)
               FROM slice JOIN thread_track ON slice.track_id = thread_track.id
               JOIN thread USING (utid) GROUP BY ALL ORDER BY ALL""",
            """SELECT h.name, e.name, count(*) FROM events e JOIN tracks t ON t.id = e.track_id
               JOIN threads h ON h.id = t.thread_id GROUP BY ALL ORDER BY ALL""",
        ),
        (
            "SELECT slice_out, slice_in FROM flow ORDER BY ALL",
            "SELECT from_id, to_id FROM links ORDER BY ALL",
        ),
        ("SELECT count(*), avg(value) FROM counter", "SELECT count(*), avg(value) FROM counter_samples"),
    ],
)
def test_queries_found_elsewhere(sql_path: Path, theirs: str, ours: str) -> None:
    with open_capture(sql_path) as capture:
        binder = binder_of(capture)
        answers = [[column.python_values() for column in binder.run(sql)[0]] for sql in (theirs, ours)]
    assert len(answers[0][0]) > 0
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("x % 0x1000000 + '0x10' -- 0x10", "x % 16777216  + '0x10' -- 0x10"),
        ("tid / 0x1000000 % 0xFF, 1 / 2", "tid // 16777216  % 255 , 1 / 2"),
        ("tid // 0x1000000, 5//0x2", "tid // 16777216 , 5//2  "),
        ("CASE WHEN end > ? THEN $1 ELSE ? END", 'CASE WHEN "end" > ? THEN $1 ELSE ? END'),
        (
            "CASE x WHEN 1 THEN {'end': end} ELSE {'a': 1} END",
            "CASE x WHEN 1 THEN {'end': \"end\"} ELSE {'a': 1} END",
        ),
        ("SELECT end-start, k.end, 'end'", 'SELECT "end"-start, k."end", \'end\''),
        (
            "CASE WHEN end > 5 THEN end ELSE end END AS end",
            'CASE WHEN "end" > 5 THEN "end" ELSE "end" END AS "end"',
        ),
        ("CASE x WHEN 1 THEN NULL ELSE f(2) END, end", 'CASE x WHEN 1 THEN NULL ELSE f(2) END, "end"'),
        ("x BETWEEN start AND end /* end */", 'x BETWEEN start AND "end" /* end */'),
        ("include perfetto module a.b;\nSELECT 1", f"{' ' * 28}\nSELECT 1"),
    ],
)
def test_what_duckdb_reads_differently_is_rewritten(theirs: str, ours: str) -> None:
    found = rewritten(theirs)
    assert found.sql == ours
    # What is left without the inserted characters is as long as what was written.
    assert len(found.sql) - len(found.inserted) == len(theirs)


def test_places_are_those_of_the_written_query() -> None:
    found = rewritten("SELECT 'ä', end,\n end, durr")
    for place, character in enumerate("durr", found.sql.index("durr")):
        position = len(found.sql[:place].encode())
        line, column = found.place(position) or (0, 0)
        assert (line, character) == (2, ["SELECT 'ä', end,", " end, durr"][1][column - 1])
    assert found.place(-1) is None
    assert found.place(1000) == (2, 11)
