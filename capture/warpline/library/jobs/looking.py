"""Reads the ranks from the files of a job, with as little I/O as possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from warpline.i18n import tr
from warpline.interchange.framework.bundles import is_bundle
from warpline.interchange.framework.detection import detect_head, read_head
from warpline.interchange.framework.ranks import RankFound, rank_of
from warpline.library.jobs.remote import fetched
from warpline.memory_room import require_memory
from warpline.model import CaptureFormatError, CaptureVersionError, UsageError, WarplineError
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.storage import capture_ranks

_AT_ONCE = 8
"""How many files are read at the same time; most of that time is spent waiting for disks."""
_PROGRESS_EVERY = 64
_HDF5 = b"\x89HDF"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A file that may be a rank: ``shown`` is the part of its path that may name the rank, ``named`` that rank.

    ``format`` is the importer's title (English); empty for a capture or when unknown.
    """

    path: Path
    shown: Path
    url: str = ""
    is_asked_for: bool = False
    named: RankFound | None = None
    format: str = ""


@dataclass(frozen=True)
class Looked:
    """A file with the rank that its contents name, or the ``reason`` why it is unusable."""

    candidate: Candidate
    found: RankFound | None = None
    reason: str = ""


def look_into(
    candidates: Sequence[Candidate], progress: Progress, cancelled: IsCancelled
) -> Iterator[Looked]:
    """The result for each file, in order. Raises Cancelled."""
    require_memory(_AT_ONCE)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for number, looked in enumerate(pool.map(_look, candidates), 1):
            check_cancelled(cancelled)
            if number % _PROGRESS_EVERY == 0:
                progress(
                    0.0,
                    tr(
                        "finding the ranks: {count:,} of {total:,} files",
                        count=number,
                        total=len(candidates),
                    ),
                )
            yield looked


def _look(candidate: Candidate) -> Looked:
    try:
        rank, file_format = _rank_in(candidate)
    except (WarplineError, OSError) as error:
        reason = str(error).removeprefix(f"{candidate.path}: ").removeprefix(f"{candidate.url}: ")
        return Looked(candidate, reason=reason or type(error).__name__)
    return Looked(replace(candidate, format=file_format), rank)


def _rank_in(candidate: Candidate) -> tuple[RankFound | None, str]:
    """The rank that a file's contents name, and its format.

    Raises WarplineError when it cannot be opened, OSError when its storage fails.
    """
    if not candidate.url:
        return _rank_in_file(candidate.path)
    if candidate.named is not None:
        return None, ""
    if candidate.path.suffix.lower() == ".h5":
        with fetched(candidate.url) as path:
            return _rank_in_file(path)
    with fetched(candidate.url, only_head=True) as path:
        return rank_of(Path(), read_head(path)), ""


def _rank_in_file(path: Path) -> tuple[RankFound | None, str]:
    with path.open("rb") as file:
        is_hdf5 = file.read(len(_HDF5)) == _HDF5
    if is_hdf5:
        try:
            ranks = capture_ranks(path)
        except CaptureVersionError:
            raise
        except CaptureFormatError:
            pass  # another profiler's file, or a damaged one, which raises below
        else:
            if len(ranks) > 1:
                raise UsageError(tr("a capture of several ranks; use warpline stats for it"))
            return (RankFound(next(iter(ranks)), "process") if ranks else None), ""
    if is_bundle(path):
        raise UsageError(tr("an archive of several files; unpack it first"))
    head = read_head(path)
    importer = detect_head(head, path)
    # Only its metadata: a name may be that of a folder above the job.
    return rank_of(Path(), head), importer.title
