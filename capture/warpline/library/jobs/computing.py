"""Computes the reports of one rank where its file lies, and caches them, so that a stopped job can go on."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from warpline._version import __version__
from warpline.analysis.framework.allocation import kept_memory
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import Report
from warpline.analysis.framework.selection import View
from warpline.analysis.jobs.packed_reports import FORMAT, pack, unpack
from warpline.analysis.jobs.rank_case import RankCase
from warpline.analysis.jobs.rank_tables import RANK_TABLES, compute_rank_table
from warpline.i18n import tr
from warpline.library.jobs.remote import content_key, fetched, is_url
from warpline.library.opening import open_path
from warpline.model import Cancelled, WarplineError
from warpline.model.progress import IsCancelled, never, unwatched
from warpline.storage import ConversionCache, cache_folder
from warpline.storage.cache import whole_or_absent

_CACHE_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True)
class RankTables:
    """The reports of a rank, packed (`pack`), by name; or the ``reason`` why there are none."""

    reports: Mapping[str, bytes]
    reason: str = ""


def compute_rank(
    path: str, names: Sequence[str], step: str | None = None, cancelled: IsCancelled = never
) -> RankTables:
    """The named reports of a file, from the cache or computed now; runs wherever the file lies.

    Errors of a damaged file are returned as the reason. Raises Cancelled.
    """
    try:
        return RankTables(_compute(path, names, step, cancelled))
    except Cancelled:
        raise
    except MemoryError:
        return RankTables({}, tr("not enough memory"))
    except (WarplineError, OSError) as error:
        return RankTables({}, " ".join(str(error).removeprefix(f"{path}: ").split()))
    except Exception as error:
        # A defect in one rank must not stop the others.
        kind = type(error).__name__
        return RankTables({}, tr("internal error, please report it: {kind}: {error}", kind=kind, error=error))


def cached_tables(path: str, names: Sequence[str], step: str | None = None) -> RankTables | None:
    """The cached result of `compute_rank`; None when a report is not cached."""
    try:
        cache = _TableCache(path, step)
    except (OSError, WarplineError):
        return None
    reports = {}
    for name in names:
        packed = cache.read(name)
        if packed is None:
            return None
        reports[name] = packed
    return RankTables(reports)


def forget_old() -> None:
    """Remove cached reports that were not used for a month."""
    oldest = time.time() - _CACHE_SECONDS
    for path in _folder().glob("*"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _compute(path: str, names: Sequence[str], step: str | None, cancelled: IsCancelled) -> dict[str, bytes]:
    cache = _TableCache(path, step)
    reports = {name: packed for name in names if (packed := cache.read(name)) is not None}
    missing = [name for name in names if name not in reports]
    if missing:
        with (
            fetched(path) if is_url(path) else nullcontext(Path(path)) as local,
            open_path(local, unwatched, cancelled).capture as capture,
            kept_memory(),
        ):
            case = RankCase(View(capture), Options(step=step))
            for name in missing:
                reports[name] = pack(_report(case, name))
                cache.write(name, reports[name])
    return reports


def _report(case: RankCase, name: str) -> Report:
    if name in RANK_TABLES:
        return compute_rank_table(case, name)
    return compute_report(case.view.capture, name, options=case.options)


def _folder() -> Path:
    return cache_folder() / "jobs"


class _TableCache:
    """The cached reports of a file, by its key in the cache of conversions (for a URL, by its storage) and the version.

    Raises WarplineError or OSError when the file cannot be read.
    """

    def __init__(self, path: str, step: str | None) -> None:
        version = f"{step or ''} {FORMAT} {__version__}"
        self._key = (
            f"{path}\0{content_key(path)}\0{version}"
            if is_url(path)
            else ConversionCache(_folder()).path_of([Path(path)], version).stem
        )

    def read(self, name: str) -> bytes | None:
        """A packed report; None when it is not cached, or damaged."""
        path = self._path(name)
        try:
            packed = path.read_bytes()
            unpack(packed)
            os.utime(path)
        except (OSError, ValueError):
            return None
        return packed

    def write(self, name: str, packed: bytes) -> None:
        """Cache a report. Errors such as a full disk are ignored."""
        with contextlib.suppress(OSError), whole_or_absent(self._path(name)) as temporary:
            temporary.write_bytes(packed)

    def _path(self, name: str) -> Path:
        digest = blake2b(f"{self._key}\0{name}".encode(), digest_size=16).hexdigest()
        return _folder() / f"{digest}.tables"
