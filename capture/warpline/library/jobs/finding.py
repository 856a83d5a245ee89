"""Which files make up a job: one for each rank, and what is to be said of the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpline.i18n import tr
from warpline.interchange import detect, is_capture
from warpline.interchange.framework.bundles import is_bundle
from warpline.interchange.framework.detection import read_head
from warpline.interchange.framework.ranks import RankFound, rank_of
from warpline.model import UsageError, WarplineError
from warpline.storage import open_capture

BY_ORDER = "order"
"""`RankFile.told_by` where nothing tells a rank and the files are counted through."""
_SUFFIXES = (".h5", ".json", ".json.gz", ".sqlite", ".nsys-rep", ".db", ".pb", ".gz", ".zip")
"""A file that ends so and cannot be read is worth a word; a log or a script in the folder is not."""


@dataclass(frozen=True)
class RankFile:
    """A rank and its file. ``told_by`` says what told the rank: ``distributedInfo``, ``process``, a part of the name,
    or `BY_ORDER`.
    """

    rank: int
    path: Path
    told_by: str


@dataclass(frozen=True)
class LeftOut:
    """A file that is of no use, why, and of which rank it is where that is known."""

    path: Path
    reason: str
    rank: int | None = None


@dataclass(frozen=True)
class JobFiles:
    """The ranks of a job by number, the files left out, and how many ranks it has where a trace tells."""

    ranks: tuple[RankFile, ...]
    left_out: tuple[LeftOut, ...] = ()
    world_size: int | None = None

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers below the largest, or below the size of the job, of which there is no file at all."""
        known = {one.rank for one in self.ranks} | {one.rank for one in self.left_out}
        count = max([one.rank + 1 for one in self.ranks] + [self.world_size or 0], default=0)
        return tuple(rank for rank in range(count) if rank not in known)


def find_job(paths: Sequence[Path], pattern: str | None = None) -> JobFiles:
    """The ranks in folders (and the folders in them) and files.

    A rank's number comes from the trace's metadata, else from its name or that of its folder below the one given:
    ``rank`` and a number, or ``pattern``, a regular expression whose first group is the number. Where nothing tells
    any, files are counted through in the order of their names. Of several files of a rank the first by name stays.

    Raises UsageError when there is no such path, the pattern is none, or no file is a rank's.
    """
    expression = _expression(pattern)
    told: list[tuple[Path, RankFound | None]] = []
    left_out: list[LeftOut] = []
    for path, shown in _files(paths):
        named = _by_pattern(expression, shown) if expression else rank_of(shown)
        try:
            found = _rank_in(path)
        except (WarplineError, OSError) as error:
            if named is not None or path.name.lower().endswith(_SUFFIXES) or path in paths:
                left_out.append(LeftOut(path, _without_path(error, path), named.rank if named else None))
            continue
        told.append((path, named if expression and named else found or named))
    if told and not any(found for _, found in told):
        told = [(path, RankFound(number, BY_ORDER)) for number, (path, _) in enumerate(told)]
    ranks: dict[int, RankFile] = {}
    for path, found in told:
        if found is None:
            reason = tr("neither its metadata nor its name tells a rank; --rank-pattern says where it stands")
            left_out.append(LeftOut(path, reason))
        elif found.rank in ranks:
            first = ranks[found.rank].path
            left_out.append(LeftOut(path, tr("{first} is that rank, too", first=first), found.rank))
        else:
            ranks[found.rank] = RankFile(found.rank, path, found.told_by)
    left_out = [one for one in left_out if not _is_beside(one, ranks)]
    if not ranks:
        reasons = "; ".join(f"{one.path}: {one.reason}" for one in left_out[:1])
        raise UsageError(reasons or tr("{path}: no trace and no capture in it", path=paths[0]))
    sizes = {found.world_size for _, found in told if found is not None and found.world_size}
    return JobFiles(
        tuple(ranks[rank] for rank in sorted(ranks)),
        tuple(left_out),
        max(sizes) if sizes else None,
    )


def _is_beside(one: LeftOut, ranks: Mapping[int, RankFile]) -> bool:
    """Whether a file is no trace but what a profiler writes beside one, in the same folder of a rank."""
    trace = ranks.get(-1 if one.rank is None else one.rank)
    if trace is None or trace.path.parent != one.path.parent:
        return False
    return rank_of(Path(one.path.name)) is None


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Each file, and the part of its path that may tell its rank."""
    for path in paths:
        if not path.exists():
            raise UsageError(tr("there is no file or folder {path}", path=path))
        if not path.is_dir():
            yield path, path
            continue
        for inside in sorted(path.rglob("*"), key=_natural):
            if inside.is_file() and not inside.is_symlink():
                yield inside, inside.relative_to(path)


def _natural(path: Path) -> list[tuple[int, int | str]]:
    parts: Iterable[str] = re.split(r"(\d+)", str(path))
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]


def _expression(pattern: str | None) -> re.Pattern[str] | None:
    if pattern is None:
        return None
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise UsageError(tr("--rank-pattern {pattern!r}: {error}", pattern=pattern, error=error)) from error
    if not found.groups:
        raise UsageError(
            tr("--rank-pattern {pattern!r} has no group for the number: write it as (\\d+)", pattern=pattern)
        )
    return found


def _by_pattern(expression: re.Pattern[str], path: Path) -> RankFound | None:
    found = expression.search(str(path))
    if found is None or not (found[1] or "").isdecimal() or len(found[1]) > 9:
        return None
    return RankFound(int(found[1]), found[0])


def _rank_in(path: Path) -> RankFound | None:
    """The rank that a file tells of itself.

    Raises WarplineError when it is nothing to open.
    """
    if is_capture(path):
        with open_capture(path) as capture:
            ranks = {process.rank for process in capture.processes if process.rank is not None}
        if len(ranks) > 1:
            raise UsageError(tr("a capture of several ranks; warpline stats reports about it"))
        return RankFound(ranks.pop(), "process") if ranks else None
    if is_bundle(path):
        raise UsageError(tr("an archive of several files; unpack it first"))
    detect(path)
    # Only what its metadata says: a name may be that of a folder above the job.
    return rank_of(Path(), read_head(path))


def _without_path(error: Exception, path: Path) -> str:
    return str(error).removeprefix(f"{path}: ")
