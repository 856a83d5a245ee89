"""Queries written for Perfetto and for Nsight Systems run as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.query.view_checks import binder_of

from warpline.query.guard import without_hexadecimal
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
    if "globalTid" in theirs:
        answers = [[[int(value) for value in column] for column in answer] for answer in answers]
    assert answers[0] == answers[1]


def test_hexadecimal_numbers_keep_places() -> None:
    assert without_hexadecimal("x % 0x1000000 + '0x10' -- 0x10") == "x % 16777216  + '0x10' -- 0x10"
