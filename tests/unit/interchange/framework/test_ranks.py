"""Several files of one job: ranks, clocks, alignment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.interchange.import_tools import count, imported, links, rank_file

from warpline.interchange import ImportSummary
from warpline.interchange.framework.ranks import align, rank_numbers
from warpline.model import ImportFormatError, UsageError

STEP_NS = 1_000_000


def capture_times(capture: Any, name: str) -> list[int]:
    chosen = [
        row for row in range(len(capture.events)) if capture.strings[int(capture.events.name[row])] == name
    ]
    return sorted(capture.event_times(np.array(chosen))[0].tolist())


def test_each_rank_is_a_group_with_its_own_clock(tmp_path: Path) -> None:
    capture = imported(tmp_path, rank_file(tmp_path, 0, 100), rank_file(tmp_path, 5, 777_000))
    assert [track.uri for track in capture.tracks if track.role == "rank"] == ["rank/0", "rank/5"]
    for rank in (0, 5):
        track = capture.track(f"rank/{rank}/gpu/0/process/40.1/context/1/stream/7")
        assert track.rank == rank
        assert capture.clocks[track.clock].name == f"rank {rank}"
    # Both clocks were 776,900 us apart; the same step ends at the same time now.
    assert capture_times(capture, "kernel of rank 0") == capture_times(capture, "kernel of rank 5")
    assert [(clock.method, clock.residual_ns) for clock in capture.clocks[1:]] == [("steps", 0), ("steps", 0)]
    assert capture.span[0] == 0


def test_correlation_ids_of_ranks_are_their_own(tmp_path: Path) -> None:
    capture = imported(tmp_path, rank_file(tmp_path, 0, 0), rank_file(tmp_path, 1, 0))
    assert capture.links.counts()["launch"] == 6
    assert links(capture, "launch") == {
        ("cudaLaunchKernel", "kernel of rank 0"),
        ("cudaLaunchKernel", "kernel of rank 1"),
    }
    tracks = [capture.tracks[capture.track_of_row(row)].rank for row in capture.links.from_row.tolist()]
    assert tracks == [capture.tracks[capture.track_of_row(row)].rank for row in capture.links.to_row.tolist()]


def test_a_rank_can_be_moved_without_importing_again(tmp_path: Path) -> None:
    capture = imported(tmp_path, rank_file(tmp_path, 0, 100), rank_file(tmp_path, 1, 500))
    clock = next(index for index, clock in enumerate(capture.clocks) if clock.name == "rank 1")
    before = capture_times(capture, "kernel of rank 1")
    moved = capture.with_clock_offsets({clock: capture.clocks[clock].offset_ns - 250})
    assert capture_times(moved, "kernel of rank 1") == [time + 250 for time in before]
    assert capture_times(moved, "kernel of rank 0") == capture_times(capture, "kernel of rank 0")


def test_a_rank_is_moved_as_often_as_one_likes_in_an_archive_too(tmp_path: Path) -> None:
    from warpline.interchange.export.exporter import ExportOptions
    from warpline.interchange.export.exporting import export_capture
    from warpline.storage import open_capture

    capture = imported(tmp_path, rank_file(tmp_path, 0, 100), rank_file(tmp_path, 1, 500))
    archive = export_capture(capture, tmp_path / "job.h5", options=ExportOptions(compress=True))
    with open_capture(archive) as packed:
        clock = next(index for index, clock in enumerate(packed.clocks) if clock.name == "rank 1")
        offset, span = packed.clocks[clock].offset_ns, packed.span
        before = capture_times(packed, "kernel of rank 1")
        moved = packed
        for step in range(300):
            moved = moved.with_clock_offsets({clock: offset - step})
        assert capture_times(moved, "kernel of rank 1") == [time + 299 for time in before]
        assert moved.span == (span[0], span[1] + 299)
        back = moved.with_clock_offsets({})
        assert (back.span, back.clocks) == (span, packed.clocks)


def test_utc_is_used_where_no_step_is_shared(tmp_path: Path) -> None:
    first = rank_file(tmp_path, 0, 0, base=10**18)
    second = rank_file(tmp_path, 1, 0, base=10**18 + 5 * STEP_NS, steps=range(7, 9))
    capture = imported(tmp_path, first, second)
    assert {clock.method for clock in capture.clocks[1:]} == {"utc"}
    assert (
        capture_times(capture, "kernel of rank 1")[0] - capture_times(capture, "kernel of rank 0")[0]
        == 12 * STEP_NS
    )


def test_start_is_what_is_left(tmp_path: Path) -> None:
    capture = imported(tmp_path, rank_file(tmp_path, 0, 0), rank_file(tmp_path, 1, 9e6, steps=range(7, 9)))
    assert {clock.method for clock in capture.clocks[1:]} == {"start"}
    assert capture_times(capture, "kernel of rank 0")[0] == capture_times(capture, "kernel of rank 1")[0]


def test_a_method_that_cannot_work_says_so(tmp_path: Path) -> None:
    files = [rank_file(tmp_path, 0, 0), rank_file(tmp_path, 1, 0, steps=range(7, 9))]
    with pytest.raises(ImportFormatError, match="--align"):
        imported(tmp_path, *files, align="steps")
    with pytest.raises(ImportFormatError, match="--align"):
        imported(tmp_path, *files, align="utc")
    with pytest.raises(UsageError, match="auto, steps, utc, start"):
        imported(tmp_path, *files, align="guess")


def test_ranks_come_from_metadata_then_names_then_order() -> None:
    info = b'{"distributedInfo": {"backend": "nccl", "rank": 3}, "traceEvents": ['
    assert rank_numbers([(Path("a.json"), info), (Path("rank-12.json"), b"[")]) == [3, 12]
    assert rank_numbers([(Path("rank1.json"), info), (Path("a.json"), b"[")]) == [0, 1]
    assert rank_numbers([(Path("rank1.json"), b"["), (Path("b/rank1.json"), b"[")]) == [0, 1]


@given(
    shift=st.integers(-(10**15), 10**15),
    ends=st.lists(st.integers(0, 10**12), min_size=1, max_size=9, unique=True),
    jitter=st.lists(st.integers(-50, 50), min_size=9, max_size=9),
)
def test_steps_align_to_within_the_residual(shift: int, ends: list[int], jitter: list[int]) -> None:
    reference = {number: (end - 5, end) for number, end in enumerate(ends)}
    other = {
        number: (end + shift + jitter[number] - 9, end + shift + jitter[number])
        for number, end in enumerate(ends)
    }
    found = align(
        [
            ImportSummary(steps=reference, start_ns=0),
            ImportSummary(steps={**other, 99: (1, 2)}, start_ns=shift),
        ],
        "auto",
    )
    assert found.method == "steps"
    distances = [
        abs((other[n][1] - found.offsets_ns[1]) - (reference[n][1] - found.offsets_ns[0])) for n in reference
    ]
    assert max(distances) == found.residuals_ns[1]
    assert abs(found.offsets_ns[1] - found.offsets_ns[0] - shift) <= 50


def test_two_real_ranks_are_one_capture(data_dir: Path, tmp_path: Path) -> None:
    folder = data_dir / "torch/facebookresearch+HolisticTraceAnalysis/tests/data"
    capture = imported(
        tmp_path,
        folder / "timeline_analysis/sampled_rank-0.json.gz",
        folder / "trace_filter/sampled_rank-1.json.gz",
    )
    assert count(capture, "kernel") == 1154 + 1104
    assert count(capture, "cuda_api") == 1204 + 1154
    assert capture.links.counts()["launch"] == 1204 + 1154
    assert [track.uri for track in capture.tracks if track.role == "rank"] == ["rank/0", "rank/1"]
    assert [clock.method for clock in capture.clocks[1:]] == ["steps", "steps"]
