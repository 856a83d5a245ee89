"""Events of Chrome's older tracing inside track events: asynchronous ones, complete ones, phases of threads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.event_sink import EventSink, masked
from warpline.interchange.framework.messages.message_tables import MISSING
from warpline.interchange.framework.pairing import match_borders
from warpline.interchange.perfetto.described_tracks import DescribedTracks
from warpline.interchange.perfetto.sequences import Packets
from warpline.model import Flag

Int64Array = npt.NDArray[np.int64]

_EVENT = "record.event"
_BEGIN, _END, _INSTANT = 1, 2, 3
_ASYNC = {ord(phase): action for phase, action in zip("bneSTpF", (0, 2, 1, 0, 2, 2, 1), strict=True)}
_THREAD = {ord("B"): _BEGIN, ord("E"): _END, ord("I"): _INSTANT, ord("i"): _INSTANT, ord("R"): _INSTANT}
_OLDER = frozenset(map(ord, "STpF"))


class OlderEvents:
    """Collects older events; `finish` adds those that span pieces."""

    def __init__(self, sink: EventSink, tree: DescribedTracks) -> None:
        self._sink = sink
        self._builder = sink.builder
        self._tree = tree
        self._async: list[tuple[int, ...]] = []
        """Key, action, name, track, time, category, payload, serial."""
        self.events_of_flows: list[tuple[Int64Array, Int64Array]] = []
        self.lone_ends = self.unclosed = 0
        self.left_out: Counter[str] = Counter()

    def add(
        self,
        piece: Packets,
        phase: Int64Array,
        columns: dict[str, Int64Array],
        usable: npt.NDArray[np.bool_],
    ) -> None:
        """Adds the older events of a piece; those that are like newer ones get their ``type`` in the columns."""
        tables = piece.tables
        legacy = tables.parent(f"{_EVENT}.legacy")
        rows = np.flatnonzero(tables[f"{_EVENT}.legacy.phase"] != MISSING)
        if not len(rows):
            return
        place = f"{_EVENT}.legacy."
        identities = {name: tables[place + name] for name in ("global_id", "local_id", "unscoped_id")}
        for row in rows.tolist():
            event = int(legacy[row])
            kind = int(phase[event])
            if kind in _THREAD:
                columns["type"][event] = _THREAD[kind]
            elif kind == ord("X") and usable[event]:
                self._add_complete(event, int(tables[f"{place}duration_us"][row]), columns)
            elif kind in _ASYNC and usable[event]:
                sort, identity = next(
                    (
                        (name, int(values[row]))
                        for name, values in identities.items()
                        if values[row] != MISSING
                    ),
                    ("", 0),
                )
                name = int(columns["name"][event])
                owner = self._tree.owner(int(columns["track"][event])) if sort == "local_id" else None
                process = -1 if owner is None else (owner.process or owner).index
                scope = tables.text(int(tables[f"{place}id_scope"][row]))
                key = (
                    sort,
                    identity,
                    scope,
                    process,
                    int(columns["category"][event]),
                    name if kind in _OLDER else -1,
                )
                values = (
                    columns[column][event] for column in ("track", "time", "category", "payload", "serial")
                )
                self._async.append((self._builder.string(str(key)), _ASYNC[kind], name, *map(int, values)))
            else:
                self.left_out[english("older events of phase {phase}", phase=chr(kind & 0x7F))] += 1

    def _add_complete(self, event: int, duration_us: int, columns: dict[str, Int64Array]) -> None:
        start = columns["time"][event : event + 1]
        duration = max(duration_us, 0) * 1000 if abs(duration_us) < 1 << 50 else 0
        ids = self._sink.add(
            self._tree.ranges(int(columns["track"][event])),
            "range",
            start,
            start + duration,
            int(columns["name"][event]),
            attributes=texts_of(
                columns["category"][event : event + 1], columns["payload"][event : event + 1]
            ),
        )
        self.events_of_flows.append((columns["serial"][event : event + 1], ids))

    def finish(self) -> None:
        """Adds the asynchronous ranges."""
        if not self._async:
            return
        key, action, name, track, time, category, payload, serial = np.array(self._async, np.int64).T
        self._async.clear()
        borders = np.flatnonzero(action < 2)
        names = np.where((action[borders] == 1) & (name[borders] == 0), -1, name[borders])
        pairs = match_borders(key[borders], time[borders], action[borders] == 0, names, strict=True)
        opens = borders[pairs.begin]
        closes = np.where(pairs.end >= 0, borders[np.maximum(pairs.end, 0)], -1)
        self.lone_ends += pairs.lone_ends
        self.unclosed += int((closes < 0).sum())
        moments = np.flatnonzero(action == 2)
        rows = np.r_[opens, moments]
        ends = np.r_[np.where(closes < 0, time[opens], time[np.maximum(closes, 0)]), time[moments]]
        flags = np.r_[np.where(closes < 0, Flag.CUT_END, 0), np.full(len(moments), Flag.INSTANT)].astype(
            np.uint8
        )
        places: dict[tuple[int, int], int] = {}
        tracks = np.empty(len(rows), np.int64)
        for index, row in enumerate(rows.tolist()):
            where = int(track[row]), int(category[row])
            if where not in places:
                owner = self._tree.owner(where[0])
                process = (owner.process or owner) if owner is not None else self._sink.process("unknown")
                spec = self._sink.specs.process_async(process.uri, self._builder.text(where[1]))
                places[where] = self._sink.track(spec, row=process)
            tracks[index] = places[where]
        ids = self._sink.add(
            tracks,
            "range",
            time[rows],
            ends,
            name[rows].astype(np.uint32),
            flags=flags,
            attributes=texts_of(category[rows], payload[rows]),
        )
        self.events_of_flows.append((serial[rows], ids))


def texts_of(category: Int64Array, payload: Int64Array) -> dict[str, Any]:
    """Category and payload, string ids of which 0 is none, as attributes."""
    return {
        "category": masked(category, category == 0).astype(np.uint32),
        "payload": masked(payload, payload == 0).astype(np.uint32),
    }
