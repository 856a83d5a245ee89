"""A job of any size that was never recorded: steps as matrices, hosts, and ranks that failed or have no file."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.jobs.step_matrix import StepMatrix
from warpline.library.jobs import JobRank, RankState, TrainingJob

MS = 1_000_000


def made_job(ranks: int, steps: int, *, per_host: int = 8) -> TrainingJob:
    """Steps of 300 ms with some noise; one rank computes 20 ms longer, one host loads slowly in every fourth step,
    one cell is an outlier. Of every thousand ranks one failed and one has no file.
    """
    rng = np.random.default_rng(7)
    shape = (steps, ranks)
    compute = rng.normal(220 * MS, 2 * MS, shape)
    compute[:, ranks * 2 // 3] += 20 * MS
    load = np.abs(rng.normal(2 * MS, MS, shape))
    host = slice(ranks // 3 // per_host * per_host, ranks // 3 // per_host * per_host + per_host)
    load[::4, host] += 60 * MS
    alone = compute + load
    duration = np.maximum(alone, alone.max(axis=1, keepdims=True)) + 40 * MS
    duration[steps // 2, ranks // 2] += 2_000 * MS
    cells = {
        "start_ns": np.cumsum(duration, axis=0) - duration,
        "duration_ns": duration,
        "computation_ns": compute,
        "communication_ns": duration - alone,
        "loader_ns": load,
    }
    gone = {rank for rank in range(ranks) if rank % 1_000 in (500, 700)}
    kept = np.array([rank for rank in range(ranks) if rank not in gone], np.int64)
    columns = (
        Column("duration_ns", "Duration", Role.DURATION),
        Column("computation_ns", "computation", Role.DURATION),
        Column("communication_ns", "communication", Role.DURATION),
        Column("loader_ns", "waiting for the data loader", Role.DURATION),
    )
    matrix = StepMatrix(
        np.arange(steps, dtype=np.int64),
        kept,
        columns,
        {name: values[:, kept].astype(np.int64) for name, values in cells.items()},
    )
    return TrainingJob(
        ranks=tuple(_rank(rank, per_host, is_gone=rank in gone) for rank in range(ranks)),
        left_out=(),
        steps=matrix,
        clocks=MappingProxyType({}),
        reports=MappingProxyType({}),
    )


def _rank(rank: int, per_host: int, *, is_gone: bool) -> JobRank:
    path = Path(f"rank_{rank}.h5")
    host = f"node-{rank // per_host:03d}"
    if not is_gone:
        return JobRank(rank=rank, path=path, told_by="name", host=host)
    if rank % 1_000 == 500:
        return JobRank(
            rank=rank, path=path, told_by="name", state=RankState.FAILED, reason="the file is empty"
        )
    return JobRank(rank=rank, path=None, state=RankState.MISSING, reason="it has no file")
