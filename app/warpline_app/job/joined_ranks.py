"""Ranks of a job put on one timeline: how their clocks lie is known of the job, their captures are copied together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpline.interchange.joining_ranks import RankCapture, join_captures
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
    """One capture of several ranks, from the cache where it was made before, and where steps of them are in it (ns
    since it begins; None where none of the ranks has them).

    Raises WarplineError when a file cannot be opened or the capture not be written, Cancelled.
    """
    offsets = _offsets(board.job, [one.rank for one in ranks])
    with ExitStack() as stack:
        joined: list[RankCapture] = []
        for place, one in enumerate(ranks):
            check_cancelled(is_cancelled)
            assert one.path is not None
            opened = open_path(
                one.path,
                _part(progress, place, len(ranks)),
                is_cancelled,
            )
            capture = stack.enter_context(opened.capture)
            offset, method, residual = offsets[one.rank]
            origin = joined[0].capture.span[0] if joined else capture.span[0]
            shift = capture.span[0] - origin + offset
            joined.append(RankCapture(one.rank, capture, shift, method, residual))

        def convert(target: Path, progress: Progress, is_cancelled: IsCancelled) -> Path:
            return join_captures(joined, target, progress, is_cancelled)

        known = " ".join(f"{one.rank}:{one.shift_ns}" for one in joined)
        path = ConversionCache().get(
            [one.path for one in ranks if one.path is not None],
            f"{_CONVERTER} {known}",
            convert,
            lambda fraction, text: progress(_OPENING_SHARE + (1 - _OPENING_SHARE) * fraction, text),
            is_cancelled,
        )
        stretches = []
        for each in joined if steps is not None else ():
            stretch = stretch_of(board, each.rank, steps or (0, 0))
            if stretch is not None:
                begin = each.capture.span[0] - each.shift_ns
                stretches.append((begin + stretch[0], begin + stretch[1]))
    capture = open_capture(path, progress=progress, cancelled=is_cancelled)
    # It is the capture of no file that somebody chose.
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
    """Tells how far opening one of several files is as a part of the whole."""
    return lambda fraction, text: progress(_OPENING_SHARE * (place + fraction) / count, text)


def stretch_of(board: JobBoard, rank: int, steps: tuple[int, int]) -> Range | None:
    """From where to where steps of a rank last, ns since its capture began; None where it has none of them."""
    row = board.map.row_of(rank)
    if row is None or not board.map.has_steps(row):
        return None
    starts = board.job.steps.starts(rank)[steps[0] : steps[1] + 1]
    lengths = board.job.steps.values("duration_ns").T[np.searchsorted(board.job.steps.ranks, rank)]
    lengths = lengths[steps[0] : steps[1] + 1]
    there = (starts >= 0) & ~np.isnan(lengths)
    if not there.any():
        return None
    return int(starts[there].min()), int((starts[there] + lengths[there].astype(np.int64)).max())


def _offsets(job: TrainingJob, ranks: Sequence[int]) -> dict[int, tuple[int, str, int | None]]:
    """How much later than the first of these each rank's time is (both counted since their captures began), ns; what
    tells that (``collectives``, else ``steps`` that both have, else ``start``), and how far it may be off.
    """
    first = ranks[0]
    found: dict[int, tuple[int, str, int | None]] = {}
    for rank in ranks:
        own, reference = job.clocks.get(rank), job.clocks.get(first)
        if own is not None and reference is not None and own.reference == reference.reference:
            residual = max(own.residual_ns, reference.residual_ns)
            found[rank] = (own.offset_ns - reference.offset_ns, "collectives", residual)
            continue
        apart = _apart_by_steps(job, rank, first)
        found[rank] = (0, "start", None) if apart is None else (apart, "steps", None)
    return found


def _apart_by_steps(job: TrainingJob, rank: int, first: int) -> int | None:
    """How much later a rank begins the steps that both have, in the median."""
    known = job.steps.ranks.tolist()
    if rank not in known or first not in known:
        return None
    own, other = job.steps.starts(rank), job.steps.starts(first)
    both = (own >= 0) & (other >= 0)
    return int(np.median(own[both] - other[both])) if both.any() else None
