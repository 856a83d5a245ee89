"""Several files of one job: which rank each is, and how their clocks belong together."""

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
    "collectives": english("a collective ends on all ranks at once"),
    "steps": english("a step ends with the job's synchronisation"),
    "utc": english("each file tells how its clock relates to UTC"),
    "start": english("nothing in common: the first events were put together"),
}


_RANK_IN_NAME = re.compile(r"rank[-_. ]?(\d+)", re.IGNORECASE)
_DISTRIBUTED_INFO = re.compile(rb'"distributedInfo"\s*:\s*\{')
_RANK_IN_INFO = re.compile(rb'"rank"\s*:\s*"?(\d+)')
_WORLD_SIZE = re.compile(rb'"world_size"\s*:\s*"?(\d+)')


@dataclass(frozen=True)
class Alignment:
    """Offsets that put files on one time base, one per file in the order given.

    Capture time = recorded time - ``offset_ns``. ``residual_ns`` is the largest disagreement with the first file over
    collectives or steps that had no part in finding the offset; None where there is nothing to compare.
    ``reason`` (English, for the file) says why this method.
    """

    method: str
    offsets_ns: tuple[int, ...]
    residuals_ns: tuple[int | None, ...]
    reason: str = ""


@dataclass(frozen=True)
class RankFound:
    """The rank of a file, and what told it: ``distributedInfo`` of its metadata, or the part of its name.

    ``world_size`` is how many ranks the job has, where the metadata tells.
    """

    rank: int
    told_by: str
    world_size: int | None = None


def rank_numbers(files: Sequence[tuple[Path, bytes]]) -> list[int]:
    """The rank of each file: from its metadata, else from its name; files whose answers clash are counted through.

    Takes pairs of path and head (see `detection.read_head`).
    """
    found = [rank_of(path, head) for path, head in files]
    known = [one.rank for one in found if one is not None]
    if len(known) == len(files) and len(set(known)) == len(known):
        return known
    return list(range(len(files)))


def rank_of(path: Path, head: bytes = b"") -> RankFound | None:
    """The rank that a file's metadata tells, else its name or that of a folder it lies in; None where none does."""
    info = _DISTRIBUTED_INFO.search(head)
    if info is not None:
        rank = _RANK_IN_INFO.search(head, info.end(), info.end() + 4096)
        if rank is not None and len(rank[1]) < 10:
            world = _WORLD_SIZE.search(head, info.end(), info.end() + 4096)
            size = int(world[1]) if world is not None and len(world[1]) < 10 else None
            return RankFound(int(rank[1]), "distributedInfo", size)
    # Profilers that write a folder for each rank name that after it.
    for part in (path.name, path.parent.name, path.parent.parent.name):
        *_, name = [None, *_RANK_IN_NAME.finditer(part)]
        if name is not None:
            return RankFound(int(name[1]), name[0]) if len(name[1]) < 10 else None
    return None


def align(summaries: Sequence[ImportSummary], method: str) -> Alignment:
    """Offsets for files recorded by different clocks.

    ``collectives``: the median distance of the ends of collectives a file has in common with the first one, for a
    collective ends everywhere at once. ``steps``: the same of steps, whose ends are events of hosts and so less exact.
    ``utc``: the files' own relation to UTC. ``start``: the earliest event of each file. ``auto``: the first that every
    file allows; the files' own clocks (``utc``) stay where they agree better with what was held back to judge.

    Raises ImportFormatError when the files do not allow the method asked for.
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
    found = [_fitted(_distances(summaries[0], summary, method)) for summary in summaries]
    return Alignment(
        method,
        tuple(base + shift for shift, _ in found),
        tuple(residual for _, residual in found),
        _REASONS[method],
    )


def _unless_clocks_agree(summaries: Sequence[ImportSummary], fitted: Alignment) -> Alignment:
    """The alignment, or the files' own clocks where these do no worse on the events that were held back."""
    if fitted.method not in ("collectives", "steps") or _why_not(summaries, "utc") is not None:
        return fitted
    if any(residual is None for residual in fitted.residuals_ns):
        # One common step ends together by construction: nothing says that the clocks are wrong.
        return replace(_by_utc(summaries), reason=english("too little in common to judge another way by"))
    own = _by_utc(summaries)
    residuals = tuple(
        int(
            np.abs(
                _held_back(_distances(summaries[0], summary, fitted.method)) - (shift - own.offsets_ns[0])
            ).max()
        )
        for summary, shift in zip(summaries, own.offsets_ns, strict=True)
    )
    if max(residuals) > max(residual or 0 for residual in fitted.residuals_ns):
        return fitted
    return Alignment("utc", own.offsets_ns, residuals, english("the clocks agree already"))


def _distances(reference: ImportSummary, other: ImportSummary, method: str) -> Int64Array:
    """How much later what both have in common ended on the other's clock, ns."""
    if method == "collectives":
        return collectives.distances(reference.collectives, other.collectives)
    common = sorted(reference.steps.keys() & other.steps.keys())
    return np.array([other.steps[step][1] - reference.steps[step][1] for step in common], np.int64)


def _held_back(distances: Int64Array) -> Int64Array:
    return distances[1::2]


def _fitted(distances: Int64Array) -> tuple[int, int | None]:
    """The median of every other distance, and how far the rest are from it at most; None without a rest."""
    # The lower median is one of the distances: integers stay exact.
    fit, rest = np.sort(distances[::2]), _held_back(distances)
    shift = int(fit[(len(fit) - 1) // 2])
    return shift, int(np.abs(rest - shift).max()) if len(rest) else None


def _why_not(summaries: Sequence[ImportSummary], method: str) -> str | None:
    if method in ("collectives", "steps") and any(
        not len(_distances(summaries[0], other, method)) for other in summaries
    ):
        if method == "steps":
            return tr("the files have no steps in common to align them by; try --align utc or --align start")
        return tr(
            "the files have no collectives in common to align them by; try --align steps or --align utc"
        )
    if method == "utc" and any(summary.utc_offset_ns is None for summary in summaries):
        return tr("not every file tells how its clock relates to UTC; try --align steps or --align start")
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
    """How a clock was put to the others, for a person: ``common steps, to within 13.2 µs``; empty where nothing was."""
    methods = {
        "collectives": tr("common collectives"),
        "steps": tr("common steps"),
        "utc": tr("UTC"),
        "start": tr("first event"),
        "monotonic": tr("the monotonic clock of the machine"),
        "set by hand": tr("set by hand"),
    }
    method = methods.get(clock.method, clock.method)
    if clock.residual_ns is None:
        return method
    return tr("{method}, to within {residual}", method=method, residual=format_duration(clock.residual_ns))


def alignment_reason(meta: Mapping[str, Any]) -> str:
    """Why the clocks of a capture were put together as they were, for a person; empty where nothing was."""
    found = meta.get("alignment")
    reason = found.get("reason") if isinstance(found, dict) else None
    return translated(reason) if isinstance(reason, str) else ""


def apply(alignment: Alignment, builder: CaptureBuilder, clocks: Sequence[int]) -> None:
    """Write an alignment into the clocks of the files."""
    builder.meta["alignment"] = {"method": alignment.method, "reason": alignment.reason}
    for clock, offset, residual in zip(clocks, alignment.offsets_ns, alignment.residuals_ns, strict=True):
        builder.set_clock_offset(clock, offset, method=alignment.method, residual_ns=residual)
