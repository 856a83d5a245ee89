"""Joining captures of several ranks: each keeps its alignment, and the reason names it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.jobs.generate_job import JobPlan, write_job

from warpline.interchange.framework.ranks import alignment_reason
from warpline.interchange.joining.ranks import RankCapture, join_captures
from warpline.storage import open_capture

SHIFT_NS = 5_000


def joined(folder: Path, methods: list[str]) -> Path:
    write_job(folder, JobPlan(len(methods), 2))
    with ExitStack() as stack:
        ranks = [
            RankCapture(
                rank, stack.enter_context(open_capture(folder / f"rank_{rank}.h5")), rank * SHIFT_NS, method
            )
            for rank, method in enumerate(methods)
        ]
        return join_captures(ranks, folder / "joined.h5")


def test_every_rank_keeps_its_alignment_method(tmp_path: Path) -> None:
    with open_capture(joined(tmp_path / "job", ["collectives", "collectives", "steps", "start"])) as capture:
        clocks = [clock for clock in capture.clocks if clock.method]
        assert [clock.method for clock in clocks] == ["collectives", "collectives", "steps", "start"]
        assert [clock.offset_ns - clocks[0].offset_ns for clock in clocks] == [0, 5_000, 10_000, 15_000]
        assert capture.meta["alignment"]["method"] == "collectives, steps, start"
        reason = alignment_reason(capture.meta)
    assert "common collectives: 0, 1" in reason
    assert "common steps: 2" in reason
    assert reason.endswith("first events: 3")


def test_a_common_alignment_method_needs_no_list(tmp_path: Path) -> None:
    with open_capture(joined(tmp_path / "job", ["collectives", "collectives"])) as capture:
        assert capture.meta["alignment"] == {"method": "collectives", "reason": ""}
