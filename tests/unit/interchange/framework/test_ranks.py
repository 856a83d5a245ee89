"""Several files of one job: ranks, clocks, alignment."""

from __future__ import annotations

from dataclasses import replace
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


def test_correlation_ids_do_not_link_across_ranks(tmp_path: Path) -> None:
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


def test_a_rank_of_an_archive_can_be_moved_again_and_again(tmp_path: Path) -> None:
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


def test_start_is_the_last_resort_of_auto(tmp_path: Path) -> None:
    capture = imported(tmp_path, rank_file(tmp_path, 0, 0), rank_file(tmp_path, 1, 9e6, steps=range(7, 9)))
    assert {clock.method for clock in capture.clocks[1:]} == {"start"}
    assert capture_times(capture, "kernel of rank 0")[0] == capture_times(capture, "kernel of rank 1")[0]


def test_an_unusable_alignment_method_is_an_error(tmp_path: Path) -> None:
    files = [rank_file(tmp_path, 0, 0), rank_file(tmp_path, 1, 0, steps=range(7, 9))]
    with pytest.raises(ImportFormatError, match="--align"):
        imported(tmp_path, *files, align="steps")
    with pytest.raises(ImportFormatError, match="--align"):
        imported(tmp_path, *files, align="utc")
    with pytest.raises(UsageError, match="auto, collectives, steps, utc, start"):
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
    # What is left at any step, used for the offset or not; one step judges nothing.
    assert found.residuals_ns[1] == (max(distances) if len(distances) > 1 else None)
    assert abs(found.offsets_ns[1] - found.offsets_ns[0] - shift) <= 50


def ranks_with_collectives(
    count: int, errors: list[int], *, epoch: bool, surplus: int = 0
) -> list[ImportSummary]:
    """Ranks with clock errors: collectives end together, but the single step ends at a random time."""
    rng = np.random.default_rng(7)
    ends = np.cumsum(rng.integers(200_000, 900_000, 60))
    summaries = []
    for rank, error in zip(range(count), errors, strict=True):
        jitter = rng.integers(0, 3_000, len(ends))
        own = np.sort(ends + jitter + error)[surplus if rank % 2 else 0 :]
        step = {5: (error, int(ends[-1]) + error + 920_000 * (rank % 2))}
        summaries.append(
            ImportSummary(
                start_ns=error,
                steps=step,
                utc_offset_ns=0 if epoch else None,
                collectives={"ncclDevKernel_AllReduce_Sum_f32_RING_LL": own, f"only here {rank}": own[:3]},
            )
        )
    return summaries


def disagreement(summaries: list[ImportSummary], offsets: tuple[int, ...]) -> int:
    """The largest distance between the ends of the last collective."""
    ends = [
        int(summary.collectives["ncclDevKernel_AllReduce_Sum_f32_RING_LL"][-1]) - offset
        for summary, offset in zip(summaries, offsets, strict=True)
    ]
    return max(ends) - min(ends)


def test_clocks_that_already_agree_do_not_move() -> None:
    summaries = ranks_with_collectives(8, [0] * 8, epoch=True)
    found = align(summaries, "auto")
    assert disagreement(summaries, found.offsets_ns) <= 7_000
    assert found.method == "utc"
    ends = [summary.collectives["ncclDevKernel_AllReduce_Sum_f32_RING_LL"] for summary in summaries]
    assert found.residuals_ns == tuple(int(abs(own - ends[0]).max()) for own in ends)
    by_steps = align(summaries, "steps")
    assert disagreement(summaries, by_steps.offsets_ns) > 900_000
    assert by_steps.residuals_ns == (None,) * 8


@pytest.mark.parametrize("surplus", [0, 5])
def test_collectives_find_the_clocks_that_steps_miss(surplus: int) -> None:
    errors = [0, 5_000_000, -70_000_000, 12, 10**12, -1, 999, 40_000]
    summaries = ranks_with_collectives(8, errors, epoch=False, surplus=surplus)
    found = align(summaries, "auto")
    assert found.method == "collectives"
    assert disagreement(summaries, found.offsets_ns) <= 7_000
    for error, offset, residual in zip(errors, found.offsets_ns, found.residuals_ns, strict=True):
        assert abs(offset - found.offsets_ns[0] - error) <= 3_000
        assert residual is not None
        assert residual <= 6_000


def test_collectives_of_other_groups_do_not_affect_alignment() -> None:
    first, second = ranks_with_collectives(2, [0, 333_000], epoch=False)
    rng = np.random.default_rng(1)
    strangers = [np.sort(rng.integers(0, 3 * 10**7, 60)) for _ in range(2)]
    first, second = (
        replace(summary, collectives={**summary.collectives, "ncclDevKernel_AllGather": ends})
        for summary, ends in zip((first, second), strangers, strict=True)
    )
    found = align([first, second], "auto")
    assert abs(found.offsets_ns[1] - found.offsets_ns[0] - 333_000) <= 3_000


def test_ranks_of_traces_are_aligned_by_their_collectives(tmp_path: Path) -> None:
    files = [
        rank_file(tmp_path, rank, 4_000 * rank, all_reduce=True, late_us=300 * rank) for rank in range(3)
    ]
    capture = imported(tmp_path, *files)
    assert {clock.method for clock in capture.clocks[1:]} == {"collectives"}
    assert "ends on all ranks at the same time" in capture.meta["alignment"]["reason"]
    ends = sorted(capture_times(capture, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"))
    assert [ends[index + 2] - ends[index] for index in (0, 3, 6)] == [0, 0, 0]


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
