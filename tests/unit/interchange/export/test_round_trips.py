"""Round trips through each pair of formats: parts of captures, ranks, tables."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.gui.sample import MS, write_sample
from tests.unit.interchange.export.export_tools import attributes_of, events_of, links_of, samples_of, written

from warpline.interchange import import_files
from warpline.storage import Capture, open_capture

RANKS = (
    "torch/facebookresearch+HolisticTraceAnalysis/tests/data/timeline_analysis/sampled_rank-0.json.gz",
    "torch/facebookresearch+HolisticTraceAnalysis/tests/data/trace_filter/sampled_rank-1.json.gz",
)
FUSER = "nsys/NVIDIA+Fuser/fuser_da819b5f_report1.sqlite"
PADDLE = "paddle/paddle_lenet_cpu_b8s4.paddle_trace.json"
ASCEND_DATABASE = (
    "ascend/xiaobingling93-pixel+Ascend-msinsight/test/data/pytorch/db/level1/rank0_ascend_pt/"
    "ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"
)
RPD_TRACE = "rocm/ROCm+rocmProfileData/examples/rocm-profile-data/results/matmul_result.json"
BERT = "torch/AMD-AGI+TraceLens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz"


@pytest.fixture(scope="module")
def job(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    """Two ranks of one job, aligned by their steps."""
    out = tmp_path_factory.mktemp("job") / "job.h5"
    with open_capture(import_files([data_dir / file for file in RANKS], out)) as capture:
        yield capture


@pytest.fixture(scope="module")
def fuser(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    """Kernels, calls, NVTX and the scheduler from Nsight."""
    out = tmp_path_factory.mktemp("fuser") / "fuser.h5"
    with open_capture(import_files([data_dir / FUSER], out)) as capture:
        yield capture


def middle(capture: Capture) -> tuple[int, int]:
    """The middle third of the capture."""
    third = capture.duration_ns // 3
    return capture.span[0] + third, capture.span[0] + 2 * third


def events_by_rank(capture: Capture) -> Counter[tuple[Any, ...]]:
    """Name, start, duration and rank of every event."""
    rows = np.arange(len(capture.events))
    starts, _ = capture.event_times(rows)
    tracks = capture.tracks_of_rows(rows).tolist()
    names = capture.strings.get(capture.events.name.tolist())
    return Counter(
        zip(
            names,
            starts.tolist(),
            capture.events.duration.tolist(),
            [capture.tracks[track].rank for track in tracks],
            strict=True,
        )
    )


def test_a_part_of_a_job_is_a_job_again(job: Capture, tmp_path: Path) -> None:
    start, stop = middle(job)
    with open_capture(written(job, tmp_path / "part.h5", start, stop)) as part:
        assert part.clocks == job.clocks
        assert {process.rank for process in part.processes} == {0, 1}
        rows = np.arange(len(job.events))
        starts, stops = job.event_times(rows)
        inside = (starts < stop) & ((stops > start) | (starts >= start))
        assert len(part.events) == int(inside.sum()) > 1000
        assert events_by_rank(part) <= events_by_rank(job)
        # The part of the part is the part.
        with open_capture(written(part, tmp_path / "again.h5", start, stop)) as again:
            assert events_by_rank(again) == events_by_rank(part)
            assert links_of(again) == links_of(part)


def test_ranks_moved_by_hand_are_exported_where_they_are_seen(job: Capture, tmp_path: Path) -> None:
    clock = next(index for index, clock in enumerate(job.clocks) if clock.name == "rank 1")
    moved = job.with_clock_offsets({clock: job.clocks[clock].offset_ns - 5_000_000})
    seen = events_by_rank(moved)
    assert seen != events_by_rank(job)
    with open_capture(written(moved, tmp_path / "moved.h5")) as kept:
        assert events_by_rank(kept) == seen
        assert kept.clocks[clock].method == "set by hand"
    with open_capture(
        import_files([written(moved, tmp_path / "moved.json")], tmp_path / "again.h5")
    ) as again:
        assert events_of(again) == events_of(moved)


def test_json_of_a_job_keeps_events_and_links_of_both_ranks(job: Capture, tmp_path: Path) -> None:
    out = written(job, tmp_path / "job.json.gz")
    with open_capture(import_files([out], tmp_path / "again.h5")) as again:
        assert events_of(again) == events_of(job)
        assert links_of(again) == links_of(job, loose=False)


@pytest.mark.parametrize("file", [BERT, PADDLE])
def test_json_of_a_part_is_that_part(data_dir: Path, tmp_path: Path, file: str) -> None:
    with open_capture(import_files([data_dir / file], tmp_path / "whole.h5")) as capture:
        start, stop = middle(capture)
        with open_capture(written(capture, tmp_path / "part.h5", start, stop)) as part:
            out = written(capture, tmp_path / "part.json", start, stop)
            with open_capture(import_files([out], tmp_path / "again.h5")) as again:
                assert len(part.events) > 20
                assert events_of(again) == events_of(part)
                assert links_of(again) == links_of(part, loose=False)
                # Memory counters are made of memory events: what held before the first of them is not in there.
                assert samples_of(again) == {
                    name: [sample for sample in samples if sample[0] >= start]
                    for name, samples in samples_of(part).items()
                }


def test_json_of_a_recorded_capture_keeps_names_times_links_and_counters(tmp_path: Path) -> None:
    with open_capture(write_sample(tmp_path / "sample.h5")) as capture:
        for bounds in ((None, None), (20 * MS, 60 * MS)):
            with open_capture(written(capture, tmp_path / "part.h5", *bounds)) as part:
                out = written(capture, tmp_path / "part.json", *bounds)
                with open_capture(import_files([out], tmp_path / "again.h5")) as again:
                    # Thread states have no category there and come back as ranges.
                    assert Counter(event[1:] for event in events_of(again).elements()) == Counter(
                        event[1:] for event in events_of(part).elements()
                    )
                    assert links_of(again) == links_of(part, loose=False)
                    assert samples_of(again) == samples_of(part)


@pytest.mark.parametrize("file", [BERT, RANKS[0]])
def test_json_keeps_every_attribute_of_gpu_work_and_calls(data_dir: Path, tmp_path: Path, file: str) -> None:
    with (
        open_capture(import_files([data_dir / file], tmp_path / "in.h5")) as capture,
        open_capture(import_files([written(capture, tmp_path / "out.json")], tmp_path / "again.h5")) as again,
    ):
        assert "shared_memory_bytes" in capture.kinds["kernel"].attributes
        kinds = {"kernel", "memcpy", "memset", "sync", "cuda_api", "operator", "python", "phase", "memory"}
        for kind in kinds & set(capture.kinds):
            assert attributes_of(again, kind) == attributes_of(capture, kind), kind


@pytest.mark.parametrize("file", [ASCEND_DATABASE, RPD_TRACE])
def test_json_keeps_the_launches_of_work_without_ids_or_kinds_of_its_own(
    data_dir: Path, tmp_path: Path, file: str
) -> None:
    with (
        open_capture(import_files([data_dir / file], tmp_path / "in.h5")) as capture,
        open_capture(import_files([written(capture, tmp_path / "out.json")], tmp_path / "again.h5")) as again,
    ):
        assert capture.links.counts()["launch"] > 80
        assert links_of(again) == links_of(capture)


def test_counters_of_an_nsight_capture_pass_through_json(fuser: Capture, tmp_path: Path) -> None:
    out = written(fuser, tmp_path / "fuser.json", *middle(fuser))
    with (
        open_capture(import_files([out], tmp_path / "again.h5")) as again,
        open_capture(written(fuser, tmp_path / "part.h5", *middle(fuser))) as part,
    ):
        assert Counter(event[1:] for event in events_of(again).elements()) == Counter(
            event[1:] for event in events_of(part).elements()
        )
        assert samples_of(again) == samples_of(part)


@pytest.mark.parametrize("which", ["job", "fuser"])
def test_tables_hold_every_event_with_its_numbers(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    capture: Capture = request.getfixturevalue(which)
    expected = Counter(
        (kind, name, start - capture.span[0], duration)
        for (kind, name, start, duration), count in events_of(capture).items()
        for _ in range(count)
    )
    columns = ("kind", "name", "start_ns", "duration_ns")
    table = parquet.read_table(written(capture, tmp_path / "out.parquet")).to_pydict()
    assert Counter(zip(*(table[column] for column in columns), strict=True)) == expected
    with written(capture, tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert (
        Counter((row["kind"], row["name"], int(row["start_ns"]), int(row["duration_ns"])) for row in lines)
        == expected
    )
    # Rows of links are the numbers in the column ``row``.
    (tmp_path / "tables").mkdir()
    with (written(capture, tmp_path / "tables") / "links.csv").open(newline="") as file:
        found = Counter((row["kind"], row["from_row"], row["to_row"]) for row in csv.DictReader(file))
    links = capture.links
    ends = zip(links.kind.tolist(), links.from_row.tolist(), links.to_row.tolist(), strict=True)
    assert found == Counter(
        (links.kind_name(kind), str(source) if source >= 0 else "", str(target) if target >= 0 else "")
        for kind, source, target in ends
    )


def test_messages_of_the_profiler_stay_messages(fuser: Capture, tmp_path: Path) -> None:
    out = written(fuser, tmp_path / "messages.json")
    with open_capture(import_files([out], tmp_path / "messages.h5")) as again:
        assert_same_messages(fuser, again)


def assert_same_messages(fuser: Capture, again: Capture) -> None:
    assert len(again.kinds["diagnostic"]) == len(fuser.kinds["diagnostic"]) == 11
    assert len(again.kinds["range"]) == len(fuser.kinds["range"])
