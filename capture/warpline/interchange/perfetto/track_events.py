"""Track events: slices, instants, counters, flows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.event_sink import EventSink, masked
from warpline.interchange.framework.messages.message_tables import MISSING
from warpline.interchange.framework.pairing import match_borders, match_flows
from warpline.interchange.perfetto.annotations import Annotations
from warpline.interchange.perfetto.described_tracks import THREAD_TIME, DescribedTracks
from warpline.interchange.perfetto.older_events import OlderEvents, texts_of
from warpline.interchange.perfetto.sequences import Packets, Sequences
from warpline.model import AttributeSpec, Flag, KindSpec, links

Int64Array = npt.NDArray[np.int64]

_EVENT = "record.event"
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_FLUSH_ROWS = 1 << 18
"""Number of borders held before pairs are added."""
_COLUMNS = ("track", "time", "type", "name", "category", "payload", "thread_time", "serial")


class TrackEvents:
    """Collects the track events of a trace and adds them as ranges."""

    def __init__(self, sink: EventSink, sequences: Sequences, tree: DescribedTracks) -> None:
        self._sink = sink
        self._builder = sink.builder
        self._sequences = sequences
        self._tree = tree
        self._pending: list[dict[str, Int64Array]] = []
        self._pending_rows = 0
        self._annotations = Annotations(sink.builder, sequences)
        self._older = OlderEvents(sink, tree)
        self._flows: list[tuple[Int64Array, Int64Array, Int64Array, Int64Array]] = []
        """Flow, serial number of the event, time, phase."""
        self._events_of_flows: list[tuple[Int64Array, Int64Array]] = []
        self._serial = 0
        self._lone_ends = self._unclosed = self._renamed = 0
        self._without_time = 0
        self._left_out: Counter[str] = Counter()
        self._names: dict[str, int] = {}
        self._builder.add_kind(
            KindSpec(
                "range", "Range", "range", "range",
                (AttributeSpec("thread_duration_ns", "int64", "Duration by the thread's clock", "ns"),),
            )
        )  # fmt: skip

    def add(self, piece: Packets) -> None:
        """Adds the events of a piece."""
        tables = piece.tables
        for kind in ("category", "event", "annotation", "string"):
            self._sequences.intern(piece, kind, lambda code: self._string(tables.text(code)))
        count = tables.count(_EVENT)
        if not count:
            return
        packets = tables.parent(_EVENT)
        state, time = piece.state[packets], piece.time[packets]
        kinds = tables[f"{_EVENT}.type"]
        own = tables[f"{_EVENT}.track"]
        default = self._sequences.defaults("track", state)
        phase = np.full(count, -1)
        legacy = tables.parent(f"{_EVENT}.legacy")
        phases = tables[f"{_EVENT}.legacy.phase"]
        phase[legacy] = np.where(phases == MISSING, -1, phases)
        track = np.where((own == MISSING) | ((own == 0) & (phase >= 0)), default, own)
        columns = {
            "track": self._tree.codes(np.where(track == MISSING, 0, track)),
            "time": time,
            "type": np.where(kinds == MISSING, 0, kinds),
            "name": self._event_names(piece, state),
            "category": self._categories(piece, state, count),
            "payload": self._annotations.payloads(piece, state, count),
            "thread_time": np.full(count, MISSING),
            "serial": np.arange(self._serial, self._serial + count),
        }
        self._serial += count
        self._add_extra_counters(piece, state, columns)
        usable = time != MISSING
        self._without_time += int((~usable).sum())
        self._older.add(piece, phase, columns, usable)
        self._add_counters(piece, columns, usable)
        self._add_flows(piece, columns)
        keep = usable & np.isin(columns["type"], (_BEGIN, _END, _INSTANT))
        if keep.any():
            self._pending.append({name: columns[name][keep] for name in _COLUMNS})
            self._pending_rows += int(keep.sum())
            if self._pending_rows >= _FLUSH_ROWS:
                self._flush()

    def _string(self, text: str) -> int:
        code = self._names.get(text)
        if code is None:
            code = self._names[text] = self._builder.string(clean_text(text))
        return code

    def _text_ids(self, piece: Packets, codes: Int64Array) -> Int64Array:
        """String ids of the text codes of a piece, 0 for `MISSING`."""
        distinct, places = np.unique(codes, return_inverse=True)
        ids = [self._string(piece.tables.text(code)) if code >= 0 else 0 for code in distinct.tolist()]
        return np.array(ids, np.int64)[places.reshape(-1)]

    def _event_names(self, piece: Packets, state: Int64Array) -> Int64Array:
        tables = piece.tables
        interned = self._sequences.lookup("event", state, tables[f"{_EVENT}.name_iid"])
        direct = self._text_ids(piece, tables[f"{_EVENT}.name"])
        return np.where(direct != 0, direct, interned)

    def _categories(self, piece: Packets, state: Int64Array, count: int) -> Int64Array:
        tables = piece.tables
        result = np.zeros(count, np.int64)
        for table, ids in (
            ("category", self._text_ids(piece, tables[f"{_EVENT}.category.value"])),
            (
                "category_iid",
                self._sequences.lookup(
                    "category",
                    state[tables.parent(f"{_EVENT}.category_iid")],
                    tables[f"{_EVENT}.category_iid.value"],
                ),
            ),
        ):
            parents = tables.parent(f"{_EVENT}.{table}")
            # Several categories of an event become one text.
            repeated = np.r_[False, parents[1:] == parents[:-1]] if len(parents) else np.empty(0, bool)
            result[parents[~repeated]] = ids[~repeated]
            for row in np.flatnonzero(repeated).tolist():
                texts = (self._builder.text(int(result[parents[row]])), self._builder.text(int(ids[row])))
                result[parents[row]] = self._string(",".join(texts))
        return result

    # Counters

    def _add_counters(
        self, piece: Packets, columns: dict[str, Int64Array], usable: npt.NDArray[np.bool_]
    ) -> None:
        tables = piece.tables
        chosen = np.flatnonzero(usable & (columns["type"] == _COUNTER))
        if not len(chosen):
            return
        whole = tables[f"{_EVENT}.value"][chosen]
        real = tables[f"{_EVENT}.double_value"][chosen]
        values = np.where(
            real != MISSING, real.view(np.float64), np.where(whole == MISSING, 0, whole).astype(np.float64)
        )
        track = columns["track"][chosen]
        for code in np.unique(track).tolist():
            index = np.flatnonzero(track == code)
            self._tree.add_counter(code, columns["time"][chosen][index], values[index])

    def _add_extra_counters(self, piece: Packets, state: Int64Array, columns: dict[str, Int64Array]) -> None:
        """Values of more counters beside an event: the thread's own time, and others."""
        tables = piece.tables
        parents = tables.parent(f"{_EVENT}.extra_value")
        if not len(parents):
            return
        values = tables[f"{_EVENT}.extra_value.value"]
        heads = np.r_[True, parents[1:] != parents[:-1]]
        place = np.arange(len(parents)) - np.maximum.accumulate(np.where(heads, np.arange(len(parents)), 0))
        own: dict[int, list[int]] = {}
        for event, uuid in zip(
            tables.parent(f"{_EVENT}.extra_track").tolist(),
            tables[f"{_EVENT}.extra_track.value"].tolist(),
            strict=True,
        ):
            own.setdefault(event, []).append(uuid)
        states = state[parents]
        uuids = np.full(len(parents), MISSING)
        for number in np.unique(states).tolist():
            of_state = np.array([*self._sequences.default("extra", number, []), MISSING], np.int64)
            chosen = states == number
            uuids[chosen] = of_state[np.minimum(place[chosen], len(of_state) - 1)]
        for row in np.flatnonzero(np.isin(parents, list(own))).tolist() if own else ():
            tracks = own[int(parents[row])]
            uuids[row] = tracks[place[row]] if place[row] < len(tracks) else MISSING
        for uuid in np.unique(uuids).tolist():
            entry = self._tree.descriptor(uuid)
            index = np.flatnonzero(uuids == uuid)
            if entry is None:
                self._left_out[english("values of counters without a description")] += len(index)
            elif entry.counter_type == THREAD_TIME:
                columns["thread_time"][parents[index]] = self._tree.thread_times(uuid, values[index])
            else:
                times = columns["time"][parents[index]]
                known = times != MISSING
                if known.any():
                    code = int(self._tree.codes(np.array([uuid]))[0])
                    self._tree.add_counter(code, times[known], values[index][known].astype(np.float64))

    # Flows

    def _add_flows(self, piece: Packets, columns: dict[str, Int64Array]) -> None:
        tables = piece.tables
        for table, phase in (("flow", 1), ("old_flow", 1), ("end_flow", 2), ("old_end_flow", 2)):
            self._keep_flows(
                tables.parent(f"{_EVENT}.{table}"), tables[f"{_EVENT}.{table}.value"], phase, columns
            )
        direction = tables[f"{_EVENT}.legacy.flow_direction"]
        bind = tables[f"{_EVENT}.legacy.bind_id"]
        chosen = np.flatnonzero((direction > 0) & (bind != MISSING))
        phases = np.where(direction[chosen] == 2, 0, 1)
        self._keep_flows(tables.parent(f"{_EVENT}.legacy")[chosen], bind[chosen], phases, columns)

    def _keep_flows(
        self, events: Int64Array, flows: Int64Array, phase: Any, columns: dict[str, Int64Array]
    ) -> None:
        if len(events):
            phases = np.broadcast_to(np.asarray(phase, np.int64), len(events))
            self._flows.append((flows, columns["serial"][events], columns["time"][events], phases))

    # Adding ranges

    def _flush(self, *, is_last: bool = False) -> None:
        if not self._pending:
            return
        columns = {name: np.concatenate([part[name] for part in self._pending]) for name in _COLUMNS}
        self._pending.clear()
        borders = np.flatnonzero(columns["type"] != _INSTANT)
        begin = columns["type"][borders] == _BEGIN
        names = columns["name"][borders]
        pairs = match_borders(
            columns["track"][borders],
            columns["time"][borders],
            begin,
            np.where(begin | (names != 0), names, -1),
        )
        self._lone_ends += pairs.lone_ends
        self._renamed += pairs.renamed
        opens = borders[pairs.begin]
        closes = np.where(pairs.end >= 0, borders[np.maximum(pairs.end, 0)], -1)
        is_open = closes < 0
        if not is_last:
            kept = np.sort(opens[is_open])
            self._pending = [{name: values[kept] for name, values in columns.items()}] if len(kept) else []
            opens, closes = opens[~is_open], closes[~is_open]
            is_open = closes < 0
        self._pending_rows = sum(len(part["time"]) for part in self._pending)
        self._unclosed += int(is_open.sum())
        last = np.zeros(int(columns["track"].max(initial=0)) + 1, np.int64) + MISSING
        np.maximum.at(last, columns["track"], columns["time"])
        ends = np.where(is_open, last[columns["track"][opens]], columns["time"][np.maximum(closes, 0)])
        self._add_ranges(columns, opens, ends, np.where(is_open, Flag.CUT_END, 0).astype(np.uint8), closes)
        moments = np.flatnonzero(columns["type"] == _INSTANT)
        flags = np.full(len(moments), Flag.INSTANT, np.uint8)
        self._add_ranges(columns, moments, columns["time"][moments], flags, np.full(len(moments), -1))

    def _add_ranges(
        self,
        columns: dict[str, Int64Array],
        rows: Int64Array,
        ends: Int64Array,
        flags: npt.NDArray[np.uint8],
        closes: Int64Array,
    ) -> None:
        if not len(rows):
            return
        codes, firsts, places = np.unique(columns["track"][rows], return_index=True, return_inverse=True)
        titles = [self._builder.text(name) for name in columns["name"][rows[firsts]].tolist()]
        known = [self._tree.ranges(code, title) for code, title in zip(codes.tolist(), titles, strict=True)]
        tracks = np.array(known, np.int64)[places.reshape(-1)]
        payload = columns["payload"][rows]
        closed = closes >= 0
        payload = np.where((payload == 0) & closed, columns["payload"][np.maximum(closes, 0)], payload)
        first = columns["thread_time"][rows]
        second = np.where(closed, columns["thread_time"][np.maximum(closes, 0)], MISSING)
        unknown = (first == MISSING) | (second == MISSING) | (second < first)
        attributes = texts_of(columns["category"][rows], payload)
        if not unknown.all():
            attributes["thread_duration_ns"] = masked(second - np.where(unknown, 0, first), unknown)
        ids = self._sink.add(
            tracks,
            "range",
            columns["time"][rows],
            ends,
            columns["name"][rows].astype(np.uint32),
            flags=flags,
            attributes=attributes,
        )
        if self._flows:
            self._events_of_flows.append((columns["serial"][rows], ids))
            self._events_of_flows.append((columns["serial"][closes[closed]], ids[closed]))

    def finish(self) -> None:
        """Adds what is still open, and the arrows; says what was left out."""
        self._flush(is_last=True)
        self._older.finish()
        self._events_of_flows += self._older.events_of_flows
        self._link()
        self._builder.add_skipped(
            english("ends of slices"),
            self._lone_ends + self._older.lone_ends,
            english("no slice was open on the track"),
        )
        self._builder.add_skipped(
            english("track events without a time"), self._without_time, english("they cannot be drawn")
        )
        for text, count in (self._left_out + self._older.left_out).items():
            self._builder.add_skipped(text, count, english("Warpline does not read them yet"))
        if unclosed := self._unclosed + self._older.unclosed:
            self._builder.add_warning(
                english(
                    "{count:,} slices have no end; they are drawn until the end of their track.",
                    count=unclosed,
                )
            )

    def _link(self) -> None:
        if not self._flows:
            return
        flow, serial, time, phase = (np.concatenate(column) for column in zip(*self._flows, strict=True))
        events = np.full(self._serial, -1, np.int64)
        for serials, ids in self._events_of_flows:
            events[serials] = ids
        event = events[serial]
        usable = (event >= 0) & (time != MISSING)
        flow, time, phase, event = flow[usable], time[usable], phase[usable].astype(np.uint8), event[usable]
        found = match_flows(flow, time, phase)
        source, target = event[found.source], event[found.target]
        different = source != target
        if different.any():
            self._builder.add_links(links.FLOW, source[different], target[different])
        self._builder.add_skipped(
            english("points of flows"),
            found.loose + int((~usable).sum()),
            english("no other event has the same flow"),
        )
