"""What was made to go wrong in synthetic jobs is found: by whom, how much, and why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.benchmarks.jobs.generate_job import ELEMENTS, TRANSFER_NS, US, JobPlan, times_of, write_job

from warpline.library.jobs import TrainingJob, open_job


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def opened(folder: Path, plan: JobPlan) -> TrainingJob:
    write_job(folder, plan)
    return open_job([folder], workers=1)


def ids(job: TrainingJob) -> dict[str, tuple[int, ...]]:
    return {one.id: one.ranks for one in job.findings}


@pytest.mark.slow
def test_64_ranks_tell_who_was_late_and_how_their_clocks_lie(tmp_path: Path) -> None:
    early = {rank: (rank * 7919) % 100_000 for rank in range(1, 64)}
    plan = JobPlan(
        64,
        6,
        slow_load={(40, step): 2_000 * US for step in (1, 3, 4)},
        slow_compute={(7, 2): 400 * US},
        begins_early_ns=early,
        jitter_ns=3 * US,
        reductions=4,
        group=8,
        hosts={rank: f"node{rank // 8}" for rank in range(64)},
    )
    job = opened(tmp_path / "job", plan)
    assert set(job.clocks) == set(range(64))
    offsets = np.array([job.clocks[rank].offset_ns for rank in range(64)])
    residuals = np.array([job.clocks[rank].residual_ns for rank in range(64)])
    truth = np.array([0, *early.values()])
    assert (np.abs(offsets - truth) <= residuals).all()
    assert (residuals <= 6 * US).all()
    assert all(clock.fits for clock in job.clocks.values())
    assert ids(job)["late_rank"] == (40,)
    # Who waited for it among its neighbours then came last of all: that is not their doing.
    table = job.reports["job_stragglers"].table
    assert table is not None
    first, second = list(table.rows())[:2]
    assert first["rank"] == 40
    cost = 7 * 3 * 2_000 * US + 56 * 3 * 2_000 * US
    assert first["others_ns"] == pytest.approx(cost, rel=0.05)
    assert second["others_ns"] < 0.1 * cost
    text = next(one.text for one in job.findings if one.id == "late_rank")
    assert "waiting for the data loader" in text
    assert job.rank(17).host == "node2"
    table = job.reports["job_groups"].table
    assert table is not None
    kinds = table.values("kind")
    assert (kinds.count("tensor parallel"), kinds.count("all ranks")) == (8, 1)
    assert "24–31" in table.values("ranks")


def test_clocks_of_ranks_that_only_others_connect_are_solved_together(tmp_path: Path) -> None:
    # Groups of two and all: whoever is not in a group with the reference is reached by way of others.
    early = {1: 5_000, 2: 77_000, 3: 1_234, 4: 900_000, 5: 3}
    job = opened(tmp_path / "job", JobPlan(6, 4, begins_early_ns=early, group=2))
    assert {rank: clock.offset_ns for rank, clock in job.clocks.items()} == {0: 0, **early}
    assert {clock.residual_ns for clock in job.clocks.values()} == {0}
    assert {clock.reference for clock in job.clocks.values()} == {0}


def test_a_rank_of_another_run_does_not_fit(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    write_job(folder, JobPlan(5, 8))
    slow = {(rank, step): step * 1_700 * US for rank in range(5) for step in range(8)}
    write_job(tmp_path / "other", JobPlan(5, 8, slow_compute=slow))
    (folder / "rank_3.h5").write_bytes((tmp_path / "other" / "rank_3.h5").read_bytes())
    job = open_job([folder], workers=1)
    assert [rank for rank, clock in job.clocks.items() if not clock.fits] == [3]
    assert {rank: clock.offset_ns for rank, clock in job.clocks.items() if clock.fits} == {
        0: 0,
        1: 0,
        2: 0,
        4: 0,
    }
    assert ids(job)["unfit_clock"] == (3,)
    table = job.reports["job_stragglers"].table
    assert table is not None
    assert any("of rank 3 end at other times" in note for note in table.notes)


def test_bandwidth_is_that_of_nccl_tests_and_a_slow_link_is_named(tmp_path: Path) -> None:
    job = opened(tmp_path / "job", JobPlan(16, 3, group=4, slow_links={2: 4.0}))
    table = job.reports["job_collectives"].table
    assert table is not None
    rows = {row["group"]: row for row in table.rows()}
    size = 2 * ELEMENTS
    for group, ranks in (("mesh_tp", 4), ("default_pg", 16)):
        row = rows[group]
        assert (row["operation"], row["size"], row["bytes"]) == ("all-reduce", ranks, size)
        assert row["transfer_ns"] == TRANSFER_NS
        assert row["algorithm_bytes_per_s"] == pytest.approx(size / (TRANSFER_NS * 1e-9))
        assert row["bus_bytes_per_s"] == pytest.approx(size / (TRANSFER_NS * 1e-9) * 2 * (ranks - 1) / ranks)
    assert rows["mesh_tp"]["communicators"] == 4
    assert rows["mesh_tp"]["slowest_ranks"] == "8–11"
    assert rows["mesh_tp"]["slowest_bytes_per_s"] == pytest.approx(rows["mesh_tp"]["bus_bytes_per_s"] / 4)
    assert ids(job)["slow_link"] == (8, 9, 10, 11)


def test_time_lost_waiting_is_that_of_the_truth_by_group(tmp_path: Path) -> None:
    plan = JobPlan(8, 4, group=2, slow_compute={(5, 1): 700 * US}, slow_load={(2, 3): 90 * US})
    job = opened(tmp_path / "job", plan)
    times = times_of(plan)
    arrive = times.arrive[:, 0].reshape(4, 4, 2)
    of_groups = (arrive.max(axis=2, keepdims=True) - arrive).sum()
    of_all = (times.arrive[:, 1].max(axis=1, keepdims=True) - times.arrive[:, 1]).sum()
    table = job.reports["job_collectives"].table
    assert table is not None
    assert {row["group"]: row["lost_ns"] for row in table.rows()} == {
        "mesh_tp": of_groups,
        "default_pg": of_all,
    }


@pytest.mark.parametrize(
    ("plan", "found"),
    [
        (JobPlan(6, 4, kernels=3, slow_kernel={2: "softmax"}), "slow kernel: softmax"),
        (JobPlan(6, 4, kernels=3, more_calls={2: "layer_norm"}), "more work: layer_norm runs more often"),
        (JobPlan(6, 4, kernels=3, slow_clock={2: 1.5}), "all kernels take 1.50× as long"),
    ],
)
def test_slow_computation_says_why(tmp_path: Path, plan: JobPlan, found: str) -> None:
    job = opened(tmp_path / "job", plan)
    assert ids(job)["late_rank"] == (2,)
    assert ids(job)["uneven_work"] == (2,)
    said = next(one.text for one in job.findings if one.id == "uneven_work")
    assert "a typical rank" in said
    assert said.startswith("Rank 2 computes ")
    assert any(found in one.text for one in job.findings)
    table = job.reports["job_kernels"].table
    assert table is not None
    first = next(table.rows())
    assert first["total_ns_worst_rank"] == 2
    name = {**plan.slow_kernel, **plan.more_calls}.get(2)
    assert name is None or first["name"] == name


def test_the_ranks_of_one_host_and_those_that_take_turns_are_told_apart(tmp_path: Path) -> None:
    hosts = {rank: f"node{rank // 4}" for rank in range(12)}
    of_host = {(4 + step % 4, step): 2_000 * US for step in range(12)}
    job = opened(tmp_path / "host", JobPlan(12, 12, slow_compute=of_host, hosts=hosts))
    assert ids(job)["late_host"] == (4, 5, 6, 7)
    in_turns = {(step, step): 2_000 * US for step in range(12)}
    job = opened(tmp_path / "turns", JobPlan(12, 12, slow_load=in_turns, hosts=hosts))
    # Four fifths of the waiting are told by ten ranks of twelve that cost the same.
    assert ids(job)["late_in_turns"] == tuple(range(10))


def test_ranks_that_hold_more_memory_are_named(tmp_path: Path) -> None:
    job = opened(
        tmp_path / "job", JobPlan(4, 2, memory_bytes={0: 40 << 30, 1: 40 << 30, 2: 40 << 30, 3: 70 << 30})
    )
    table = job.reports["job_memory"].table
    assert table is not None
    assert table.values("used_bytes") == [40 << 30] * 3 + [70 << 30]
    assert table.values("gpu") == ["Test GPU"] * 4
    assert ids(job) == {"uneven_memory": (3,)}
    assert job.findings[0].text.startswith("Rank 3 holds ")


def test_a_job_without_trouble_has_no_finding(tmp_path: Path) -> None:
    job = opened(tmp_path / "job", JobPlan(4, 3, group=2))
    assert job.findings == ()
    table = job.reports["job_findings"].table
    assert table is not None
    assert len(table) == 0
