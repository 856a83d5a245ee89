"""The twenty examples answer what the reports of the same capture answer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.query.view_checks import answer, binder_of

import warpline
from warpline.model import NotRecordedError
from warpline.query.binding import Binder
from warpline.query.examples import EXAMPLES
from warpline.query.session import QueryNotRecordedError, QuerySession
from warpline.storage import Capture

pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def reader(sql_path: Path) -> Iterator[warpline.CaptureReader]:
    with warpline.open(sql_path) as reader:
        yield reader


@pytest.fixture(scope="module")
def binder(reader: warpline.CaptureReader) -> Binder:
    return binder_of(reader.storage)


def test_there_are_twenty() -> None:
    assert len(EXAMPLES) == len({example.sql for example in EXAMPLES}) == 20


@pytest.mark.parametrize("example", EXAMPLES[:-1], ids=lambda example: example.title)
def test_each_answers_or_says_what_was_not_recorded(session: QuerySession, example: Any) -> None:
    with contextlib.suppress(QueryNotRecordedError):
        assert session.run(example.sql).columns


@pytest.mark.parametrize(
    ("title", "report", "key", "sums"),
    [
        (
            "Which kernels take the most time?",
            "cuda_gpu_kern_sum",
            "name",
            {"total": "total_ns", "calls": "count"},
        ),
        (
            "How long do the calls of each kernel take?",
            "cuda_gpu_kern_sum",
            "name",
            {"middle": "med_ns", "longest": "max_ns"},
        ),
        (
            "Which CUDA calls take the most time?",
            "cuda_api_sum",
            "name",
            {"total": "total_ns", "calls": "count"},
        ),
        ("How much is copied, and how fast?", "cuda_gpu_mem_size_sum", "", {"bytes": "total_bytes"}),
        (
            "Which ranges take the most time, with and without those inside?",
            "nvtx_sum",
            "",
            {"total": "total_ns"},
        ),
    ],
)
def test_examples_and_reports_agree(
    reader: warpline.CaptureReader, binder: Binder, title: str, report: str, key: str, sums: dict[str, str]
) -> None:
    ours = answer(binder, title)
    theirs = list(reader.report(report).rows())
    for own, other in sums.items():
        if key:
            assert {row["name"]: row[own] for row in ours} == {row[key]: row[other] for row in theirs}
        else:
            assert sum(row[own] for row in ours) == sum(row[other] for row in theirs)


def test_busy_time_is_that_of_the_device(reader: warpline.CaptureReader, binder: Binder) -> None:
    [gpu] = answer(binder, "How long is each GPU busy?")
    capture: Capture = reader.storage
    lanes = [
        lane
        for track in capture.tracks
        if track.role == "stream"
        for lane in capture.track_lanes(track.index)
    ]
    assert gpu["busy"] == capture.union_busy_ns(lanes, *capture.span)


def test_a_report_is_a_table(reader: warpline.CaptureReader, binder: Binder) -> None:
    columns, _ = binder.run("SELECT * FROM report_cuda_gpu_kern_sum")
    frame = reader.report("cuda_gpu_kern_sum")
    assert [column.name for column in columns] == list(frame.columns)
    for column in columns:
        assert column.python_values() == [row[column.name] for row in frame.rows()]


def test_a_report_that_is_empty_is_not_recorded(binder: Binder) -> None:
    with pytest.raises(NotRecordedError, match="report_thread_state: not recorded"):
        binder.run("SELECT * FROM report_thread_state")


def test_launches_join_call_and_work(binder: Binder) -> None:
    columns, _ = binder.run(
        "SELECT count(*), count(DISTINCT l.id), bool_and(l.ts = k.ts AND l.dur = k.dur AND l.call_ts = c.ts "
        "AND l.delay = greatest(k.ts - c.ts - c.dur, 0)) "
        "FROM launches l JOIN events k ON k.id = l.id JOIN events c ON c.id = l.call_id"
    )
    count, distinct, agree = (column.python_values()[0] for column in columns)
    assert count == distinct > 0
    assert agree


def test_events_of_a_time_and_a_range(binder: Binder) -> None:
    count = "SELECT count(*) FROM "
    [inside], _ = binder.run(count + "between_ts(100_000_000, 200_000_000) WHERE dur_inside <= 0 AND dur > 0")
    assert inside.python_values() == [0]
    [now], _ = binder.run(count + "slice_at(150_000_000)")
    [same], _ = binder.run(count + "events WHERE ts <= 150_000_000 AND ts + dur > 150_000_000")
    assert now.python_values() == same.python_values() != [0]
    [bucket], _ = binder.run("SELECT [bucket(i, 10) FOR i IN [-1, 0, 9, 10]]::VARCHAR")
    assert bucket.python_values() == ["[-10, 0, 0, 10]"]
