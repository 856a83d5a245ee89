"""Adds the samples of a profile of pprof to a capture: side by side, each as long as its value."""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import MAX_TIME_NS
from warpline.interchange.framework.event_sink import EventSink, Int64Array
from warpline.interchange.framework.messages.message_tables import MISSING, Tables, count_or_zero
from warpline.interchange.framework.messages.schema import Schema
from warpline.interchange.framework.samples import add_stack_samples, add_weights
from warpline.interchange.framework.stack_tables import FrameNames, innermost_frames
from warpline.interchange.framework.value_times import NS_PER, steps_of
from warpline.interchange.pprof.profile_tables import ProfileTables

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

SAMPLE = Schema(
    repeated_numbers={1: "place", 2: "value"},
    messages={3: ("label", Schema(numbers={1: "key", 2: "text", 3: "number"}))},
)
"""A sample: its locations, innermost first, its values, its labels."""
_MOST_FRAMES = 1024
_SMALL_NUMBER = 1 << 22
"""Location numbers below this are looked up in a table, which is faster than sorting."""
_MOST_VALUE = 1 << 60
_THREADS = frozenset(("thread", "thread name", "thread_name"))
_UINT64 = (1 << 64) - 1


class ProfileSamples:
    """Collects stacks and values of samples, 24 bytes each."""

    def __init__(self, builder: CaptureBuilder, tables: ProfileTables) -> None:
        self._builder = builder
        self._tables = tables
        self._ids = FrameNames(builder)
        types = tables.value_types()
        self._names = [name for name, _ in types]
        self._chosen = tables.default_type()
        self._unit = types[self._chosen][1] if types else ""
        unit = "ns" if self._unit in NS_PER else self._unit if self._unit == "bytes" else ""
        add_weights(builder, unit)
        self._count = self._empty = 0
        self._rows: defaultdict[str, list[Int64Array]] = defaultdict(list)
        """Stack, name and value of the samples of each thread."""
        self._places: dict[int, int] = {}
        """Places of locations in `_firsts`."""
        self._frames = array("I")
        """The frames of all locations, one location after the other, the outermost frame first."""
        self._firsts = array("q", [0])

    def add(self, piece: Tables) -> None:
        """Adds the samples of a piece."""
        count = piece.count("record")
        values = self._values(piece, count)
        stacks, names = self._stacks_of(piece, count)
        threads = self._threads(piece, count)
        self._count += count
        self._empty += int((values <= 0).sum())
        for code in np.unique(threads).tolist():
            rows = np.flatnonzero((threads == code) & (values > 0))
            if len(rows):
                self._rows[_thread_name(self._tables, code)].append(
                    np.stack((stacks[rows], names[rows], values[rows]))
                )

    def _values(self, piece: Tables, count: int) -> Int64Array:
        parents = piece.parent("record.value")
        values = np.zeros(count, np.int64)
        sizes = np.bincount(parents, minlength=count)
        has = np.flatnonzero(sizes > max(self._chosen, 0))
        firsts = np.cumsum(sizes) - sizes
        if self._chosen >= 0:
            values[has] = piece["record.value.value"][firsts[has] + self._chosen]
        return np.minimum(values, _MOST_VALUE)

    def _stacks_of(self, piece: Tables, count: int) -> tuple[Int64Array, npt.NDArray[np.uint32]]:
        """Stack and innermost frame of each sample."""
        numbers = np.ascontiguousarray(piece["record.place.value"])
        sizes = np.bincount(piece.parent("record.place"), minlength=count)
        firsts = np.cumsum(sizes) - sizes
        depths = np.minimum(sizes, _MOST_FRAMES)
        # Locations are stored innermost first; frames are needed outermost first.
        chosen = _runs(firsts + depths - 1, depths, step=-1)
        distinct, codes = _distinct(numbers)
        places = np.array([self._place(number) for number in distinct.tolist()], np.int64)[codes][chosen]
        borders = np.array(self._firsts, np.int64)
        begins, lengths = borders[places], borders[places + 1] - borders[places]
        frames = np.array(self._frames, np.uint32)[_runs(begins, lengths)]
        ends = np.concatenate(([0], np.cumsum(lengths)))
        lasts = np.cumsum(depths)
        counts = ends[lasts] - ends[lasts - depths]
        return self._builder.stacks(frames, counts), innermost_frames(frames, counts)

    def _place(self, number: int) -> int:
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = len(self._places)
            self._frames.extend(map(self._ids.__getitem__, self._tables.frames(number & _UINT64)))
            self._firsts.append(len(self._frames))
        return place

    def _threads(self, piece: Tables, count: int) -> Int64Array:
        """A code of the thread of each sample: the number of a text, a negative number, or `MISSING`."""
        threads = np.full(count, MISSING)
        keys = piece["record.label.key"]
        named = [key for key in np.unique(keys).tolist() if self._tables.text(key) in _THREADS]
        rows = np.flatnonzero(np.isin(keys, named))
        texts = count_or_zero(piece["record.label.text"][rows])
        numbers = count_or_zero(piece["record.label.number"][rows])
        threads[piece.parent("record.label")[rows]] = np.where(texts > 0, texts, -1 - np.abs(numbers))
        return threads

    def add_to(self, sink: EventSink) -> None:
        """Add a row for each thread, and report what was left out."""
        for thread, parts in self._rows.items():
            stacks, names, values = np.concatenate(parts, axis=1)
            lengths = steps_of(values, self._unit)
            key = sink.thread("profile", thread or "all threads", thread or "all threads")
            scale = NS_PER.get(self._unit, 1)
            add_stack_samples(
                sink, key, np.cumsum(lengths) - lengths, stacks, names.astype(np.uint32), durations=lengths,
                weight=np.minimum(values, MAX_TIME_NS // scale) * scale,
            )  # fmt: skip
        self._builder.add_skipped(english("samples"), self._empty, english("their value is 0"))
        for name in self._names[: self._chosen] + self._names[self._chosen + 1 :]:
            self._builder.add_skipped(
                english("values of {name}", name=name),
                self._count,
                english("a profile shows one sort of value"),
            )
        self._builder.add_warning(
            english(
                "The profile says how much each stack took, not when: use the flame graph. Samples are "
                "drawn side by side."
            )
        )


def _thread_name(tables: ProfileTables, code: int) -> str:
    """The name of a thread by its code; "" for no thread."""
    if code == MISSING:
        return ""
    return tables.text(code) if code > 0 else str(-1 - code)


def _runs(begins: Int64Array, lengths: Int64Array, step: int = 1) -> Int64Array:
    """The numbers of all runs, concatenated; each run has a start and a step."""
    ends = np.cumsum(lengths)
    inside = np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
    numbers: Int64Array = np.repeat(begins, lengths) + step * inside
    return numbers


def _distinct(numbers: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The distinct numbers, and the index of each value among them."""
    if not len(numbers) or numbers.min() < 0 or numbers.max() >= _SMALL_NUMBER:
        distinct, codes = np.unique(numbers, return_inverse=True)
        return distinct, codes.reshape(-1)
    is_used = np.zeros(int(numbers.max()) + 1, bool)
    is_used[numbers] = True
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[numbers]
