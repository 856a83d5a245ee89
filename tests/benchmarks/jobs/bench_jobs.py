"""What a job of many ranks costs: time per rank, and the memory of the process that puts the ranks together.

    python -m tests.benchmarks.jobs.bench_jobs [--ranks 64,256,1024] [--steps 50] [--folder DIR] [--processes] [--smoke]

Ranks of about 100,000 events each are computed on a cluster of two processes, or with ``--processes`` on a scheduler
and two workers that are started as processes of their own; none of what was kept before is used. The CPU time is that
of the client and its own processes, not of a scheduler's. Bars: the time of a rank grows by less than half from the
smallest job to the largest, and the client holds at most 500 MB. Captures of 100,000 events take 5 MB each; those that
are in the folder already are used as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.jobs.generate_job import JobPlan, late_plan, times_of, write_rank
from tests.waiting import wait_until

MOST_CLIENT_MB = 500
MOST_GROWTH = 1.5
CLIENT = """
import json, resource, sys, time
from pathlib import Path
from warpline.library.jobs import open_job
if __name__ == "__main__":
    folder, ranks, scheduler = sys.argv[1], int(sys.argv[2]), sys.argv[3] or None
    began = time.monotonic()
    paths = [Path(folder) / f"rank_{rank}.h5" for rank in range(ranks)]
    job = open_job(paths, workers=2, scheduler=scheduler)
    late = next((one.ranks for one in job.findings if one.id.startswith("late")), ())
    wrong = [one.reason for one in job.ranks if one.state != "computed"]
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({
        "cpu_seconds": sum(one.ru_utime + one.ru_stime for one in used),
        "seconds": time.monotonic() - began,
        "client_mb": used[0].ru_maxrss / 1024, "worker_mb": used[1].ru_maxrss / 1024,
        "late": late, "failed": wrong[:3], "clocks": sum(clock.fits for clock in job.clocks.values()),
        "offsets": {rank: (clock.offset_ns, clock.residual_ns) for rank, clock in job.clocks.items()},
    }))
"""


def make_ranks(folder: Path, plan: JobPlan) -> None:
    """The captures of a job, those that are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    times = times_of(plan)
    for rank in range(plan.ranks):
        path = folder / f"rank_{rank}.h5"
        if not path.exists():
            write_rank(path, plan, rank, times)


def measure(folder: Path, ranks: int, scheduler: str) -> dict[str, Any]:
    """A client of its own: what it found, how long it took, the most memory it held."""
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, str(folder), str(ranks), scheduler], stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(sizes: list[int], steps: int, folder: Path | None, *, processes: bool) -> tuple[float, float]:
    """Print a row for each size of job; (times as long a rank of the largest takes, most MB of the client)."""
    with tempfile.TemporaryDirectory() as temporary:
        place = folder or Path(temporary) / "job"
        make_ranks(place, late_plan(sizes[-1], steps, reductions=20, kernels=50, group=8))
        print(
            f"{'ranks':>6} {'seconds':>8} {'CPU s':>7} {'ms a rank':>10} {'client MB':>10} {'worker MB':>10}  found"
        )
        per_rank, memory = [], 0.0
        for number, ranks in enumerate(sizes):
            os.environ["XDG_CACHE_HOME"] = str(Path(temporary) / f"cache {number}")
            started, scheduler = start_cluster(Path(temporary), number) if processes else ([], "")
            try:
                found = measure(place, ranks, scheduler)
            finally:
                for process in started:
                    process.kill()
                    process.wait()
            memory = max(memory, found["client_mb"])
            per_rank.append(found["seconds"] / ranks)
            print(
                f"{ranks:>6} {found['seconds']:>8.1f} {found['cpu_seconds']:>7.1f} {per_rank[-1] * 1e3:>10.1f} "
                f"{found['client_mb']:>10.0f} {found['worker_mb']:>10.0f}  "
                f"late: {found['late']}, clocks that fit: {found['clocks']} {found['failed'] or ''}",
                flush=True,
            )
    return per_rank[-1] / per_rank[0], memory


def test_jobs(bench_smoke: bool) -> None:
    """Under pytest: many ranks, or a few to see that it runs."""
    growth, memory = run(
        [2, 4] if bench_smoke else [64, 256], 4 if bench_smoke else 50, None, processes=False
    )
    assert bench_smoke or (growth <= MOST_GROWTH and memory <= MOST_CLIENT_MB)


def main() -> int:
    """Print a row for each size of job; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", default="64,256,1024")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--processes", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    sizes = [2, 4] if args.smoke else sorted(int(number) for number in args.ranks.split(","))
    growth, memory = run(sizes, 4 if args.smoke else args.steps, args.folder, processes=args.processes)
    return int(not args.smoke and (growth > MOST_GROWTH or memory > MOST_CLIENT_MB))


def start_cluster(folder: Path, number: int) -> tuple[list[subprocess.Popen[bytes]], str]:
    """A scheduler and two workers as processes, and the address of the scheduler."""
    place = folder / f"scheduler {number}.json"
    base = [sys.executable, "-m"]
    tail = ["--scheduler-file", str(place), "--no-dashboard"]
    commands = [
        [*base, "distributed.cli.dask_scheduler", *tail, "--host", "127.0.0.1", "--port", "0"],
        *[[*base, "distributed.cli.dask_worker", *tail, "--nthreads", "1", "--no-nanny"]] * 2,
    ]
    started = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in commands
    ]
    wait_until(place.exists, "the scheduler did not start")
    return started, str(json.loads(place.read_text())["address"])


if __name__ == "__main__":
    sys.exit(main())
