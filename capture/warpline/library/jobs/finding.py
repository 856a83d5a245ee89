"""Finds the files of a job: one for each rank, and those left out."""

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
"""The value of `RankFile.told_by` when files are numbered because nothing names their rank."""
_SUFFIXES = (
    ".h5", ".json", ".json.gz", ".sqlite", ".nsys-rep", ".qdrep", ".db", ".rpd", ".pb", ".pftrace", ".perfetto-trace",
    ".parquet", ".gz", ".zip",
)  # fmt: skip
"""Unreadable files with these suffixes are reported; logs and scripts in the folder are not."""


@dataclass(frozen=True)
class RankFile:
    """A rank and its file.

    ``told_by`` is the source of the rank number: ``distributedInfo``, ``process``, a part of the name, or `BY_ORDER`.
    ``url`` is set for remote files. ``format`` is the importer's title (English); empty for a capture or when unknown.
    """

    rank: int
    path: Path
    told_by: str
    url: str = ""
    format: str = ""

    @property
    def source(self) -> str:
        """What the process that computes the rank opens."""
        return self.url or str(self.path.resolve())


@dataclass(frozen=True)
class LeftOut:
    """A file left out, the reason, and its rank if known."""

    path: Path
    reason: str
    rank: int | None = None
    url: str = ""

    @property
    def where(self) -> str:
        """The URL or path for people."""
        return self.url or str(self.path)


@dataclass(frozen=True)
class JobFiles:
    """The ranks of a job by number, the files left out, and the world size if a trace records it."""

    ranks: tuple[RankFile, ...]
    left_out: tuple[LeftOut, ...] = ()
    world_size: int | None = None

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks without any file, below the largest number or the world size."""
        known = {file.rank for file in self.ranks} | {file.rank for file in self.left_out}
        count = max([file.rank + 1 for file in self.ranks] + [self.world_size or 0], default=0)
        return tuple(rank for rank in range(count) if rank not in known)


def find_job(
    paths: Sequence[Path | str],
    pattern: str | None = None,
    progress: Progress = unwatched,
    cancelled: IsCancelled = never,
) -> JobFiles:
    """Find the ranks in files and folders (recursively); texts with ``://`` are URLs for fsspec.

    A rank's number comes from the trace's metadata, else from the file's or folder's name below the given path:
    ``rank`` and a number, or the first group of the regular expression ``pattern``. For a URL the name is tried first,
    to fetch less. If nothing names a rank, files are numbered in order of their names, with a trace and its exports
    counted once. Of several files of a rank, the first by name is used. ``progress`` receives the number of files read.

    Raises UsageError for a missing path, an invalid pattern, or when no file is a rank; Cancelled.
    """
    expression = _expression(pattern)
    readable: list[tuple[Candidate, RankFound | None]] = []
    left_out: list[LeftOut] = []
    candidates = [
        replace(
            candidate,
            named=_by_pattern(expression, candidate.shown) if expression else rank_of(candidate.shown),
        )
        for candidate in _files(paths)
    ]
    for looked in look_into(candidates, progress, cancelled):
        candidate, named = looked.candidate, looked.candidate.named
        if not looked.reason:
            readable.append((candidate, named if expression and named else looked.found or named))
        elif named is not None or candidate.path.name.lower().endswith(_SUFFIXES) or candidate.is_asked_for:
            left_out.append(_left_out(candidate, looked.reason, named.rank if named else None))
    if readable and not any(found for _, found in readable):
        readable, duplicates = _numbered([candidate for candidate, _ in readable])
        left_out += duplicates
    ranks: dict[int, RankFile] = {}
    for candidate, found in readable:
        if found is None:
            reason = tr(
                "neither its metadata nor its name states a rank; use --rank-pattern to say where the "
                "rank is in the name"
            )
            left_out.append(_left_out(candidate, reason))
        elif found.rank in ranks:
            first = ranks[found.rank].url or ranks[found.rank].path
            left_out.append(_left_out(candidate, tr("{first} is the same rank", first=first), found.rank))
        else:
            ranks[found.rank] = RankFile(
                found.rank, candidate.path, found.source, candidate.url, candidate.format
            )
    left_out = [file for file in left_out if not _is_beside(file, ranks)]
    if not ranks:
        reasons = "; ".join(f"{file.where}: {file.reason}" for file in left_out[:1])
        raise UsageError(reasons or tr("{path}: it holds no trace or capture", path=paths[0]))
    sizes = {found.world_size for _, found in readable if found is not None and found.world_size}
    return JobFiles(
        tuple(ranks[rank] for rank in sorted(ranks)),
        tuple(left_out),
        max(sizes) if sizes else None,
    )


def _left_out(candidate: Candidate, reason: str, rank: int | None = None) -> LeftOut:
    return LeftOut(candidate.path, reason, rank, candidate.url)


def _numbered(
    candidates: Sequence[Candidate],
) -> tuple[list[tuple[Candidate, RankFound | None]], list[LeftOut]]:
    """Number files without ranks. A trace and its exports share a name and count once, with the capture preferred."""
    traces: dict[Path, list[Candidate]] = {}
    for candidate in candidates:
        traces.setdefault(_stem(candidate.path), []).append(candidate)
    numbered: list[tuple[Candidate, RankFound | None]] = []
    left_out = []
    for number, files in enumerate(traces.values()):
        first = min(files, key=lambda file: file.path.suffix != ".h5")
        numbered.append((first, RankFound(number, BY_ORDER)))
        reason = tr("{first} is the same trace", first=first.url or first.path)
        left_out += [_left_out(file, reason) for file in files if file is not first]
    return numbered, left_out


def _stem(path: Path) -> Path:
    """A file's path without the suffix of its format."""
    name = path.name
    lower = name.lower()
    for suffix in sorted(_SUFFIXES, key=len, reverse=True):
        if lower.endswith(suffix):
            return path.with_name(name[: -len(suffix)] or name)
    return path


def _is_beside(file: LeftOut, ranks: Mapping[int, RankFile]) -> bool:
    """Whether a file is a side product that a profiler wrote next to a rank's trace."""
    trace = ranks.get(-1 if file.rank is None else file.rank)
    if trace is None or trace.path.parent != file.path.parent:
        return False
    return rank_of(Path(file.path.name)) is None


def _files(paths: Sequence[Path | str]) -> Iterator[Candidate]:
    for path in paths:
        if isinstance(path, str) and is_url(path):
            base = path.rstrip("/")
            for url in sorted(list_files(path), key=natural_key):
                below = url.partition(base.partition("://")[2])[2].strip("/")
                shown = Path(below or url.rpartition("/")[2])
                yield Candidate(
                    path=Path(url.partition("://")[2]), shown=shown, url=url, is_asked_for=not below
                )
            continue
        path = Path(path)
        if not path.exists():
            raise UsageError(tr("there is no file or folder {path}", path=path))
        if not path.is_dir():
            yield Candidate(path=path, shown=path, is_asked_for=True)
            continue
        for inside in sorted(path.rglob("*"), key=lambda path: (natural_key(str(path)), str(path))):
            if inside.is_file() and not inside.is_symlink():
                yield Candidate(path=inside, shown=inside.relative_to(path))


def _expression(pattern: str | None) -> re.Pattern[str] | None:
    if pattern is None:
        return None
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise UsageError(tr("--rank-pattern {pattern!r}: {error}", pattern=pattern, error=error)) from error
    if not expression.groups:
        raise UsageError(
            tr("--rank-pattern {pattern!r} has no group for the rank; write it as (\\d+)", pattern=pattern)
        )
    return expression


def _by_pattern(expression: re.Pattern[str], path: Path) -> RankFound | None:
    match = expression.search(str(path))
    if match is None or not (match[1] or "").isdecimal() or len(match[1]) > 9:
        return None
    return RankFound(int(match[1]), match[0])
