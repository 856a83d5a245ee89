"""What is handed to a window: captures, two of them side by side, folders of ranks, a large capture, traces, spools."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from tests.benchmarks.generate import generate
from tests.benchmarks.jobs.generate_job import JobPlan, write_job
from tests.fuzz.campaign import campaign, mutate_h5, mutate_json, values_in_place
from tests.fuzz.campaign.coupled_values import coupled

KINDS = ("h5", "pair", "job", "large", "json", "sqlite", "pb", "spool")
WEIGHTS = (8, 3, 3, 1, 3, 2, 2, 2)
"""Captures reach farthest."""
PAIR, JOB = ".pair", ".job"
"""What folders of two captures, and of ranks, are called here."""
_OPENED = (
    *(mutate_h5.extreme_values, mutate_h5.extreme_values, coupled, coupled),
    *(mutate_h5.meta, mutate_h5.attributes),
)
"""What mostly leaves a capture that can be opened."""
_LARGE_EVENTS, _LARGE_LANES = 300_000, 40
_PLAN = JobPlan(4, 4, slow_compute={(2, 1): 2_000_000}, jitter_ns=5_000, group=2)


def seeds_of(kind: str, data: Path | None, work: Path) -> list[Any]:
    """What inputs of a kind are made from, as `campaign.seeds_of`."""
    folder = work / "seeds"
    if kind == "large":
        path = folder / "large.h5"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            generate(path, _LARGE_EVENTS, _LARGE_LANES)
        return [path]
    if kind == "job":
        ranks = folder / "ranks"
        if not ranks.exists():
            write_job(ranks, _PLAN)
        return [ranks]
    if kind == "pair":
        # Of GPUs and of samples alone nothing can be compared.
        return [seed for seed in campaign.seeds_of("h5", data, work) if seed.stem not in ("gpu", "stacks")]
    return campaign.seeds_of(kind, data, work)


def make(kind: str, seeds: list[Any], folder: Path, rng: random.Random) -> tuple[Path, str]:
    """Write an input of a kind into a folder; returns it and what was done to its seed.

    Raises one of `campaign.MUTATORS_LIMITS` where that cannot be done.
    """
    seed = rng.choice(seeds)
    if kind in ("h5", "large"):
        path = folder / "x.h5"
        return path, f"{seed.name}: {_capture(seed, path, rng)}"
    if kind == "pair":
        pair = folder / f"x{PAIR}"
        pair.mkdir(exist_ok=True)
        other = seed if rng.random() < 0.6 else rng.choice(seeds)
        done = [_capture(seed, pair / "a.h5", rng)]
        # Two that are damaged are seldom both opened.
        done.append("nothing" if rng.random() < 0.7 else _capture(other, pair / "b.h5", rng))
        if done[1] == "nothing":
            shutil.copy(other, pair / "b.h5")
        return pair, f"{seed.name}: {done[0]}, {other.name}: {done[1]}"
    if kind == "job":
        job = Path(shutil.copytree(seed, folder / f"x{JOB}"))
        ranks = sorted(job.iterdir())
        wrong = rng.sample(ranks, rng.choice([1, 1, 2, len(ranks)]))
        return job, ", ".join(f"{rank.name}: {_rank(rank, rng)}" for rank in wrong)
    return campaign.make(kind, seeds, folder, rng)


def _capture(seed: Path, path: Path, rng: random.Random) -> str:
    if rng.random() < 0.6:
        return values_in_place.mutate(seed, path, rng, opens=True)
    return mutate_h5.mutate(seed, path, rng, _OPENED)


def _rank(rank: Path, rng: random.Random) -> str:
    """One rank of a job spoiled in place: gone, cut, of other bytes, or a capture that can mostly be opened."""
    what = rng.random()
    if what < 0.1:
        rank.unlink()
        return "gone"
    if what < 0.25:
        rank.write_bytes(mutate_json.by_bytes(rank.read_bytes(), rng))
        return "bytes"
    sound = Path(shutil.copy(rank, rank.with_suffix(".sound")))
    try:
        return _capture(sound, rank, rng)
    finally:
        sound.unlink()
