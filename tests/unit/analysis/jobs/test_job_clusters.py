"""Jobs computed by a scheduler and its workers, each a process of its own: they find the same, and lose nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.jobs.generate_job import US, JobPlan, write_job
from tests.unit.security.planted import plant

from warpline.analysis.jobs.job_reports import NEEDED
from warpline.cli import main
from warpline.library.jobs.finding import find_job
from warpline.library.jobs.running import run_ranks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs the extra dask"),
]
RANKS = 6
PATIENCE_SECONDS = 200


@dataclass(frozen=True)
class Cluster:
    """The address of a scheduler, its workers, and where these keep what they compute."""

    address: str
    workers: tuple[subprocess.Popen[bytes], ...]
    cache: Path


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_job(tmp_path / "job", JobPlan(RANKS, 4, slow_load={(3, 1): 2_000 * US}))
    return tmp_path / "job"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler and two workers, as `dask scheduler` and `dask worker` start them."""
    from distributed import Client

    place = tmp_path / "scheduler.json"
    cache = tmp_path / "cache of workers"
    own = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONWARNINGS": "ignore"}

    def start(role: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{role}", "--scheduler-file", str(place)]
        return subprocess.Popen(
            [*command, "--no-dashboard", *arguments],
            env=own,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    started = [start("scheduler", "--host", "127.0.0.1", "--port", "0")]
    try:
        started += [start("worker", "--nthreads", "1", "--no-nanny", "--memory-limit", "0") for _ in range(2)]
        with Client(scheduler_file=str(place), timeout=PATIENCE_SECONDS, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=PATIENCE_SECONDS)
            address = client.scheduler.address
        yield Cluster(address, tuple(started[1:]), cache)
    finally:
        for process in reversed(started):
            process.kill()
        for process in started:
            process.wait()


def found_by(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[dict[str, Any], str]:
    capsys.readouterr()
    assert main(["job", "--json", *map(str, arguments)]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def test_workers_find_what_one_process_finds(
    job: Path, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (job / "rank_3.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(4096))
    alone, _ = found_by(capsys, job, "--workers", "1")
    # What this process keeps would be all there is to do.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another cache"))
    together, said = found_by(capsys, job, "--scheduler", cluster.address)
    assert together == alone
    assert "[5/5]" in said
    assert len(list((cluster.cache / "warpline" / "jobs").iterdir())) == len(NEEDED) * (RANKS - 1)


def test_a_worker_that_is_killed_takes_no_rank_along(job: Path, cluster: Cluster) -> None:
    running = run_ranks(find_job([job]).ranks, NEEDED, scheduler=cluster.address)
    first = next(running)
    cluster.workers[0].send_signal(signal.SIGKILL)
    cluster.workers[0].wait()
    found = [first, *running]
    assert sorted(one.rank for one, _ in found) == list(range(RANKS))
    assert [tables.reason for _, tables in found] == [""] * RANKS


def test_processes_of_this_machine_find_what_one_finds_and_are_nobody_elses(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from distributed import Client, LocalCluster

    refused: list[str] = []
    closing = LocalCluster.close

    def close(cluster: LocalCluster, *arguments: Any, **options: Any) -> Any:
        address = cluster.scheduler_address
        with pytest.raises((OSError, TypeError)):
            Client(address.replace("tls:", "tcp:"), timeout=1, set_as_default=False)
        refused.append(address[:6])
        return closing(cluster, *arguments, **options)

    monkeypatch.setattr(LocalCluster, "close", close)
    alone, _ = found_by(capsys, job, "--workers", "1")
    os.rename(tmp_path / "cache", tmp_path / "cache of before")
    (tmp_path / "planted").mkdir()
    told = plant(tmp_path / "planted")
    monkeypatch.chdir(tmp_path / "planted")
    environment = dict(os.environ)
    together, _ = found_by(capsys, job, "--workers", "2")
    assert together == alone
    # No module of the current folder was imported, no variable of Dask's stays, no connection without certificates.
    assert not told.exists(), told.read_text()
    assert dict(os.environ) == environment
    assert set(refused) == {"tls://"}
