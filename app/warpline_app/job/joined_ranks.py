"""Copies the captures of several ranks of a job onto one timeline, using the job's clock offsets."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpline.interchange.joining.ranks import RankCapture, join_captures
from warpline.library.opening import Opened, open_path
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.storage import ConversionCache, open_capture
from warpline_app.open.job.board import JobBoard
from warpline_app.state.timeline_state import Range

if TYPE_CHECKING:
    from warpline.library.jobs import JobRank, TrainingJob

_OPENING_SHARE = 0.4
_CONVERTER = "joined ranks 1"


def open_joined(
    board: JobBoard,
    ranks: Sequence[JobRank],
    steps: tuple[int, int] | None,
    progress: Progress,
    is_cancelled: IsCancelled,
) -> tuple[Opened, Range | None]:
    """The joined capture of several ranks (cached), and the range of the given steps in it.

    The range is in ns since the capture's start, None if no rank has these steps. Raises Cancelled, and WarplineError
    when a file cannot be opened or the capture cannot be written.
    """
    offsets = _offsets(board.job, [job_rank.rank for job_rank in ranks])
    with ExitStack() as stack:
        joined: list[RankCapture] = []
        for index, job_rank in enumerate(ranks):
            check_cancelled(is_cancelled)
            assert job_rank.path is not None
            opened = open_path(job_rank.path, _part(progress, index, len(ranks)), is_cancelled)
            capture = stack.enter_context(opened.capture)
            offset, method, residual = offsets[job_rank.rank]
            origin = joined[0].capture.span[0] if joined else capture.span[0]
            shift = capture.span[0] - origin + offset
            joined.append(RankCapture(job_rank.rank, capture, shift, method, residual))

        def convert(target: Path, progress: Progress, is_cancelled: IsCancelled) -> Path:
            return join_captures(joined, target, progress, is_cancelled)

        known = " ".join(f"{job_rank.rank}:{job_rank.shift_ns}" for job_rank in joined)
        path = ConversionCache().get(
            [job_rank.path for job_rank in ranks if job_rank.path is not None],
            f"{_CONVERTER} {known}",
            convert,
            lambda fraction, text: progress(_OPENING_SHARE + (1 - _OPENING_SHARE) * fraction, text),
            is_cancelled,
        )
        stretches = []
        for rank_capture in joined if steps is not None else ():
            stretch = stretch_of(board, rank_capture.rank, steps or (0, 0))
            if stretch is not None:
                begin = rank_capture.capture.span[0] - rank_capture.shift_ns
                stretches.append((begin + stretch[0], begin + stretch[1]))
    capture = open_capture(path, progress=progress, cancelled=is_cancelled)
    # The user opened no file of this capture, so its own path stands for it.
    whole = (
        (
            min(start for start, _ in stretches) - capture.span[0],
            max(stop for _, stop in stretches) - capture.span[0],
        )
        if stretches
        else None
    )
    return Opened(capture, Path(str(capture.path))), whole


def _part(progress: Progress, place: int, count: int) -> Progress:
    """Progress of opening one of several files, as a share of the whole."""
    return lambda fraction, text: progress(_OPENING_SHARE * (place + fraction) / count, text)


def stretch_of(board: JobBoard, rank: int, steps: tuple[int, int]) -> Range | None:
    """Time range of a rank's steps, ns since its capture's start; None if it has none of them."""
    row = board.map.row_of(rank)
    if row is None or not board.map.has_steps(row):
        return None
    starts = board.job.steps.starts(rank)[steps[0] : steps[1] + 1]
    lengths = board.job.steps.values("duration_ns").T[np.searchsorted(board.job.steps.ranks, rank)]
    lengths = lengths[steps[0] : steps[1] + 1]
    has_step = (starts >= 0) & ~np.isnan(lengths)
    if not has_step.any():
        return None
    return int(starts[has_step].min()), int((starts[has_step] + lengths[has_step].astype(np.int64)).max())


def _offsets(job: TrainingJob, ranks: Sequence[int]) -> dict[int, tuple[int, str, int | None]]:
    """How much later each rank's time is than the first rank's, both since their captures' starts, in ns.

    With each offset, its method (``collectives``, else ``pings``, else common ``steps``, else ``start``) and the
    largest disagreement with the first rank that is left, in ns; None if unknown.
    """
    first = ranks[0]
    offsets: dict[int, tuple[int, str, int | None]] = {}
    for rank in ranks:
        own, reference = job.clocks.get(rank), job.clocks.get(first)
        if own is not None and reference is not None and own.reference == reference.reference:
            # Each residual is to the common end of a collective or the reference, so two ranks may disagree by both.
            residual = 0 if rank == first else own.residual_ns + reference.residual_ns
            method = "collectives" if own.collectives and reference.collectives else "pings"
            offsets[rank] = (own.offset_ns - reference.offset_ns, method, residual)
            continue
        apart = _apart_by_steps(job, rank, first)
        offsets[rank] = (0, "start", None) if apart is None else (apart[0], "steps", apart[1])
    return offsets


def _apart_by_steps(job: TrainingJob, rank: int, first: int) -> tuple[int, int | None] | None:
    """Median delay between the two ranks' starts of common steps, and the largest deviation from it, in ns.

    A single step has no deviation: None. None without common steps.
    """
    known = job.steps.ranks.tolist()
    if rank not in known or first not in known:
        return None
    own, other = job.steps.starts(rank), job.steps.starts(first)
    both = (own >= 0) & (other >= 0)
    if not both.any():
        return None
    delays = own[both] - other[both]
    apart = int(np.median(delays))
    return apart, int(np.abs(delays - apart).max()) if len(delays) > 1 else None
