"""Jobs of many ranks: what was made to go wrong is found, exactly; what cannot be read is named, the rest is shown."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.benchmarks.jobs.generate_job import US, JobPlan, JobTimes, write_job
from tests.unit.interchange.import_tools import rank_file

from warpline.analysis.jobs.job_reports import NEEDED
from warpline.cli import main
from warpline.extras import install_command
from warpline.library.jobs import open_job
from warpline.library.opening import open_path
from warpline.model import Cancelled, CaptureFormatError

RANKS, STEPS = 6, 5
PLAN = JobPlan(
    RANKS,
    STEPS,
    slow_compute={(4, 1): 3_000 * US, (4, 3): 5_000 * US, (2, 3): 1_000 * US},
    slow_load={(1, 2): 2_000 * US},
    clocks_ns={1: 7_000_000_123, 2: -500, 5: 42 * US},
    begins_early_ns={1: 3_000, 3: 900 * US, 4: 1},
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "warpline" / "jobs"


@pytest.fixture
def job(tmp_path: Path) -> tuple[Path, JobTimes]:
    return tmp_path / "job", write_job(tmp_path / "job", PLAN)


def run(
    capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0
) -> tuple[dict[str, Any], str]:
    """The JSON of a job and what was said on stderr, without a cluster unless the arguments ask for one."""
    capsys.readouterr()
    texts = [str(argument) for argument in arguments]
    if "--workers" not in texts and "--scheduler" not in texts:
        texts += ["--workers", "1"]
    assert main(["job", "--json", *texts]) == status
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def rows(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return next(report["rows"] for report in found["reports"] if report["report"] == name)


def test_stragglers_are_recovered_exactly(
    job: tuple[Path, JobTimes], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, times = job
    found, _ = run(capsys, folder)
    by_rank = {row["rank"]: row for row in rows(found, "job_stragglers")}
    assert list(by_rank)[:2] == [4, 1]
    arrive = times.arrive.reshape(-1, RANKS)
    in_order = np.sort(arrive, axis=1)
    lead = in_order[:, -1] - in_order[:, -2]
    others = (arrive.max(axis=1, keepdims=True) - arrive).sum(axis=1)
    last = np.where(lead > 0, arrive.argmax(axis=1), -1)
    for rank, row in by_rank.items():
        mine = last == rank
        assert row["collectives"] == 2 * STEPS
        assert row["last"] == mine.sum()
        assert row["others_ns"] == others[mine].sum()
        assert row["waited_ns"] == (arrive.max(axis=1) - arrive[:, rank]).sum()
        assert row["lead_ns"] == (np.median(lead[mine]) if mine.any() else None)
        assert row["lead_max_ns"] == (lead[mine].max() if mine.any() else None)
    assert (by_rank[4]["reason"], by_rank[4]["reason_ns"]) == ("computation", 4_000 * US)
    assert (by_rank[1]["reason"], by_rank[1]["reason_ns"]) == ("waiting for the data loader", 2_000 * US)
    assert by_rank[0]["reason"] is None


def test_clocks_are_recovered_from_collectives(
    job: tuple[Path, JobTimes], capsys: pytest.CaptureFixture[str]
) -> None:
    found, _ = run(capsys, job[0])
    # Times count from the begin of each capture, which is all that is left of a clock.
    assert {row["rank"]: (row["offset_ns"], row["residual_ns"]) for row in rows(found, "job_stragglers")} == {
        rank: (PLAN.begins_early_ns.get(rank, 0), 0) for rank in range(RANKS)
    }
    assert {row["late_ns"] for row in rows(found, "job_step_ranks")} == {0}


def test_every_step_of_every_rank_is_cut_into_its_causes(
    job: tuple[Path, JobTimes], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, times = job
    found, _ = run(capsys, folder)
    cells = {(row["step"], row["rank"]): row for row in rows(found, "job_step_ranks")}
    assert len(cells) == STEPS * RANKS
    for (step, rank), row in cells.items():
        waited = (times.end[step, :, rank] - times.arrive[step, :, rank]).sum()
        assert row["duration_ns"] == times.end[step, 1, rank] - times.start[step, rank]
        assert row["communication_ns"] == waited
        assert row["loader_ns"] == 300 * US + PLAN.slow_load.get((rank, step), 0)
        assert row["computation_ns"] == 1_600 * US + PLAN.slow_compute.get((rank, step), 0)
    steps = rows(found, "job_steps")
    assert [row["last_rank"] for row in steps] == [None, 4, 1, 4, None]
    assert [row["others_ns"] for row in steps][1] == 5 * 3_000 * US


def test_a_report_is_spread_over_the_ranks(
    job: tuple[Path, JobTimes], capsys: pytest.CaptureFixture[str]
) -> None:
    found, _ = run(capsys, job[0], "--report", "cuda_gpu_kern_sum", "--report", "overlap")
    gemm = next(row for row in rows(found, "cuda_gpu_kern_sum") if row["name"] == "gemm")
    assert (gemm["ranks"], gemm["count"], gemm["count_spread"]) == (RANKS, 2 * STEPS, 0)
    total = 2 * STEPS * 800 * US
    assert gemm["total_ns"] == total
    assert (gemm["total_ns_worst"], gemm["total_ns_worst_rank"]) == (total + 8_000 * US, 4)
    # Each rank has a GPU of another number: it is the same part of the job.
    assert [row["name"] for row in rows(found, "overlap")][:2] == ["GPU · Test GPU", "Busy"]
    assert rows(found, "overlap")[0]["ranks"] == RANKS


def test_what_cannot_be_read_is_named_and_the_rest_is_shown(
    job: tuple[Path, JobTimes], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = job
    whole = (folder / "rank_3.h5").read_bytes()
    (folder / "rank_3.h5").write_bytes(whole[: len(whole) // 2])
    (folder / "rank_2.h5").unlink()
    (folder / "rank_5.h5").rename(folder / "rank_9.h5")
    (folder / "rank_1_again.h5").write_bytes((folder / "rank_1.h5").read_bytes())
    (folder / "notes.txt").write_text("nothing of interest")
    found, _ = run(capsys, folder)
    # What the capture says of itself counts, not what it is called.
    assert [(one["rank"], one["told_by"]) for one in found["ranks"]] == [
        (rank, "process") for rank in (0, 1, 4, 5)
    ]
    assert found["missing"] == [2]
    left = {Path(one["path"]).name: one for one in found["left_out"] + found["failed"]}
    assert set(left) == {"rank_3.h5", "rank_1_again.h5"}
    assert left["rank_3.h5"]["rank"] == 3
    assert left["rank_3.h5"]["reason"]
    assert "rank_1.h5 is the same rank" in left["rank_1_again.h5"]["reason"]
    assert [row["rank"] for row in rows(found, "job_ranks")] == [0, 1, 4, 5]


def test_a_rank_that_fails_while_it_is_computed_leaves_the_others(
    job: tuple[Path, JobTimes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def opened(path: Path, *more: Any) -> Any:
        if path.name == "rank_1.h5":
            raise CaptureFormatError(f"{path}: a block is damaged")
        if path.name == "rank_2.h5":
            raise ZeroDivisionError("a defect")
        return open_path(path, *more)

    monkeypatch.setattr("warpline.library.jobs.computing.open_path", opened)
    found, said = run(capsys, job[0])
    assert [row["rank"] for row in rows(found, "job_ranks")] == [0, 3, 4, 5]
    assert [one["rank"] for one in found["ranks"]] == [0, 3, 4, 5]
    assert found["left_out"] == []
    reasons = {one["rank"]: one["reason"] for one in found["failed"]}
    assert reasons[1] == "a block is damaged"
    assert "ZeroDivisionError: a defect" in reasons[2]
    assert "[2/6] rank 1: a block is damaged" in said
    assert found["missing"] == []


def test_a_job_of_which_no_rank_can_be_read_fails(
    job: tuple[Path, JobTimes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def opened(path: Path, *_: Any) -> Any:
        raise CaptureFormatError(f"{path}: a block is damaged")

    monkeypatch.setattr("warpline.library.jobs.computing.open_path", opened)
    found, _ = run(capsys, job[0], "--report", "overlap", status=1)
    assert [report["reason"] for report in found["reports"]] == ["no rank could be read"] * len(
        found["reports"]
    )
    assert len(found["reports"]) == 10


def test_foreign_traces_tell_their_rank_and_the_size_of_the_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, _ = run(capsys, rank_file(tmp_path, 1, 0))
    assert found["ranks"][0]["told_by"] == "distributedInfo"
    assert found["missing"] == [0]


def test_captures_and_foreign_traces_make_one_job_which_says_so(
    job: tuple[Path, JobTimes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (job[0] / "rank_5.h5").unlink()
    rank_file(tmp_path, 5, 0).rename(job[0] / "rank5.json")
    assert main(["job", str(job[0]), "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert "several formats: Warpline captures (5), PyTorch profiler" in said
    found, _ = run(capsys, job[0])
    assert [row["rank"] for row in rows(found, "job_ranks")] == list(range(RANKS))
    assert [one["format"] is None for one in found["ranks"]] == [True] * 5 + [False]


def test_what_was_computed_is_not_computed_again(
    job: tuple[Path, JobTimes], own_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = job
    first, _ = run(capsys, folder)
    kept = {path: path.stat().st_mtime_ns for path in own_cache.iterdir()}
    assert len(kept) == len(NEEDED) * RANKS
    # One is lost, one is damaged: both are made again, the others stay as they are.
    lost, damaged = list(kept)[:2]
    lost.unlink()
    damaged.write_bytes(b"{")
    again, _ = run(capsys, folder)
    assert again == first
    assert set(own_cache.iterdir()) == set(kept)
    assert damaged.read_bytes() != b"{"


def test_a_window_gets_matrices_of_steps_and_ranks(job: tuple[Path, JobTimes]) -> None:
    folder, times = job
    (folder / "rank_2.h5").unlink()
    (folder / "rank_3.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(4096))
    heard: list[tuple[float, str]] = []
    found = open_job([folder], workers=1, progress=lambda *one: heard.append(one))
    assert {one.rank: one.state for one in found.ranks} == {
        0: "computed", 1: "computed", 2: "missing", 3: "failed", 4: "computed", 5: "computed"
    }  # fmt: skip
    ranks = [0, 1, 4, 5]
    assert (found.steps.steps.tolist(), found.steps.ranks.tolist()) == (list(range(STEPS)), ranks)
    duration = times.end[:, 1, ranks] - times.start[:, ranks]
    assert np.array_equal(found.steps.values("duration_ns"), duration)
    assert np.array_equal(found.steps.values("late_ns"), np.zeros_like(duration))
    parts = [column.name for column in found.steps.columns if column.name not in ("duration_ns", "late_ns")]
    assert np.array_equal(sum(found.steps.values(name) for name in parts), duration)
    early = PLAN.begins_early_ns[1]
    assert np.array_equal(found.steps.starts(1), times.start[:, 1] - times.start[0, 1] + early)
    with pytest.raises(KeyError):
        found.steps.starts(3)
    assert heard[-1][0] == 1
    assert found.rank(3).reason


def test_a_job_that_is_cancelled_keeps_what_it_has(job: tuple[Path, JobTimes], own_cache: Path) -> None:
    asked: list[str] = []
    with pytest.raises(Cancelled):
        open_job(
            [job[0]], workers=1, progress=lambda _, text: asked.append(text), cancelled=lambda: len(asked) > 3
        )
    assert {path.suffix for path in own_cache.iterdir()} == {".tables"}
    assert 0 < len(list(own_cache.iterdir())) < len(NEEDED) * RANKS


def test_what_is_missing_for_the_same_reason_is_said_once(
    job: tuple[Path, JobTimes], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["job", str(job[0]), "--workers", "1", "--step", "no such range"]) == 0
    said = capsys.readouterr().out
    reasons = [line for line in said.splitlines() if line.startswith("  not recorded: ")]
    assert len(reasons) == len(set(reasons))
    # Lines are as wide as the terminal, which is another one where tests run in several processes.
    assert "Findings over ranks (job_findings), Ranks (job_ranks), Steps over ranks (job_steps)" in " ".join(
        said.split()
    )


def test_people_get_tables(job: tuple[Path, JobTimes], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["job", str(job[0]), "--workers", "1", "--report", "cuda_gpu_kern_sum"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("6 ranks; rank numbers from process\n")
    assert "Late ranks (job_stragglers)" in said.out
    assert "waiting for the data loader" in said.out
    assert "CPU waits for the GPU" not in said.out
    # All ranks' steps last alike: that no rank is the worst is no lack of a recording.
    tables, _, missing = said.out.partition("Parallel groups (job_groups)")
    assert "not recorded" not in tables
    assert "no trace records which ranks communicate" in missing
    assert "[critical] One rank is always late" in said.out
    assert "[6/6] rank 5 computed: rank_5.h5" in said.err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nowhere"], "there is no file or folder nowhere"),
        ([".", "--report", "overlpa"], "did you mean overlap"),
        ([".", "--rank-pattern", "("], "--rank-pattern"),
        ([".", "--rank-pattern", "worker"], "has no group"),
        ([".", "--workers", "0"], "--workers"),
        (["nosuchprotocol://job"], "nosuchprotocol"),
    ],
)
def test_requests_that_make_no_sense_are_told(
    arguments: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["job", *arguments]) == 2
    assert text in capsys.readouterr().err


def test_without_dask_ranks_are_computed_here_and_a_scheduler_says_what_to_install(
    job: tuple[Path, JobTimes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("warpline.library.jobs.running.has_dask", lambda: False)
    assert main(["job", str(job[0]), "--scheduler", "tcp://127.0.0.1:1"]) == 1
    assert install_command("dask") in capsys.readouterr().err
    found, said = run(capsys, job[0], "--workers", "2")
    assert len(rows(found, "job_ranks")) == RANKS
    assert "one rank at a time" in said


def test_steps_of_ranks_agree_with_what_their_vendor_printed(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = sorted(data_dir.glob("ascend/**/text/level1"))
    if not folders:
        pytest.skip("no Ascend traces in the test data")
    found, _ = run(capsys, folders[0])
    cells = {row["rank"]: row for row in rows(found, "job_step_ranks")}
    assert [one["told_by"] for one in found["ranks"]] == ["rank0", "rank1"]
    for rank, row in cells.items():
        printed = folders[0] / f"rank{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv"
        with printed.open(newline="") as file:
            (theirs,) = csv.DictReader(file)
        assert row["step"] == int(theirs["Step"])
        # msprof adds floats of microseconds up; the trace has whole nanoseconds.
        assert row["computation_ns"] == pytest.approx(float(theirs["Computing"]) * 1000, abs=100)
        exposed = float(theirs["Communication(Not Overlapped)"]) * 1000
        assert row["communication_ns"] == pytest.approx(exposed, abs=100)
    # The rank that communicated less is the one that the other waited for.
    assert rows(found, "job_steps")[0]["last_rank"] == 1
