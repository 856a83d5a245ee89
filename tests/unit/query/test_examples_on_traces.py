"""The twenty examples on traces that PyTorch's profiler wrote: their answers are those of the reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.fuzz_sql import unequal_queries
from tests.unit.query.view_checks import answer, binder_of, differences

import warpline
from warpline.query.binding import Binder
from warpline.query.examples import EXAMPLES
from warpline.query.session import QueryNotRecordedError, QuerySession

pytest.importorskip("duckdb")
TRACES = {
    "bert": "torch/AMD-AGI+TraceLens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "resnet": "torch/pytorch+kineto/tb_plugin/samples/resnet50_num_workers_0"
    "/worker0.1623143089861.pt.trace.json.gz",
}


@pytest.fixture(scope="module", params=TRACES)
def reader(request: pytest.FixtureRequest, data_dir: Path) -> Iterator[warpline.CaptureReader]:
    trace = data_dir / TRACES[request.param]
    if not trace.exists():
        pytest.skip(f"{trace} is not there")
    with warpline.open(trace) as reader:
        yield reader


@pytest.fixture(scope="module")
def binder(reader: warpline.CaptureReader) -> Binder:
    return binder_of(reader.storage)


def test_each_answers_or_says_what_was_not_recorded(reader: warpline.CaptureReader) -> None:
    unanswered = set()
    path = reader.storage.path
    with QuerySession([path, path]) as session:
        for example in EXAMPLES:
            try:
                assert session.run(example.sql).columns
            except QueryNotRecordedError:
                unanswered.add(example.title)
    assert unanswered == {
        "How long is each thread running, ready and blocked?",
        "What do threads wait for, and where?",
        "Which functions are on top of the stack most often?",
    }


def test_views_equal_python(reader: warpline.CaptureReader) -> None:
    assert differences(reader) == []


def test_what_is_not_read_is_not_made(reader: warpline.CaptureReader) -> None:
    assert unequal_queries(reader.storage, 10, 32) == []


@pytest.mark.parametrize(
    ("title", "report", "columns"),
    [
        (
            "Which kernels take the most time?",
            "cuda_gpu_kern_sum",
            {"calls": "count", "total": "total_ns"},
        ),
        (
            "How long do the calls of each kernel take?",
            "cuda_gpu_kern_sum",
            {"calls": "count", "shortest": "min_ns", "middle": "med_ns", "longest": "max_ns"},
        ),
        (
            "Which CUDA calls take the most time?",
            "cuda_api_sum",
            {"calls": "count", "total": "total_ns", "longest": "max_ns"},
        ),
    ],
)
def test_by_name_as_the_report(
    reader: warpline.CaptureReader, binder: Binder, title: str, report: str, columns: dict[str, str]
) -> None:
    ours = {row["name"]: [row[own] for own in columns] for row in answer(binder, title)}
    theirs = {row["name"]: [row[other] for other in columns.values()] for row in reader.report(report).rows()}
    assert len(ours) > 5
    assert ours == theirs


def test_copies_are_those_of_the_report_which_also_counts_sets(
    reader: warpline.CaptureReader, binder: Binder
) -> None:
    rows = answer(binder, "How much is copied, and how fast?")
    ours = {
        f"[CUDA memcpy {row['copy_kind'].title().replace(' To ', '-to-')}]": (row["copies"], row["bytes"])
        for row in rows
    }
    theirs = {
        row["operation"]: (row["count"], row["total_bytes"])
        for row in reader.report("cuda_gpu_mem_size_sum").rows()
    }
    if "memset" in reader.storage.kinds:
        columns, _ = binder.run("SELECT count(*), sum(bytes)::BIGINT FROM memset")
        [count], [size] = (column.python_values() for column in columns)
        ours["[CUDA memset]"] = count, size
    assert ours == theirs


def test_ranges_are_those_of_the_report_and_marks(reader: warpline.CaptureReader, binder: Binder) -> None:
    title = "Which ranges take the most time, with and without those inside?"
    ours: list[dict[str, Any]] = [row for row in answer(binder, title) if row["total"]]
    assert {row["name"]: row["total"] for row in ours} == {
        row["name"]: row["total_ns"] for row in reader.report("nvtx_sum").rows()
    }
