"""Events of a track by name: a row per kernel name, the copies of each direction. Built when first wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]

_COMMUNICATION = re.compile(
    r"nccl|rccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast.*(kernel|ring)|sendrecv",
    re.IGNORECASE,
)
_TO_DEVICE = {1, 3, 11}
_TO_HOST = {2, 4, 12}


def is_communication(name: str) -> bool:
    """Whether a kernel of this name moves data between GPUs (NCCL, RCCL and their like)."""
    return _COMMUNICATION.search(name) is not None


def copy_family(copy_kind: int) -> str:
    """Colour family of a copy by its direction (`warpline.model.COPY_KINDS`)."""
    if copy_kind in _TO_DEVICE:
        return "copy_to_device"
    return "copy_to_host" if copy_kind in _TO_HOST else "copy_on_device"


@dataclass(eq=False)
class NameGroup:
    """Some events of one track in time order.

    ``rows`` int64 event rows ascending by start. ``start``, ``duration`` are read when first drawn: int64 ns, start
    in capture time; ``prefix`` int64, one longer, is the busy time before each.
    """

    key: str
    title: str
    family: str
    rows: Int64Array
    total_ns: int
    name: int = -1
    _columns: tuple[Int64Array, Int64Array, Int64Array, int] | None = field(default=None, repr=False)

    def columns(self, capture: Capture) -> tuple[Int64Array, Int64Array, Int64Array, int]:
        """Start, duration, prefix sums of duration, and the longest duration."""
        if self._columns is None:
            start, stop = capture.event_times(self.rows)
            duration = stop - start
            prefix = np.concatenate([np.zeros(1, np.int64), np.cumsum(duration)])
            self._columns = (start, duration, prefix, int(duration.max()) if len(duration) else 0)
        return self._columns

    def busy_ns(self, capture: Capture, start_ns: int, stop_ns: int) -> int:
        """Time of these events inside ``[start_ns, stop_ns)``; concurrent ones count each."""
        start, duration, prefix, longest = self.columns(capture)
        low = int(np.searchsorted(start, start_ns - longest, "left"))
        head = int(np.searchsorted(start, start_ns, "left"))
        high = int(np.searchsorted(start, stop_ns, "left"))
        total = int(prefix[high] - prefix[head])
        reach = start[low:head] + duration[low:head]
        total += int(np.maximum(np.minimum(reach, stop_ns) - start_ns, 0).sum())
        tail = int(np.searchsorted(start, max(start_ns, stop_ns - longest), "left"))
        total -= int(np.maximum(start[tail:high] + duration[tail:high] - stop_ns, 0).sum())
        return total


class NameIndex:
    """Groups of the events of tracks, cached by track."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._cache: dict[int, tuple[list[NameGroup], list[NameGroup]]] = {}

    def has(self, track: int) -> bool:
        """Whether a track was indexed."""
        return track in self._cache

    def groups(self, track: int) -> tuple[list[NameGroup], list[NameGroup]]:
        """Kernels (and graphs) by name, longest total first; copies and sets by direction."""
        if track not in self._cache:
            self._cache[track] = self._build(track)
        return self._cache[track]

    def _build(self, track: int) -> tuple[list[NameGroup], list[NameGroup]]:
        capture = self._capture
        part = capture.rows_of_track(track)
        kind = np.asarray(capture.events.kind[part])
        kernels: list[NameGroup] = []
        moves: list[NameGroup] = []
        for name, table in capture.kinds.items():
            rows = np.flatnonzero(kind == table.code) + part.start
            if not len(rows):
                continue
            if name == "memcpy":
                values, valid = table.column("copy_kind") if "copy_kind" in table.attributes else (None, None)
                moves += self._copies(rows, table, values, valid)
            elif name == "memset":
                moves.append(self._group(rows, "kind=memset", tr("Memory sets", "timeline"), "set"))
            elif name not in {"sync", "overhead"}:
                kernels += self._by_name(rows, name, table.spec.color)
        kernels.sort(key=lambda group: -group.total_ns)
        return kernels, moves

    def _group(self, rows: Int64Array, key: str, title: str, family: str, name: int = -1) -> NameGroup:
        duration = np.asarray(self._capture.events.duration[rows])
        ordered = rows[np.argsort(self._capture.events.start[rows], kind="stable")]
        return NameGroup(key, title, family, ordered, int(duration.sum()), name)

    def _by_name(self, rows: Int64Array, kind: str, color: str) -> list[NameGroup]:
        events = self._capture.events
        names = np.asarray(events.name[rows])
        order = np.lexsort((events.start[rows], names))
        rows, names = rows[order], names[order]
        heads = np.flatnonzero(np.r_[True, names[1:] != names[:-1]])
        total = np.add.reduceat(np.asarray(events.duration[rows]), heads)
        tails = np.r_[heads[1:], len(rows)]
        groups = []
        for head, tail, total_ns in zip(heads.tolist(), tails.tolist(), total.tolist(), strict=True):
            name = int(names[head])
            text = self._capture.strings[name]
            family = "communication" if color == "kernel" and is_communication(text) else color
            groups.append(
                NameGroup(
                    f"{kind}={name}",
                    text or tr("(no name)", "timeline"),
                    family,
                    rows[head:tail],
                    total_ns,
                    name,
                )
            )
        return groups

    def _copies(self, rows: Int64Array, table: Any, values: Any, valid: Any) -> list[NameGroup]:
        if values is None:
            return [self._group(rows, "kind=memcpy", tr("Copies", "timeline"), "copy_on_device")]
        index = table.indices_of(rows)
        direction = np.where(valid[index], values[index], 0)
        enum: Mapping[int, str] = next(
            (spec.enum for spec in table.spec.attributes if spec.name == "copy_kind"), {}
        )
        result = []
        for code in np.unique(direction).tolist():
            text = str(enum.get(code, "unknown")).replace(" to ", " → ")
            title = tr("Copies {direction}", "timeline", direction=text)
            result.append(self._group(rows[direction == code], f"copies={code}", title, copy_family(code)))
        return result
