"""State of packet sequences: interned names, defaults, and the clocks of their times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.messages.message_tables import MISSING, Tables, count_or_zero

Int64Array = npt.NDArray[np.int64]

REALTIME, BOOTTIME = 1, 6
_OWN_CLOCKS = range(64, 128)
"""Clocks of these numbers belong to a sequence."""
_CLEARED = 1
"""The bit of ``sequence_flags`` that starts a new state."""
_MOST_SHIFT = 1 << 61


@dataclass(kw_only=True)
class ClockState:
    """A clock: its unit, whether its packets hold differences, the last value, and its readings (own, trace) in ns."""

    unit_ns: int = 1
    is_incremental: bool = False
    value: int = 0
    own: list[int] = field(default_factory=list)
    trace: list[int] = field(default_factory=list)


@dataclass(kw_only=True)
class Packets:
    """Decoded packets with what their sequences add: ``time`` in ns of the trace clock, `MISSING` without a time.

    ``state`` numbers the sequence's state that a packet belongs to; names are interned by state.
    """

    tables: Tables
    sequence: Int64Array
    state: Int64Array
    time: Int64Array


class Sequences:
    """Follows all sequences of a trace, piece by piece."""

    def __init__(self) -> None:
        self.primary = BOOTTIME
        self.utc_offset_ns: int | None = None
        self.unknown_clocks: Counter[int] = Counter()
        self.dropped = 0
        self._states: dict[int, int] = {}
        self._state_count = 0
        self._names: dict[tuple[str, int, int], Any] = {}
        self._defaults: dict[tuple[str, int], Any] = {}
        self._clocks: dict[tuple[int, int], ClockState] = {}

    def piece(self, tables: Tables) -> Packets:
        """The packets of a piece of the file, which comes right after the piece before."""
        sequence = count_or_zero(tables["record.sequence"])
        state = self._state_of(tables, sequence)
        self.dropped += int((tables["record.dropped"] > 0).sum())
        piece = Packets(tables=tables, sequence=sequence, state=state, time=np.empty(0, np.int64))
        self._read_defaults(piece)
        piece.time = self._times(piece)
        return piece

    def _state_of(self, tables: Tables, sequence: Int64Array) -> Int64Array:
        flags = count_or_zero(tables["record.flags"]) & _CLEARED
        begins = np.flatnonzero((flags != 0) | (tables["record.cleared"] > 0))
        distinct, codes = np.unique(sequence, return_inverse=True)
        codes = codes.reshape(-1)
        current = np.array([self._state(number) for number in distinct.tolist()], np.int64)
        state = current[codes]
        for place in begins.tolist():
            number = int(sequence[place])
            self._state_count += 1
            self._states[number] = self._state_count
            rest = state[place:]
            rest[codes[place:] == codes[place]] = self._state_count
        return state

    def _state(self, sequence: int) -> int:
        if sequence not in self._states:
            self._state_count += 1
            self._states[sequence] = self._state_count
        return self._states[sequence]

    # Defaults and interned names

    def _read_defaults(self, piece: Packets) -> None:
        tables = piece.tables
        state = piece.state[tables.parent("record.defaults")]
        for number, clock in zip(state.tolist(), tables["record.defaults.clock"].tolist(), strict=True):
            if clock != MISSING:
                self._defaults["clock", number] = clock
        inner = tables.parent("record.defaults.track_event")
        for number, track in zip(
            state[inner].tolist(), tables["record.defaults.track_event.track"].tolist(), strict=True
        ):
            if track != MISSING:
                self._defaults["track", number] = track
            self._defaults["extra", number] = []
        extra = tables.parent("record.defaults.track_event.extra_track")
        for number, track in zip(
            state[inner[extra]].tolist(),
            tables["record.defaults.track_event.extra_track.value"].tolist(),
            strict=True,
        ):
            self._defaults["extra", number].append(track)

    def default(self, what: str, state: int, otherwise: Any = MISSING) -> Any:
        """A default of a state: ``clock``, ``track`` or ``extra``, the tracks of additional counters."""
        return self._defaults.get((what, state), otherwise)

    def defaults(self, what: str, states: Int64Array) -> Int64Array:
        """`default` for many states."""
        distinct, codes = np.unique(states, return_inverse=True)
        values = np.array([self.default(what, number) for number in distinct.tolist()], np.int64)
        return values[codes.reshape(-1)]

    def intern(self, piece: Packets, kind: str, convert: Callable[[int], Any]) -> None:
        """Remember the entries of an interned table; ``convert`` makes values of the codes of their names."""
        table = f"record.interned.{kind}"
        states = self.interned_states(piece, table)
        for state, iid, code in zip(
            states.tolist(),
            piece.tables[f"{table}.iid"].tolist(),
            piece.tables[f"{table}.name"].tolist(),
            strict=True,
        ):
            self._names[kind, state, iid] = convert(code)

    def interned_states(self, piece: Packets, table: str) -> Int64Array:
        """The state of each row of an interned table."""
        tables = piece.tables
        return piece.state[tables.parent("record.interned")[tables.parent(table)]]

    def remember(self, kind: str, state: int, iid: int, value: Any) -> None:
        """Remember an entry."""
        self._names[kind, state, iid] = value

    def named(self, kind: str, state: int, iid: int, otherwise: Any = None) -> Any:
        """The value of an interned entry."""
        return self._names.get((kind, state, iid), otherwise)

    def lookup(self, kind: str, states: Int64Array, iids: Int64Array) -> Int64Array:
        """The integer values of interned entries, 0 for unknown and `MISSING` ones."""
        result = np.zeros(len(iids), np.int64)
        known = np.flatnonzero(iids != MISSING)
        if not len(known):
            return result
        pairs = np.stack((states[known], iids[known]), 1)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        ordered = pairs[order]
        first = np.r_[True, (ordered[1:] != ordered[:-1]).any(1)]
        values = [self._names.get((kind, state, iid), 0) for state, iid in ordered[first].tolist()]
        result[known[order]] = np.array(values, np.int64)[np.cumsum(first) - 1]
        return result

    # Clocks

    def _scope(self, sequence: int, clock: int) -> tuple[int, int]:
        return (sequence if clock in _OWN_CLOCKS else 0, clock)

    def _snapshots(self, piece: Packets) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """Reads the clock snapshots; returns the values they give to incremental clocks, by packet."""
        tables = piece.tables
        packets = tables.parent("record.snapshot")
        for primary in tables["record.snapshot.primary"].tolist():
            if primary > 0:
                self.primary = primary
        rows: dict[int, list[tuple[int, int, int, int]]] = {}
        for parent, *row in zip(
            tables.parent("record.snapshot.clock").tolist(),
            *(
                count_or_zero(tables[f"record.snapshot.clock.{name}"]).tolist()
                for name in ("id", "time", "incremental", "unit_ns")
            ),
            strict=True,
        ):
            rows.setdefault(int(packets[parent]), []).append((row[0], row[1], row[2], row[3]))
        resets: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for packet, clocks in rows.items():
            sequence = int(piece.sequence[packet])
            readings = {clock: time * max(unit, 1) for clock, time, _, unit in clocks}
            reference = self._reference(readings)
            for clock, time, incremental, unit in clocks:
                key = self._scope(sequence, clock)
                known = self._clocks.setdefault(key, ClockState())
                known.unit_ns, known.is_incremental = max(unit, 1), bool(incremental)
                if incremental:
                    resets.setdefault(key, []).append((packet, time))
                if reference is not None and abs(readings[clock]) < _MOST_SHIFT:
                    known.own.append(readings[clock])
                    known.trace.append(reference)
            if reference is not None and self.utc_offset_ns is None and REALTIME in readings:
                self.utc_offset_ns = readings[REALTIME] - reference
        return resets

    def _reference(self, readings: dict[int, int]) -> int | None:
        """The reading of the trace clock in a snapshot, directly or by another clock that is known."""
        if self.primary in readings:
            return readings[self.primary] if abs(readings[self.primary]) < _MOST_SHIFT else None
        for clock, time in readings.items():
            known = self._clocks.get((0, clock))
            if known is not None and known.own and abs(time) < _MOST_SHIFT:
                return time - known.own[-1] + known.trace[-1]
        return None

    def _times(self, piece: Packets) -> Int64Array:
        resets = self._snapshots(piece)
        tables = piece.tables
        time, clock = tables["record.time"], tables["record.clock"]
        default = self.defaults("clock", piece.state)
        clock = np.where(clock != MISSING, clock, np.where(default != MISSING, default, self.primary))
        result = np.full(len(time), MISSING)
        present = time != MISSING
        scope = np.where((clock >= _OWN_CLOCKS.start) & (clock < _OWN_CLOCKS.stop), piece.sequence, 0)
        for key, index in _groups(scope, clock):
            chosen = index[present[index]]
            known = self._clocks.get(key)
            values = time[chosen]
            if known is not None and known.is_incremental:
                values = _accumulated(values, chosen, resets.get(key, []), known)
            if known is not None:
                values = values * known.unit_ns
            result[chosen] = self._on_trace_clock(key[1], known, values)
        for key, values in resets.items():
            if not ((scope == key[0]) & (clock == key[1]) & present).any():
                self._clocks[key].value = values[-1][1]
        return result

    def on_trace_clock(self, clock: int, values: Int64Array) -> Int64Array:
        """Times of a clock of the machine, in ns, on the trace clock."""
        return self._on_trace_clock(clock, self._clocks.get((0, clock)), values)

    def _on_trace_clock(self, clock: int, known: ClockState | None, values: Int64Array) -> Int64Array:
        if clock == self.primary:
            return values
        if known is None or not known.own:
            self.unknown_clocks[clock] += len(values)
            return values
        own, trace = np.array(known.own, np.int64), np.array(known.trace, np.int64)
        place = np.maximum(np.searchsorted(own, values, "right") - 1, 0)
        return values - own[place] + trace[place]


def _accumulated(
    differences: Int64Array, packets: Int64Array, resets: list[tuple[int, int]], clock: ClockState
) -> Int64Array:
    """The values of an incremental clock; packets and resets in order of the file."""
    values = np.empty(len(differences), np.int64)
    begin, value = 0, clock.value
    for packet, after in [*resets, (None, None)]:
        stop = len(packets) if packet is None else int(np.searchsorted(packets, packet))
        if stop > begin:
            values[begin:stop] = value + np.cumsum(differences[begin:stop])
            value = int(values[stop - 1])
        begin, value = stop, value if after is None else after
    clock.value = value
    return values


def _groups(scope: Int64Array, clock: Int64Array) -> Iterator[tuple[tuple[int, int], Int64Array]]:
    if not len(scope):
        return
    order = np.lexsort((clock, scope))
    borders = np.flatnonzero((np.diff(scope[order]) != 0) | (np.diff(clock[order]) != 0)) + 1
    for index in np.split(order, borders):
        yield (int(scope[index[0]]), int(clock[index[0]])), np.sort(index)
