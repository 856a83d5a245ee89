"""Which files make up a job: one for each rank, and what is to be said of the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpline.i18n import tr
from warpline.interchange.framework.ranks import RankFound, rank_of
from warpline.library.jobs.looking import Candidate, look_into
from warpline.library.jobs.remote import is_url, list_files
from warpline.model import UsageError
from warpline.model.progress import IsCancelled, Progress, never, unwatched
from warpline.untrusted import natural_key

BY_ORDER = "order"
"""`RankFile.told_by` where nothing tells a rank and the files are counted through."""
_SUFFIXES = (".h5", ".json", ".json.gz", ".sqlite", ".nsys-rep", ".db", ".pb", ".gz", ".zip")
"""A file that ends so and cannot be read is worth a word; a log or a script in the folder is not."""


@dataclass(frozen=True)
class RankFile:
    """A rank and its file. ``told_by`` says what told the rank: ``distributedInfo``, ``process``, a part of the name,
    or `BY_ORDER`. ``url`` is where it lies when that is no path of this machine. ``format`` is what the file is called
    by its importer (English), empty for a capture and for what was not looked into.
    """

    rank: int
    path: Path
    told_by: str
    url: str = ""
    format: str = ""

    @property
    def source(self) -> str:
        """What whoever computes the rank opens."""
        return self.url or str(self.path.resolve())


@dataclass(frozen=True)
class LeftOut:
    """A file that is of no use, why, and of which rank it is where that is known."""

    path: Path
    reason: str
    rank: int | None = None
    url: str = ""

    @property
    def where(self) -> str:
        """The file as people know it."""
        return self.url or str(self.path)


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


def find_job(
    paths: Sequence[Path | str],
    pattern: str | None = None,
    progress: Progress = unwatched,
    cancelled: IsCancelled = never,
) -> JobFiles:
    """The ranks in folders (and the folders in them) and files; texts with ``://`` in them are URLs for fsspec.

    A rank's number comes from the trace's metadata, else from its name or that of its folder below the one given:
    ``rank`` and a number, or ``pattern``, a regular expression whose first group is the number. Of a URL the name
    goes first, so that no more is fetched than must be. Where nothing tells any, files are counted through in the
    order of their names, a trace and what was exported of it once. Of several files of a rank the first by name stays.
    ``progress`` is told how many files have been looked into.

    Raises UsageError when there is no such path, the pattern is none, or no file is a rank's, Cancelled.
    """
    expression = _expression(pattern)
    told: list[tuple[Candidate, RankFound | None]] = []
    left_out: list[LeftOut] = []
    candidates = [
        replace(one, named=_by_pattern(expression, one.shown) if expression else rank_of(one.shown))
        for one in _files(paths)
    ]
    for looked in look_into(candidates, progress, cancelled):
        one, named = looked.candidate, looked.candidate.named
        if not looked.reason:
            told.append((one, named if expression and named else looked.found or named))
        elif named is not None or one.path.name.lower().endswith(_SUFFIXES) or one.is_asked_for:
            left_out.append(_without(one, looked.reason, named.rank if named else None))
    if told and not any(found for _, found in told):
        told, twice = _once_each([one for one, _ in told])
        left_out += twice
    ranks: dict[int, RankFile] = {}
    for one, found in told:
        if found is None:
            reason = tr("neither its metadata nor its name tells a rank; --rank-pattern says where it stands")
            left_out.append(_without(one, reason))
        elif found.rank in ranks:
            first = ranks[found.rank].url or ranks[found.rank].path
            left_out.append(_without(one, tr("{first} is that rank, too", first=first), found.rank))
        else:
            ranks[found.rank] = RankFile(found.rank, one.path, found.told_by, one.url, one.format)
    left_out = [one for one in left_out if not _is_beside(one, ranks)]
    if not ranks:
        reasons = "; ".join(f"{one.where}: {one.reason}" for one in left_out[:1])
        raise UsageError(reasons or tr("{path}: no trace and no capture in it", path=paths[0]))
    sizes = {found.world_size for _, found in told if found is not None and found.world_size}
    return JobFiles(
        tuple(ranks[rank] for rank in sorted(ranks)),
        tuple(left_out),
        max(sizes) if sizes else None,
    )


def _without(one: Candidate, reason: str, rank: int | None = None) -> LeftOut:
    return LeftOut(one.path, reason, rank, one.url)


def _once_each(
    found: Sequence[Candidate],
) -> tuple[list[tuple[Candidate, RankFound | None]], list[LeftOut]]:
    """Files that tell no rank counted through; of a trace and its exports, which share a name, the capture stays."""
    of_trace: dict[Path, list[Candidate]] = {}
    for one in found:
        of_trace.setdefault(_stem(one.path), []).append(one)
    kept: list[tuple[Candidate, RankFound | None]] = []
    left_out = []
    for number, several in enumerate(of_trace.values()):
        first = min(several, key=lambda one: one.path.suffix != ".h5")
        kept.append((first, RankFound(number, BY_ORDER)))
        reason = tr("{first} is the same trace", first=first.url or first.path)
        left_out += [_without(one, reason) for one in several if one is not first]
    return kept, left_out


def _stem(path: Path) -> Path:
    """A file's path without what tells its format."""
    name = path.name
    lower = name.lower()
    for suffix in sorted(_SUFFIXES, key=len, reverse=True):
        if lower.endswith(suffix):
            return path.with_name(name[: -len(suffix)] or name)
    return path


def _is_beside(one: LeftOut, ranks: Mapping[int, RankFile]) -> bool:
    """Whether a file is no trace but what a profiler writes beside one, in the same folder of a rank."""
    trace = ranks.get(-1 if one.rank is None else one.rank)
    if trace is None or trace.path.parent != one.path.parent:
        return False
    return rank_of(Path(one.path.name)) is None


def _files(paths: Sequence[Path | str]) -> Iterator[Candidate]:
    for path in paths:
        if isinstance(path, str) and is_url(path):
            base = path.rstrip("/")
            for url in sorted(list_files(path), key=natural_key):
                below = url.partition(base.partition("://")[2])[2].strip("/")
                shown = Path(below or url.rpartition("/")[2])
                yield Candidate(Path(url.partition("://")[2]), shown, url, is_asked_for=not below)
            continue
        path = Path(path)
        if not path.exists():
            raise UsageError(tr("there is no file or folder {path}", path=path))
        if not path.is_dir():
            yield Candidate(path, path, is_asked_for=True)
            continue
        for inside in sorted(path.rglob("*"), key=lambda one: (natural_key(str(one)), str(one))):
            if inside.is_file() and not inside.is_symlink():
                yield Candidate(inside, inside.relative_to(path))


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
