"""Tables over ranks held against what HolisticTraceAnalysis printed for the same two ranks of a job of 128."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selection import View
from warpline.analysis.jobs.rank_case import RankCase
from warpline.analysis.jobs.rank_collectives import COLLECTIVES
from warpline.analysis.jobs.rank_tables import compute_rank_table
from warpline.library.jobs import RankState, open_job
from warpline.library.opening import open_path
from warpline.model.progress import never, unwatched

STEP = 551
"""It leaves the last step of a trace out; of two steps this one is left."""


@pytest.fixture
def traces(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    found = sorted(data_dir.glob("torch/**/sampled_rank-*.json.gz"), key=lambda path: path.name)
    if len(found) != 2:
        pytest.skip("the two ranks are not in the test data")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return found


def printed(data_dir: Path, name: str) -> list[dict[str, str]]:
    with (data_dir / "expected_hta" / "HTA_sampled_2ranks" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_steps_of_ranks_are_cut_as_hta_cuts_them(data_dir: Path, traces: list[Path]) -> None:
    job = open_job(traces, workers=1)
    assert [one.rank for one in job.ranks if one.state is RankState.COMPUTED] == [0, 1]
    assert [one.rank for one in job.ranks if one.state is RankState.MISSING] == list(range(2, 128))
    step = job.steps.steps.tolist().index(STEP)
    for row in printed(data_dir, "temporal_breakdown.csv"):
        place = job.steps.place(int(row["rank"]))
        compute, communication, copies = (
            job.steps.values(name)[step, place]
            for name in ("computation_ns", "communication_ns", "copies_ns")
        )
        assert compute == float(row["compute_time(us)"]) * 1000
        assert communication + copies == float(row["non_compute_time(us)"]) * 1000


def test_communication_of_ranks_is_what_hta_counts(data_dir: Path, traces: list[Path]) -> None:
    kernels = [
        row for row in printed(data_dir, "gpu_kernel_breakdown1.csv") if row["kernel_type"] == "COMMUNICATION"
    ]
    hidden = {
        int(row["rank"]): float(row["comp_comm_overlap_pctg"])
        for row in printed(data_dir, "comm_comp_overlap.csv")
    }
    assert len(kernels) == 2
    for row in kernels:
        rank = int(row["rank"])
        with open_path(traces[rank], unwatched, never).capture as capture:
            table = compute_rank_table(RankCase(View(capture), Options()), COLLECTIVES).table
        assert table is not None
        here = np.asarray(table.data["step"]) == STEP
        time = (np.asarray(table.data["stop_ns"]) - np.asarray(table.data["start_ns"]))[here]
        exposed = np.asarray(table.data["exposed_ns"])[here]
        assert time.sum() == float(row["sum (us)"]) * 1000
        assert (time.max(), time.min()) == (float(row["max (us)"]) * 1000, float(row["min (us)"]) * 1000)
        assert 100 * (1 - exposed.sum() / time.sum()) == pytest.approx(hidden[rank], abs=0.005)


def test_kernels_and_communication_over_ranks_are_those_that_hta_lists(
    data_dir: Path, traces: list[Path]
) -> None:
    job = open_job(traces, workers=1, step=f"ProfilerStep#{STEP}")
    theirs: dict[str, dict[str, dict[int, float]]] = {"COMPUTATION": {}, "COMMUNICATION": {}, "MEMORY": {}}
    for row in printed(data_dir, "gpu_kernel_breakdown1.csv"):
        of_kind = theirs[row["kernel_type"]].setdefault(row["name"], {})
        of_kind[int(row["rank"])] = float(row["sum (us)"]) * 1000
    kernels, collectives = (job.reports[name].table for name in ("job_kernels", "job_collectives"))
    assert kernels is not None
    assert collectives is not None
    assert len(kernels) == len(theirs["COMPUTATION"]) > 100
    for found in kernels.rows():
        times = theirs["COMPUTATION"][found["name"]]
        most = max(times.values())
        assert found["ranks"] == len(times)
        assert found["total_ns_worst"] == most
        assert found["cost_ns"] == most - sum(times.values()) / 2
        if found["cost_ns"]:
            assert times[found["total_ns_worst_rank"]] == most
    assert {row["name"]: row["time_ns"] for row in collectives.rows()} == {
        name: sum(times.values()) for name, times in theirs["COMMUNICATION"].items()
    }


def test_what_a_rank_alone_carried_is_no_bandwidth_and_its_table_has_no_columns_over_ranks(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (trace,) = data_dir.glob("torch/**/nccl_parser_config/nccl_data.json.gz")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    job = open_job([trace], workers=1)
    assert [one.rank for one in job.ranks if one.state is RankState.MISSING] == [1]
    collectives, steps, groups = (
        job.reports[name].table for name in ("job_collectives", "job_steps", "job_groups")
    )
    assert collectives is not None
    assert steps is not None
    assert groups is not None
    assert [column.name for column in steps.columns] == ["step", "duration_ns"]
    for row in collectives.rows():
        assert (row["size"], row["meetings"]) == (2, 0)
        assert row["time_ns"] > 0
        told = ("transfer_ns", "algorithm_bytes_per_s", "bus_bytes_per_s", "lost_ns")
        assert [row[name] for name in told] == [None] * 4
    assert [row["lost_ns"] for row in groups.rows()] == [None]
    (note,) = collectives.notes
    assert "(missing: 1)" in note
