"""Reports over joined ranks: the sum, or the list, of the ranks' own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.analysis.analysis_tools import rows_of
from tests.unit.effort import rounds

from warpline.analysis.framework.registry import compute_report, reports
from warpline.analysis.framework.selection import Selection
from warpline.model.track_patterns import match_tracks
from warpline.storage import Capture, CaptureBuilder, open_capture

Ops = list[tuple[int, int, int]]
"""Operators of a step: (name, ns before it, ns of its kernel)."""
STEPS = 3


def joined(path: Path, ranks: list[tuple[int, Ops]]) -> Capture:
    """Ranks that each run the same steps: (ns their clock lags behind, operators of every step)."""
    builder = CaptureBuilder(path)
    for rank, (lag, ops) in enumerate(ranks):
        process = builder.add_process(40 + rank, name="python")
        thread = builder.add_thread(process, 40 + rank, name="main")
        top = f"rank/{rank}/process/{40 + rank}.1"
        own: dict[str, Any] = {"process": process, "rank": rank}
        builder.track(f"rank/{rank}", role="rank", rank=rank)
        builder.track(top, role="process", parent=f"rank/{rank}", **own)
        base = f"{top}/thread/{40 + rank}.1"
        builder.track(base, role="thread", parent=top, thread=thread, **own)
        tracks = {
            role: builder.track(f"{base}/{role}", role=role, parent=base, thread=thread, **own)
            for role in ("api", "operators", "phases")
        }
        builder.add_device(0, "Test GPU", rank=rank)
        builder.track(f"rank/{rank}/gpu/0", role="gpu", device=0, rank=rank, parent=f"rank/{rank}")
        gpu = builder.track(
            f"rank/{rank}/gpu/0/stream/7",
            role="stream",
            device=0,
            stream=7,
            context=1,
            process=process,
            rank=rank,
            parent=f"rank/{rank}/gpu/0",
        )
        now = lag
        for step in range(STEPS):
            first = now
            for name, before, work in ops:
                now += before
                code = builder.string(f"op {name}")
                builder.add_events(tracks["operators"], "operator", [now], [90], [code])
                call = builder.add_events(
                    tracks["api"], "cuda_api", [now + 10], [20], [builder.string("cudaLaunchKernel")]
                )
                kernel = builder.add_events(
                    gpu, "kernel", [now + 40], [work], [builder.string(f"kernel {name}")]
                )
                builder.add_links("launch", [call], [kernel])
                now += 100
            builder.add_events(
                tracks["phases"],
                "phase",
                [first],
                [now - first + 50],
                [builder.string(f"ProfilerStep#{step}")],
            )
            now += 50
    builder.set_span(0, 20_000)
    builder.finish()
    return open_capture(path)


def sums(capture: Capture, report: str, selection: Selection) -> Counter[str]:
    """Counts and totals of the outermost rows of a report; empty where it says that nothing was recorded."""
    table = compute_report(capture, report, selection).table
    found: Counter[str] = Counter()
    for row in table.rows() if table is not None else ():
        if not row.get("depth", 0):
            for key in ("count", "total_ns", "cpu_total_ns", "gpu_total_ns", "duration_ns", "own_ns"):
                found[key] += row.get(key) or 0
    return +found


OPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 50)), min_size=1, max_size=5)


@pytest.mark.fuzz
@given(st.lists(st.tuples(st.integers(0, 500), OPS), min_size=2, max_size=3))
@settings(max_examples=rounds(2, 60), deadline=None)
def test_every_report_over_ranks_adds_up_to_the_ranks_own(
    tmp_path_factory: pytest.TempPathFactory, ranks: list[tuple[int, Ops]]
) -> None:
    with joined(tmp_path_factory.mktemp("ranks") / "joined.h5", ranks) as capture:
        for spec in reports():
            whole = sums(capture, spec.name, Selection())
            own: Counter[str] = Counter()
            for rank in range(len(ranks)):
                own += sums(capture, spec.name, Selection(ranks=frozenset([rank])))
            assert whole == own, spec.name


TWO = [(0, [(0, 10, 30), (0, 10, 30)]), (130, [(0, 0, 40), (0, 20, 40), (1, 0, 10)])]


def test_a_step_counts_work_launched_by_its_rank(tmp_path: Path) -> None:
    with joined(tmp_path / "joined.h5", TWO) as capture:
        step = rows_of(capture, "model")[0]
    assert (step["count"], step["gpu_total_ns"]) == (6, STEPS * 60 + STEPS * 90)
    assert step["gpu_max_ns"] == 90


def test_operator_positions_follow_the_steps_of_their_rank(tmp_path: Path) -> None:
    def places(selection: Selection) -> Counter[tuple[str, int]]:
        rows: list[dict[str, Any]] = rows_of(capture, "operator_places", selection)
        return Counter({(row["name"], row["depth"]): row["count"] for row in rows})

    with joined(tmp_path / "joined.h5", TWO) as capture:
        own = [places(Selection(ranks=frozenset([rank]))) for rank in (0, 1)]
        assert places(Selection()) == own[0] + own[1]
        assert own[0]["op 0 #1", 1] == STEPS


def test_tracks_of_one_rank_select_its_steps(tmp_path: Path) -> None:
    with joined(tmp_path / "joined.h5", TWO) as capture:
        tracks = match_tracks(capture.tracks, ["rank/0/*"])
        for report in ("model", "steps", "step_breakdown", "benchmark", "operator_places"):
            by_tracks = rows_of(capture, report, Selection(tracks=tracks))
            assert by_tracks == rows_of(capture, report, Selection(ranks=frozenset([0]))), report
