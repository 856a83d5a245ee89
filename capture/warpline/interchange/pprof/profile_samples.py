"""Adds the samples of a profile of pprof to a capture: side by side, each as long as its value."""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from warpline.i18n import english
from warpline.interchange.framework.columns import MAX_TIME_NS
from warpline.interchange.framework.event_sink import EventSink, Int64Array
from warpline.interchange.framework.messages.message_tables import MISSING, Tables, count_or_zero
from warpline.interchange.framework.messages.schema import Schema
from warpline.interchange.framework.samples import add_stack_samples, add_weights
from warpline.interchange.framework.value_times import NS_PER, steps_of
from warpline.interchange.pprof.profile_tables import ProfileTables
from warpline.recording.symbols.demangle import demangle_frame

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

SAMPLE = Schema(
    repeated_numbers={1: "place", 2: "value"},
    messages={3: ("label", Schema(numbers={1: "key", 2: "text", 3: "number"}))},
)
"""A sample: its locations, innermost first, its values, its labels."""
_MOST_FRAMES = 1024
_MOST_KNOWN = 1 << 18
"""Stacks whose nodes are remembered."""
_MOST_VALUE = 1 << 60
_THREADS = frozenset(("thread", "thread name", "thread_name"))
_UINT64 = (1 << 64) - 1


class ProfileSamples:
    """Collects stacks and values of samples, 24 bytes each."""

    def __init__(self, builder: CaptureBuilder, tables: ProfileTables) -> None:
        self._builder = builder
        self._tables = tables
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
        """Places of locations in `_frames`."""
        self._frames: list[list[int]] = []
        self._nodes: dict[int, int] = {}
        """Nodes by the node of the caller, times 2^32, and the place of the location."""
        self._stacks = array("q", [-1])
        """The stack of each node; node 0 has none."""
        self._leaves = array("q", [0])
        """The innermost frame of each node, a string id."""
        self._known: dict[int, int] = {}
        """Nodes by the hash of the locations."""

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

    def _stacks_of(self, piece: Tables, count: int) -> tuple[Int64Array, Int64Array]:
        """Stack and innermost frame of each sample."""
        numbers = np.ascontiguousarray(piece["record.place.value"])
        sizes = np.bincount(piece.parent("record.place"), minlength=count)
        firsts = np.cumsum(sizes) - sizes
        depths = np.minimum(sizes, _MOST_FRAMES)
        content = numbers.tobytes()
        keys = [
            hash(content[8 * first : 8 * (first + depth)])
            for first, depth in zip(firsts.tolist(), depths.tolist(), strict=True)
        ]
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        new = np.array([row for row, key in enumerate(keys) if key not in self._known], np.int64)
        found = self._new_stacks(numbers, firsts[new], depths[new])
        self._known.update(zip([keys[row] for row in new.tolist()], found, strict=True))
        nodes = np.fromiter(map(self._known.__getitem__, keys), np.int64, count)
        return np.array(self._stacks, np.int64)[nodes], np.array(self._leaves, np.int64)[nodes]

    def _new_stacks(self, numbers: Int64Array, firsts: Int64Array, depths: Int64Array) -> list[int]:
        """The nodes of stacks: one level of callers after the other, for all stacks at once."""
        distinct, codes = np.unique(numbers, return_inverse=True)
        places = np.array([self._place(number) for number in distinct.tolist()], np.int64)[codes.reshape(-1)]
        node = np.zeros(len(firsts), np.int64)
        for level in range(int(depths.max(initial=0))):
            active = np.flatnonzero(depths > level)
            own = places[firsts[active] + depths[active] - 1 - level]
            keys, codes = np.unique(node[active] << 32 | own, return_inverse=True)
            node[active] = np.array([self._node(key) for key in keys.tolist()], np.int64)[codes.reshape(-1)]
        return node.tolist()

    def _place(self, number: int) -> int:
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = len(self._frames)
            self._frames.append(
                [
                    self._builder.string(demangle_frame(frame))
                    for frame in self._tables.frames(number & _UINT64)
                ]
            )
        return place

    def _node(self, key: int) -> int:
        node = self._nodes.get(key)
        if node is None:
            frames = self._frames[key & (1 << 32) - 1]
            stack = self._stacks[key >> 32]
            for frame in frames:
                stack = self._builder.stack(frame, stack) if stack >= 0 else self._builder.stack(frame)
            node = self._nodes[key] = len(self._stacks)
            self._stacks.append(stack)
            self._leaves.append(frames[-1])
        return node

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
        """Adds a row for each thread, and says what is left out."""
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
                "The profile says how much each stack took, not when: use the flame graph. Samples stand side by side."
            )
        )


def _thread_name(tables: ProfileTables, code: int) -> str:
    """The name of a thread by its code; "" for no thread."""
    if code == MISSING:
        return ""
    return tables.text(code) if code > 0 else str(-1 - code)
