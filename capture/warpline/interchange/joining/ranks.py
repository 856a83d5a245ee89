"""Joins the captures of several ranks into one: each rank becomes a group of tracks with its own aligned clocks.

The captures are copied column by column; nothing is converted again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline import i18n
from warpline.i18n import english, tr
from warpline.interchange.export.capture_exporter import CaptureCopy
from warpline.interchange.export.selection import ExportSelection
from warpline.interchange.framework.importing import MEMORY_BYTES
from warpline.model import KindSpec
from warpline.model.progress import IsCancelled, Progress, check_cancelled, never, unwatched
from warpline.model.track_factory import joined, rank_prefix, rank_track
from warpline.storage import CaptureBuilder

if TYPE_CHECKING:
    from warpline.storage import Capture

_COPYING_SHARE = 0.6
"""Share of the whole time; sorting and the level of detail take the rest."""


@dataclass(frozen=True)
class RankCapture:
    """A rank, its capture and the shift of its clocks: joined time = the rank's time - ``shift_ns``.

    ``method`` is how the shift was found, ``residual_ns`` its largest known error (None: unknown).
    """

    rank: int
    capture: Capture
    shift_ns: int
    method: str
    residual_ns: int | None = None


def join_captures(
    ranks: Sequence[RankCapture],
    out: Path,
    progress: Progress = unwatched,
    cancelled: IsCancelled = never,
) -> Path:
    """Write the captures as one. Raises StorageError when it cannot be written, Cancelled."""
    total = max(sum(len(rank.capture.events) for rank in ranks), 1)
    done = 0

    def counter(name: str) -> Callable[[int], None]:
        def count(events: int) -> None:
            nonlocal done
            done += events
            progress(_COPYING_SHARE * done / total, tr("reading {name}", name=name))
            check_cancelled(cancelled)

        return count

    with RanksBuilder(out) as builder:
        for rank in ranks:
            builder.begin_rank(rank)
            CaptureCopy(rank.capture, builder, ExportSelection()).run(counter(rank.capture.path.name))
        builder.end_ranks()
        return builder.finish(
            lambda fraction, text: progress(_COPYING_SHARE + (1 - _COPYING_SHARE) * fraction, text), cancelled
        )


class RanksBuilder(CaptureBuilder):
    """A builder that takes one rank's capture after another, each with indexes from 0."""

    def __init__(self, out: Path) -> None:
        super().__init__(out, memory_budget_bytes=MEMORY_BYTES)
        self._current: RankCapture | None = None
        self._first = (0, 0, 0)
        self._group = -1
        self._first_meta: dict[str, Any] | None = None
        self._files: list[dict[str, str]] = []
        self._ranks_by: dict[str, list[int]] = {}

    def begin_rank(self, rank: RankCapture) -> None:
        """Everything added from now on belongs to this rank."""
        if self._current is not None and self._first_meta is None:
            self._first_meta = dict(self.meta)
        self._first = (len(self._clocks), len(self._processes), len(self._threads))
        self._current = rank
        self._group = -1
        self._ranks_by.setdefault(rank.method, []).append(rank.rank)
        self._files.append({"file": rank.capture.path.name, "format": "warpline"})

    def end_ranks(self) -> None:
        """Call after the last rank. The metadata is the first rank's, with the list of input files."""
        if self._first_meta is not None:
            self.meta.clear()
            self.meta.update(self._first_meta)
        self.meta.pop("exported_from", None)
        self.meta["imported_from"] = self._files
        if self._ranks_by:
            self.meta["alignment"] = {
                "method": ", ".join(self._ranks_by),
                "reason": _alignment_text(self._ranks_by) if len(self._ranks_by) > 1 else "",
            }

    @property
    def _rank(self) -> RankCapture:
        assert self._current is not None, "begin_rank comes first"
        return self._current

    def add_clock(
        self, name: str, offset_ns: int = 0, method: str = "", residual_ns: int | None = None
    ) -> int:
        """See `CaptureBuilder`; shifted with its rank."""
        rank = self._current
        if rank is None:
            return super().add_clock(name, offset_ns, method, residual_ns)
        name = joined(rank_track(rank.rank).title, name)
        residual = residual_ns if rank.residual_ns is None else rank.residual_ns
        return super().add_clock(name, offset_ns + rank.shift_ns, rank.method or method, residual)

    def set_clock_offset(
        self, clock: int, offset_ns: int, *, method: str | None = None, residual_ns: int | None = None
    ) -> None:
        """See `CaptureBuilder`; the first clock of a rank becomes a new clock, used by its group of tracks."""
        rank = self._rank
        own = self.add_clock(rank.capture.clocks[clock].name, offset_ns, method or "", residual_ns)
        if clock == 0:
            self._group = super().track(
                rank_track(rank.rank).uri,
                title=rank_track(rank.rank).title,
                role="rank",
                rank=rank.rank,
                clock=own,
                sort_key=rank.rank,
            )

    def add_process(self, pid: int, **fields: Any) -> int:
        """See `CaptureBuilder`; with the rank, times shifted."""
        rank = self._rank
        fields["rank"] = rank.rank
        for end in ("start_ns", "stop_ns"):
            if fields.get(end) is not None:
                fields[end] -= rank.shift_ns
        return super().add_process(pid, **fields)

    def add_thread(self, process: int, tid: int, **fields: Any) -> int:
        """See `CaptureBuilder`."""
        return super().add_thread(process + self._first[1], tid, **fields)

    def add_device(self, index: int, name: str, **fields: Any) -> int:
        """See `CaptureBuilder`; with the rank."""
        return super().add_device(index, name, **(fields | {"rank": self._rank.rank}))

    def add_source(self, name: str, enabled: bool, reason: str = "", lost: int = 0, remedy: str = "") -> None:
        """See `CaptureBuilder`; with the rank in its name."""
        named = joined(rank_track(self._rank.rank).title, name)
        super().add_source(named, enabled, reason, lost, remedy)

    def add_kind(self, spec: KindSpec, *, anew: bool = False) -> None:
        """See `CaptureBuilder`; ranks share kinds."""
        is_known = spec.name in self._kinds and self._kinds[spec.name].count > 0
        super().add_kind(spec, anew=anew and not is_known)

    def add_pause(self, start_ns: int, stop_ns: int) -> None:
        """Ignored: a pause of one rank is not a pause of the job."""

    def set_span(self, start_ns: int, stop_ns: int) -> None:
        """See `CaptureBuilder`; from the start of the first rank to the end of the last."""
        shift = self._rank.shift_ns
        low, high = self.span or (start_ns - shift, stop_ns - shift)
        super().set_span(min(low, start_ns - shift), max(high, stop_ns - shift))

    def track(self, uri: str, **fields: Any) -> int:
        """See `CaptureBuilder`; below the rank's group."""
        clocks, processes, threads = self._first
        for name, first in (("clock", clocks), ("process", processes), ("thread", threads)):
            if fields.get(name) is not None:
                fields[name] += first
        if fields.get("parent") is None:
            fields["parent"] = self._group
        fields["rank"] = self._rank.rank
        return super().track(rank_prefix(self._rank.rank) + uri, **fields)


def _alignment_text(ranks_by: Mapping[str, Sequence[int]]) -> str:
    """Which ranks were aligned by which method (English)."""
    ways = []
    for method, ranks in ranks_by.items():
        named = ", ".join(map(str, ranks))
        if method == "collectives":
            ways.append(english("ranks aligned by common collectives: {ranks}", ranks=named))
        elif method == "pings":
            ways.append(english("ranks aligned by pings of their machines: {ranks}", ranks=named))
        elif method == "steps":
            ways.append(english("ranks aligned by common steps: {ranks}", ranks=named))
        else:
            ways.append(
                english("ranks with nothing in common, aligned at their first events: {ranks}", ranks=named)
            )
    return i18n.joined("; ", ways)
