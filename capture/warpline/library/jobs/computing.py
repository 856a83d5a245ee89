"""What is computed of one rank, where its file lies; and kept, so that a job that was stopped goes on."""

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

_KEPT_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True)
class RankTables:
    """What became of a rank: its reports as bytes of `pack` by name, or the ``reason`` why there are none."""

    reports: Mapping[str, bytes]
    reason: str = ""


def compute_rank(
    path: str, names: Sequence[str], step: str | None = None, cancelled: IsCancelled = never
) -> RankTables:
    """The reports of those names about a file, from what is kept or computed now; runs wherever the file lies.

    Never raises what a damaged file may be the reason of: the answer has the reason. Raises Cancelled.
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
        # One rank's defect must not take the others' results along.
        kind = type(error).__name__
        return RankTables({}, tr("internal error, please report it: {kind}: {error}", kind=kind, error=error))


def kept_tables(path: str, names: Sequence[str], step: str | None = None) -> RankTables | None:
    """What `compute_rank` would answer without computing anything; None where something is not kept."""
    try:
        kept = _KeptTables(path, step)
    except (OSError, WarplineError):
        return None
    found = {}
    for name in names:
        packed = kept.read(name)
        if packed is None:
            return None
        found[name] = packed
    return RankTables(found)


def forget_old() -> None:
    """Remove what was kept a month ago and not asked for since."""
    oldest = time.time() - _KEPT_SECONDS
    for path in _folder().glob("*"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _compute(path: str, names: Sequence[str], step: str | None, cancelled: IsCancelled) -> dict[str, bytes]:
    kept = _KeptTables(path, step)
    found = {name: packed for name in names if (packed := kept.read(name)) is not None}
    wanted = [name for name in names if name not in found]
    if wanted:
        with (
            fetched(path) if is_url(path) else nullcontext(Path(path)) as local,
            open_path(local, unwatched, cancelled).capture as capture,
            kept_memory(),
        ):
            case = RankCase(View(capture), Options(step=step))
            for name in wanted:
                found[name] = pack(_report(case, name))
                kept.keep(name, found[name])
    return found


def _report(case: RankCase, name: str) -> Report:
    if name in RANK_TABLES:
        return compute_rank_table(case, name)
    return compute_report(case.view.capture, name, options=case.options)


def _folder() -> Path:
    return cache_folder() / "jobs"


class _KeptTables:
    """The tables that are kept of a file, which is looked at once: by what the cache of conversions knows it by (of a
    URL what its storage tells), and the version.

    Raises WarplineError or OSError when the file cannot be read.
    """

    def __init__(self, path: str, step: str | None) -> None:
        what = f"{step or ''} {FORMAT} {__version__}"
        self._key = (
            f"{path}\0{content_key(path)}\0{what}"
            if is_url(path)
            else ConversionCache(_folder()).path_of([Path(path)], what).stem
        )

    def read(self, name: str) -> bytes | None:
        """A report as it was packed; None where it is not kept, or damaged."""
        place = self._place(name)
        try:
            packed = place.read_bytes()
            unpack(packed)
            os.utime(place)
        except (OSError, ValueError):
            return None
        return packed

    def keep(self, name: str, packed: bytes) -> None:
        """Keep a report. That is a service: a full disk is no reason to lose what was computed."""
        with contextlib.suppress(OSError), whole_or_absent(self._place(name)) as making:
            making.write_bytes(packed)

    def _place(self, name: str) -> Path:
        digest = blake2b(f"{self._key}\0{name}".encode(), digest_size=16).hexdigest()
        return _folder() / f"{digest}.tables"
