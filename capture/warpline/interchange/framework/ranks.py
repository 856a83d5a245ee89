"""Several files of one job: which rank each is, and how their clocks belong together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpline.i18n import tr
from warpline.interchange.framework.importer import ImportSummary
from warpline.model import Clock, ImportFormatError, format_duration

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

METHODS: tuple[str, ...] = ("auto", "steps", "utc", "start")

_RANK_IN_NAME = re.compile(r"rank[-_. ]?(\d+)", re.IGNORECASE)
_DISTRIBUTED_INFO = re.compile(rb'"distributedInfo"\s*:\s*\{')
_RANK_IN_INFO = re.compile(rb'"rank"\s*:\s*"?(\d+)')


@dataclass(frozen=True)
class Alignment:
    """Offsets that put files on one time base, one per file in the order given.

    Capture time = recorded time - ``offset_ns``. ``residual_ns`` is the largest disagreement left between a file's
    common steps and the first file's, None where the method leaves nothing to compare.
    """

    method: str
    offsets_ns: tuple[int, ...]
    residuals_ns: tuple[int | None, ...]


def rank_numbers(files: Sequence[tuple[Path, bytes]]) -> list[int]:
    """The rank of each file: from its metadata, else from its name; files whose answers clash are counted through.

    Takes pairs of path and head (see `detection.read_head`).
    """
    found = [_rank_of(path, head) for path, head in files]
    known = [number for number in found if number is not None]
    if len(known) == len(files) and len(set(known)) == len(known):
        return known
    return list(range(len(files)))


def _rank_of(path: Path, head: bytes) -> int | None:
    info = _DISTRIBUTED_INFO.search(head)
    if info is not None:
        rank = _RANK_IN_INFO.search(head, info.end(), info.end() + 4096)
        if rank is not None and len(rank[1]) < 10:
            return int(rank[1])
    name = _RANK_IN_NAME.findall(path.name)
    return int(name[-1]) if name and len(name[-1]) < 10 else None


def align(summaries: Sequence[ImportSummary], method: str) -> Alignment:
    """Offsets for files recorded by different clocks.

    ``steps``: the median distance of the ends of the steps a file has in common with the first one (a step ends with
    the job's common synchronisation; its start waits for data). ``utc``: the files' own relation to UTC. ``start``:
    the earliest event of each file. ``auto``: the first of these that every file allows.

    Raises ImportFormatError when the files do not allow the method asked for.
    """
    if method == "auto":
        method = next(name for name in ("steps", "utc", "start") if _why_not(summaries, name) is None)
    elif (reason := _why_not(summaries, method)) is not None:
        raise ImportFormatError(reason)
    if method == "steps":
        return _by_steps(summaries)
    if method == "utc":
        return _by_utc(summaries)
    return Alignment("start", tuple(summary.start_ns or 0 for summary in summaries), (None,) * len(summaries))


def _why_not(summaries: Sequence[ImportSummary], method: str) -> str | None:
    if method == "steps" and any(not (summaries[0].steps.keys() & other.steps.keys()) for other in summaries):
        return tr("the files have no steps in common to align them by; try --align utc or --align start")
    if method == "utc" and any(summary.utc_offset_ns is None for summary in summaries):
        return tr("not every file tells how its clock relates to UTC; try --align steps or --align start")
    return None


def _by_steps(summaries: Sequence[ImportSummary]) -> Alignment:
    reference = summaries[0]
    base = reference.start_ns or 0
    offsets: list[int] = []
    residuals: list[int | None] = []
    for summary in summaries:
        common = sorted(reference.steps.keys() & summary.steps.keys())
        distances = np.array([summary.steps[step][1] - reference.steps[step][1] for step in common], np.int64)
        # The lower median is one of the distances: integers stay exact.
        shift = int(np.sort(distances)[(len(distances) - 1) // 2])
        offsets.append(base + shift)
        residuals.append(int(np.abs(distances - shift).max()))
    return Alignment("steps", tuple(offsets), tuple(residuals))


def _by_utc(summaries: Sequence[ImportSummary]) -> Alignment:
    base = min((summary.start_ns or 0) + (summary.utc_offset_ns or 0) for summary in summaries)
    return Alignment(
        "utc",
        tuple(base - (summary.utc_offset_ns or 0) for summary in summaries),
        (None,) * len(summaries),
    )


def clock_text(clock: Clock) -> str:
    """How a clock was put to the others, for a person: ``common steps, to within 13.2 µs``; empty where nothing was."""
    methods = {
        "steps": tr("common steps"),
        "utc": tr("UTC"),
        "start": tr("first event"),
        "set by hand": tr("set by hand"),
    }
    method = methods.get(clock.method, clock.method)
    if clock.residual_ns is None:
        return method
    return tr("{method}, to within {residual}", method=method, residual=format_duration(clock.residual_ns))


def apply(alignment: Alignment, builder: CaptureBuilder, clocks: Sequence[int]) -> None:
    """Write an alignment into the clocks of the files."""
    for clock, offset, residual in zip(clocks, alignment.offsets_ns, alignment.residuals_ns, strict=True):
        builder.set_clock_offset(clock, offset, method=alignment.method, residual_ns=residual)
