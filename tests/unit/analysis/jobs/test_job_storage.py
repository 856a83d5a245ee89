"""Ranks that are named by URLs: fetched where they are computed, known by their content, and removed again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.jobs.generate_job import US, JobPlan, write_job

from warpline.cli import main

fsspec = pytest.importorskip("fsspec")
RANKS = 5


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "warpline" / "jobs"


@pytest.fixture
def job(tmp_path: Path, own_cache: Path) -> Path:
    write_job(tmp_path / "job", JobPlan(RANKS, 3, slow_load={(1, 2): 2_000 * US}))
    return tmp_path / "job"


def run(capsys: pytest.CaptureFixture[str], place: object) -> tuple[dict[str, Any], str]:
    capsys.readouterr()
    assert main(["job", "--json", "--workers", "1", str(place)]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def test_ranks_in_object_storage_are_fetched_one_at_a_time(
    job: Path, own_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone, _ = run(capsys, job)
    storage = fsspec.filesystem("memory")
    for rank in range(RANKS):
        # One has a name that tells nothing: the capture itself does.
        name = f"rank_{rank}.h5" if rank != 4 else "last.h5"
        storage.pipe_file(f"/bucket/run/{name}", (job / f"rank_{rank}.h5").read_bytes())
    storage.pipe_file("/bucket/run/notes.txt", b"nothing of interest")
    try:
        found, _ = run(capsys, "memory://bucket/run")
        assert found["reports"] == alone["reports"]
        assert [(one["rank"], one["told_by"]) for one in found["ranks"]] == [
            (rank, "process" if rank == 4 else f"rank_{rank}") for rank in range(RANKS)
        ]
        assert found["ranks"][0]["path"].startswith("memory://")
        remote = own_cache.parent / "remote"
        assert list(remote.iterdir()) == []
        # Another content under the same name is another rank; one that is gone is named.
        kept = set(own_cache.iterdir())
        storage.pipe_file("/bucket/run/rank_2.h5", b"no capture")
        again, _ = run(capsys, "memory://bucket/run")
        assert [one["rank"] for one in again["failed"]] == [2]
        assert set(own_cache.iterdir()) == kept
    finally:
        storage.rm("/bucket", recursive=True)


def test_files_by_url_are_those_by_path(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = run(capsys, f"file://{job}")
    assert [one["rank"] for one in found["ranks"]] == list(range(RANKS))
    assert found["reports"] == run(capsys, job)[0]["reports"]
