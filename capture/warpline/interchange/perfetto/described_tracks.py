"""The tracks that a Perfetto trace describes, and where they are in a capture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.interchange.framework.messages.message_tables import MISSING
from warpline.interchange.perfetto.sequences import Packets
from warpline.model.track_factory import TrackSpec

Int64Array = npt.NDArray[np.int64]

THREAD_TIME = 1
"""Type of the counters that hold the time of a thread's own clock."""
_UNITS = {1: "ns", 2: "", 3: "bytes"}
_COUNTER_FIELDS = ("type", "unit", "multiplier", "incremental", "unit_name")
_DEEPEST = 32


@dataclass(kw_only=True)
class Descriptor:
    """A described track; fields are None or empty where the trace has none."""

    uuid: int
    parent: int = 0
    name: str = ""
    pid: int | None = None
    tid: int | None = None
    is_counter: bool = False
    counter_type: int = 0
    unit: str = ""
    multiplier: int = 1
    is_incremental: bool = False
    total: float = 0.0


class DescribedTracks:
    """All described tracks of a trace. Events refer to them by UUID, before or after they are described."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._known: dict[int, Descriptor] = {}
        self._codes: dict[int, int] = {}
        self._uuids: list[int] = []
        self._tracks: dict[tuple[int, str], int] = {}
        self._names: dict[tuple[int, int | None], str] = {}

    def read(self, piece: Packets) -> None:
        """Reads the descriptors of a piece."""
        tables = piece.tables
        names = ("name", "static_name", "atrace_name")
        rows: list[Descriptor] = []
        for uuid, parent, *texts in zip(
            tables["record.track.uuid"].tolist(),
            tables["record.track.parent"].tolist(),
            *(tables[f"record.track.{name}"].tolist() for name in names),
            strict=True,
        ):
            entry = self._known.setdefault(uuid, Descriptor(uuid=uuid))
            entry.parent = parent if parent != MISSING else entry.parent
            entry.name = next((tables.text(code) for code in texts if code >= 0), entry.name)
            rows.append(entry)
        for table, sort in (("process", False), ("thread", True)):
            place = f"record.track.{table}"
            tids = tables[f"{place}.tid"].tolist() if sort else [None] * tables.count(place)
            for parent, pid, tid, name in zip(
                tables.parent(place).tolist(),
                tables[f"{place}.pid"].tolist(),
                tids,
                tables[f"{place}.name"].tolist(),
                strict=True,
            ):
                rows[parent].pid = pid if pid != MISSING else 0
                rows[parent].tid = tid
                if name >= 0:
                    self.name(rows[parent].pid or 0, tid, tables.text(name))
        place = "record.track.counter"
        for parent, kind, unit, multiplier, incremental, text in zip(
            tables.parent(place).tolist(),
            *(
                tables[f"{place}.{name}"].tolist()
                for name in ("type", "unit", "multiplier", "incremental", "unit_name")
            ),
            strict=True,
        ):
            row = rows[parent]
            row.is_counter, row.counter_type, row.is_incremental = True, max(kind, 0), incremental > 0
            row.unit = tables.text(text) or _UNITS.get(unit, "")
            row.multiplier = multiplier if multiplier not in (MISSING, 0) else 1

    def name(self, pid: int, tid: int | None, name: str) -> None:
        """Note the name of a process (``tid`` None) or thread, which may have events already."""
        if name:
            self._names[pid, tid] = name

    def name_if_unknown(self, pid: int, name: str) -> None:
        """Note the name of a process unless the trace has another one."""
        self._names.setdefault((pid, None), name)

    def set_names(self) -> None:
        """Give processes and threads the names that the trace had for them."""
        for (pid, tid), name in self._names.items():
            self._sink.rename(pid, tid, name)

    def codes(self, uuids: Int64Array) -> Int64Array:
        """Small numbers for tracks; `MISSING` becomes -1."""
        distinct, places = np.unique(uuids, return_inverse=True)
        return np.array([self._code(uuid) for uuid in distinct.tolist()], np.int64)[places.reshape(-1)]

    def _code(self, uuid: int) -> int:
        if uuid == MISSING:
            return -1
        code = self._codes.get(uuid)
        if code is None:
            code = self._codes[uuid] = len(self._uuids)
            self._uuids.append(uuid)
        return code

    def of_code(self, code: int) -> Descriptor:
        """The descriptor of a track, empty if the trace has none."""
        uuid = self._uuids[code] if code >= 0 else 0
        return self._known.get(uuid) or Descriptor(uuid=uuid)

    def descriptor(self, uuid: int) -> Descriptor | None:
        """The descriptor with a UUID."""
        return self._known.get(uuid)

    def owner(self, code: int) -> Holder | None:
        """The thread or process that a track belongs to."""
        entry: Descriptor | None = self.of_code(code)
        for _ in range(_DEEPEST):
            if entry is None:
                break
            if entry.pid is not None:
                return self.holder(entry.pid, entry.tid)
            entry = self._known.get(entry.parent) if entry.parent != entry.uuid else None
        return None

    def holder(self, pid: int, tid: int | None) -> Holder:
        """A process, or a thread of it."""
        name = self._names.get((pid, None), "")
        process = self._sink.process(pid, name)
        if tid is None:
            return process
        return self._sink.thread(pid, tid, self._names.get((pid, tid), ""), is_first=tid == pid)

    def ranges(self, code: int, name: str = "") -> int:
        """The capture's track for the slices of a track; ``name`` is for a track that has none.

        Tracks of one name and owner share a track, as in Perfetto's interface.
        """
        return self._track(code, "ranges", lambda entry, number: self._make_ranges(entry, number, name))

    def _track(self, code: int, sort: str, make: Callable[[Descriptor, int], int]) -> int:
        track = self._tracks.get((code, sort))
        if track is None:
            track = self._tracks[code, sort] = make(self.of_code(code), code)
        return track

    def _make_ranges(self, entry: Descriptor, code: int, name: str) -> int:
        specs = self._sink.specs
        owner = self.owner(code)
        if owner is None and entry.uuid == 0 and not entry.name:
            return self._sink.track(specs.instants())
        if entry.tid is not None and owner is not None:
            return self._sink.thread_track(owner, "ranges")
        if entry.pid is not None and owner is not None:
            return self._sink.track(specs.process_async(owner.uri, ""), row=owner)
        title = entry.name or name or english("Track {number}", number=code)
        return self._below(owner, f"tracks/{self._sink.specs.style.segment(title)}", title, "ranges")

    def _below(self, owner: Holder | None, path: str, name: str, role: str) -> int:
        base = owner.uri if owner is not None else f"{self._sink.specs.prefix}perfetto"
        spec = TrackSpec(uri=f"{base}/{path}", title=clean_text(name), role=role, sort_key=60)
        return self._sink.track(spec, row=owner)

    def add_counter(self, code: int, times: Int64Array, values: npt.NDArray[np.float64]) -> None:
        """Adds values of a counter track, in order of time."""
        entry = self.of_code(code)
        values = values * entry.multiplier
        if entry.is_incremental:
            values = entry.total + np.cumsum(values)
            entry.total = float(values[-1])
        name = entry.name or f"counter {code}"
        track = self._track(
            code,
            "counter",
            lambda _entry, number: self._below(self.owner(number), f"counters/{number}", name, "counter"),
        )
        self._sink.add_counter(track, name, entry.unit, times, values)

    def thread_times(self, uuid: int, differences: Int64Array) -> Int64Array:
        """Values of a counter of thread time, ns."""
        entry = self._known[uuid]
        values: Int64Array = differences * entry.multiplier
        if entry.is_incremental:
            values = int(entry.total) + np.cumsum(values)
            entry.total = float(values[-1])
        return values
