"""Ranks of one job: finds the rank of each file and aligns the clocks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english, tr, translated
from warpline.interchange.framework import collectives
from warpline.interchange.framework.importer import ImportSummary
from warpline.model import Clock, ImportFormatError, format_duration

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]

METHODS: tuple[str, ...] = ("auto", "collectives", "steps", "utc", "start")
_REASONS = {
    "collectives": english("a collective ends on all ranks at the same time"),
    "steps": english("a step ends when the ranks synchronize"),
    "utc": english("each file gives its clock's offset from UTC"),
    "start": english("nothing in common, so the first events are aligned"),
}


_RANK_IN_NAME = re.compile(r"rank[-_. ]?(\d+)", re.IGNORECASE)
_DISTRIBUTED_INFO = re.compile(rb'"distributedInfo"\s*:\s*\{')
_RANK_IN_INFO = re.compile(rb'"rank"\s*:\s*"?(\d+)')
_WORLD_SIZE = re.compile(rb'"world_size"\s*:\s*"?(\d+)')


@dataclass(frozen=True)
class Alignment:
    """Clock offsets that align files, one per file, in the order given.

    Capture time = recorded time - offset. A residual is the largest disagreement with the first file left at any common
    collective or step; None with fewer than two, since one always fits. ``reason`` (English, stored) says why this
    method was chosen.
    """

    method: str
    offsets_ns: tuple[int, ...]
    residuals_ns: tuple[int | None, ...]
    reason: str = ""


@dataclass(frozen=True)
class RankFound:
    """The rank of a file and where it was found: ``distributedInfo`` of the metadata, or the part of the path.

    ``world_size`` is the number of ranks of the job, if the metadata gives it.
    """

    rank: int
    source: str
    world_size: int | None = None


def rank_numbers(files: Sequence[tuple[Path, bytes]]) -> list[int]:
    """The rank of each file, from its metadata or its name; 0, 1, 2 … if any is missing or two agree.

    ``files`` are pairs of path and head (`detection.read_head`).
    """
    answers = [rank_of(path, head) for path, head in files]
    known = [answer.rank for answer in answers if answer is not None]
    if len(known) == len(files) and len(set(known)) == len(known):
        return known
    return list(range(len(files)))


def rank_of(path: Path, head: bytes = b"") -> RankFound | None:
    """The rank from a file's metadata, else from its name or the two folders above it; None without any."""
    info = _DISTRIBUTED_INFO.search(head)
    if info is not None:
        rank = _RANK_IN_INFO.search(head, info.end(), info.end() + 4096)
        if rank is not None and len(rank[1]) < 10:
            world = _WORLD_SIZE.search(head, info.end(), info.end() + 4096)
            size = int(world[1]) if world is not None and len(world[1]) < 10 else None
            return RankFound(int(rank[1]), "distributedInfo", size)
    # Some profilers write a folder per rank and name it after the rank.
    for part in (path.name, path.parent.name, path.parent.parent.name):
        *_, name = [None, *_RANK_IN_NAME.finditer(part)]
        if name is not None:
            return RankFound(int(name[1]), name[0]) if len(name[1]) < 10 else None
    return None


def align(summaries: Sequence[ImportSummary], method: str) -> Alignment:
    """Offsets for files recorded with different clocks.

    ``collectives``: the median distance between the ends of the collectives a file shares with the first one.
    ``steps``: the same for steps, which end on the host and so less exactly. ``utc``: each file's offset from UTC.
    ``start``: the first event of each file. ``auto``: the first of these that all files support; but ``utc`` if it fits
    the held-back collectives or steps at least as well.

    Raises ImportFormatError when the files do not support the method.
    """
    if method != "auto":
        if (reason := _why_not(summaries, method)) is not None:
            raise ImportFormatError(reason)
        return _by(summaries, method)
    method = next(
        name for name in ("collectives", "steps", "utc", "start") if _why_not(summaries, name) is None
    )
    return _unless_clocks_agree(summaries, _by(summaries, method))


def _by(summaries: Sequence[ImportSummary], method: str) -> Alignment:
    if method == "utc":
        return _by_utc(summaries)
    if method == "start":
        starts = tuple(summary.start_ns or 0 for summary in summaries)
        return Alignment("start", starts, (None,) * len(summaries), _REASONS["start"])
    base = summaries[0].start_ns or 0
    fits = [_fitted(_distances(summaries[0], summary, method)) for summary in summaries]
    return Alignment(
        method,
        tuple(base + shift for shift, _ in fits),
        tuple(residual for _, residual in fits),
        _REASONS[method],
    )


def _unless_clocks_agree(summaries: Sequence[ImportSummary], fitted: Alignment) -> Alignment:
    """The alignment; or UTC, if it fits the held-back events at least as well."""
    if fitted.method not in ("collectives", "steps") or _why_not(summaries, "utc") is not None:
        return fitted
    if any(residual is None for residual in fitted.residuals_ns):
        # A single common step always fits, so it proves nothing against the clocks.
        return replace(_by_utc(summaries), reason=english("too little in common for another method"))
    own = _by_utc(summaries)
    distances = [_distances(summaries[0], summary, fitted.method) for summary in summaries]

    def worst(alignment: Alignment) -> int:
        shifts = (offset - alignment.offsets_ns[0] for offset in alignment.offsets_ns)
        return max(_left(values[1::2], shift) for values, shift in zip(distances, shifts, strict=True))

    if worst(own) > worst(fitted):
        return fitted
    residuals = tuple(
        _left(values, offset - own.offsets_ns[0])
        for values, offset in zip(distances, own.offsets_ns, strict=True)
    )
    return Alignment("utc", own.offsets_ns, residuals, english("the clocks already agree"))


def _distances(reference: ImportSummary, other: ImportSummary, method: str) -> Int64Array:
    """How much later the common collectives or steps end by the other file's clock, ns."""
    if method == "collectives":
        return collectives.distances(reference.collectives, other.collectives)
    common = sorted(reference.steps.keys() & other.steps.keys())
    return np.array([other.steps[step][1] - reference.steps[step][1] for step in common], np.int64)


def _fitted(distances: Int64Array) -> tuple[int, int | None]:
    """The median of every second distance, which leaves the others to judge it, and the largest deviation from it.

    A single distance has no deviation: None.
    """
    # The lower median is one of the values, so it stays an exact integer.
    fit = np.sort(distances[::2])
    shift = int(fit[(len(fit) - 1) // 2])
    return shift, _left(distances, shift) if len(distances) > 1 else None


def _left(distances: Int64Array, shift: int) -> int:
    """The largest distance that a shift leaves."""
    return int(np.abs(distances - shift).max())


def _why_not(summaries: Sequence[ImportSummary], method: str) -> str | None:
    if method in ("collectives", "steps") and any(
        not len(_distances(summaries[0], other, method)) for other in summaries
    ):
        if method == "steps":
            return tr("the files have no steps in common; try --align utc or --align start")
        return tr("the files have no collectives in common; try --align steps or --align utc")
    if method == "utc" and any(summary.utc_offset_ns is None for summary in summaries):
        return tr("not every file gives its offset from UTC; try --align steps or --align start")
    return None


def _by_utc(summaries: Sequence[ImportSummary]) -> Alignment:
    base = min((summary.start_ns or 0) + (summary.utc_offset_ns or 0) for summary in summaries)
    return Alignment(
        "utc",
        tuple(base - (summary.utc_offset_ns or 0) for summary in summaries),
        (None,) * len(summaries),
        _REASONS["utc"],
    )


def clock_text(clock: Clock) -> str:
    """How a clock was aligned, for display: ``common steps, to within 13.2 µs``; empty if it was not."""
    methods = {
        "collectives": tr("common collectives"),
        "steps": tr("common steps"),
        "pings": tr("pings of the machines"),
        "utc": tr("UTC"),
        "start": tr("first event"),
        "monotonic": tr("the machine's monotonic clock"),
        "set by hand": tr("set by hand"),
    }
    method = methods.get(clock.method, clock.method)
    if clock.residual_ns is None:
        return method
    return tr("{method}, to within {residual}", method=method, residual=format_duration(clock.residual_ns))


def alignment_reason(meta: Mapping[str, Any]) -> str:
    """Why this alignment was chosen, for display; empty if nothing was aligned."""
    alignment = meta.get("alignment")
    reason = alignment.get("reason") if isinstance(alignment, dict) else None
    return translated(reason) if isinstance(reason, str) else ""


def apply(alignment: Alignment, builder: CaptureBuilder, clocks: Sequence[int]) -> None:
    """Set the clocks of the files to an alignment."""
    builder.meta["alignment"] = {"method": alignment.method, "reason": alignment.reason}
    for clock, offset, residual in zip(clocks, alignment.offsets_ns, alignment.residuals_ns, strict=True):
        builder.set_clock_offset(clock, offset, method=alignment.method, residual_ns=residual)
