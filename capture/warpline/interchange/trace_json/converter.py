"""Columns of trace events into a capture: what all formats of the Chrome JSON family have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english, english_n, forms
from warpline.interchange.framework.columns import TextColumn, clean_text
from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.interchange.trace_json.counters import add_counters
from warpline.interchange.trace_json.events import Scalar
from warpline.interchange.trace_json.json_repair import json_object
from warpline.interchange.trace_json.json_stream import StreamState
from warpline.interchange.trace_json.piece_columns import (
    ASYNC,
    BORDERS,
    COUNTERS,
    FLOWS,
    INSTANTS,
    SLICES,
    Group,
    Loss,
    Piece,
    ThreadKey,
)
from warpline.interchange.trace_json.samples import add_samples
from warpline.interchange.trace_json.tracks import UNKNOWN_ID, ThreadEntry, TraceTracks, number_of
from warpline.interchange.trace_json.unfinished import (
    PendingAsync,
    PendingBorders,
    PendingFlows,
    SliceRegistry,
)
from warpline.model import AttributeSpec, Flag, KindSpec
from warpline.model.links import FLOW

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]

_EPOCH_NS = (946_684_800_000_000_000, 4_102_444_800_000_000_000)
"""From 2000 to 2100: recorded times in between count from the epoch."""
_RANGE_EXTRA = KindSpec(
    "range",
    "Range",
    "range",
    "range",
    (AttributeSpec("thread_duration_ns", "int64", "Duration by the thread's clock", "ns"),),
)


def name_ids(builder: CaptureBuilder, column: TextColumn) -> npt.NDArray[np.uint32]:
    """String ids of a text column, one per event."""
    return builder.strings(column.table)[column.codes] if column.table else np.zeros(0, np.uint32)


def optional_ids(builder: CaptureBuilder, column: TextColumn) -> np.ma.MaskedArray[Any, Any]:
    """String ids with empty texts masked."""
    ids = name_ids(builder, column)
    return np.ma.MaskedArray(ids, ids == 0)


class TraceConverter:
    """Takes pieces as columns and adds them to the builder; `finish` resolves what spans pieces.

    Formats built on this one override `absorb_group` for the groups they claim.
    """

    def __init__(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        self.builder = builder
        self.options = options
        self.tracks = TraceTracks(builder, options)
        self.slices = SliceRegistry()
        self.borders = PendingBorders()
        self.asyncs = PendingAsync()
        self.flows = PendingFlows()
        self.losses: Counter[Loss] = Counter()
        self.notes: Counter[tuple[str, str]] = Counter()
        """Oddities that lost nothing, counted by their text (`i18n.forms`)."""
        self.metadata: list[tuple[str, Scalar, Scalar, bytes]] = []
        self.steps: dict[int, tuple[int, int]] = {}
        self.events = 0
        self.start_ns: int | None = None
        self.stop_ns: int | None = None
        self._samples: list[Group] = []
        builder.add_kind(_RANGE_EXTRA)

    # pieces

    def absorb(self, piece: Piece) -> None:
        """Add the events of one piece."""
        self.events += piece.events
        self.losses.update(piece.losses)
        self.metadata.extend(piece.metadata)
        for name, group in piece.groups.items():
            if len(group):
                self.absorb_group(name, group)
        if piece.also is not None:
            self.absorb(piece.also)

    def absorb_group(self, name: str, group: Group) -> None:
        """Add one group; the names are those of `trace_groups`."""
        if name == SLICES:
            self.add_ranges(group)
        elif name == INSTANTS:
            self._add_instants(group)
        elif name == COUNTERS:
            add_counters(self, group)
        elif name == BORDERS:
            for thread, index in self.by_thread(group):
                self.saw(group.start[index], group.start[index])
                self.borders.add(thread, group, index, self.builder)
                self.slices.reach(thread.index, int(group.start[index].max()))
        elif name == ASYNC:
            self.saw(group.start, group.start)
            self.asyncs.add(group, self.builder)
        elif name == FLOWS:
            self.flows.add(group, self._thread_indexes(group))

    # helpers for formats

    def by_thread(self, group: Group) -> Iterator[tuple[ThreadEntry, Any]]:
        """Each thread of a group with the index (an array or a slice) of its events."""
        for key, index in self._by_code(group):
            yield self.tracks.thread(*self.thread_of(key)), index

    def thread_of(self, key: ThreadKey) -> ThreadKey:
        """The thread that events with these recorded ids belong to; formats may know better than the file."""
        return key

    @staticmethod
    def _by_code(group: Group) -> Iterator[tuple[ThreadKey, Any]]:
        if len(group.threads) == 1:
            yield group.threads[0], slice(None)
            return
        for code, key in enumerate(group.threads):
            index = np.flatnonzero(group.thread == code)
            if len(index):
                yield key, index

    def _thread_indexes(self, group: Group) -> Int64Array:
        """Index of the thread of each event in the capture's table."""
        table = np.array([self.tracks.thread(*self.thread_of(key)).index for key in group.threads], np.int64)
        return table[group.thread]

    def add_slices(
        self,
        group: Group,
        kind: str,
        role: str,
        attributes: Mapping[str, npt.NDArray[Any]] | None = None,
        *,
        flags: npt.NDArray[np.uint8] | int = 0,
        names: npt.NDArray[np.uint32] | None = None,
    ) -> Int64Array:
        """Add a group to its threads' tracks of a role; returns the events' ids in the group's order."""
        ids = np.empty(len(group), np.int64)
        if names is None:
            names = name_ids(self.builder, group.name)
        flag_array = np.broadcast_to(np.asarray(flags, np.uint8), len(group))
        stops = group.start + group.duration
        self.saw(group.start, stops)
        for thread, index in self.by_thread(group):
            part = {key: values[index] for key, values in attributes.items()} if attributes else None
            start = group.start[index]
            first = self.builder.add_events(
                self.tracks.sub_track(thread, role),
                kind,
                start,
                group.duration[index],
                names[index],
                flags=flag_array[index],
                attributes=part,
            )
            own = np.arange(first, first + len(start))
            ids[index] = own
            self.slices.add(thread.index, start, stops[index], own)
        return ids

    def durations_noted(self, group: Group) -> npt.NDArray[np.uint8]:
        """Flags for a group of spans, after counting those without a duration of their own."""
        missing = group.numbers["no_duration"]
        if missing.any():
            self.notes[
                forms(
                    "{count:,} complete event (X) without a duration: the thread clock's is used, else 0",
                    "{count:,} complete events (X) without a duration: the thread clock's is used, else 0",
                )
            ] += int(missing.sum())
        return np.where(missing, np.uint8(Flag.ESTIMATED), np.uint8(0)).astype(np.uint8)

    def add_ranges(self, group: Group) -> Int64Array:
        """Add a group of spans as ranges."""
        attributes: dict[str, npt.NDArray[Any]] = {"category": optional_ids(self.builder, group.category)}
        if "payload" in group.texts:
            attributes["payload"] = optional_ids(self.builder, group.texts["payload"])
        if "thread_duration" in group.numbers:
            attributes["thread_duration_ns"] = group.numbers["thread_duration"]
        return self.add_slices(group, "range", "ranges", attributes, flags=self.durations_noted(group))

    def note(self, text: tuple[str, str], count: int) -> None:
        """Count an oddity that lost nothing; ``text`` is from `i18n.forms`."""
        if count:
            self.notes[text] += count

    def saw(self, starts: Int64Array, stops: Int64Array) -> None:
        """Widen the time in which the file has events."""
        low, high = int(starts.min()), int(stops.max())
        self.start_ns = low if self.start_ns is None else min(self.start_ns, low)
        self.stop_ns = high if self.stop_ns is None else max(self.stop_ns, high)

    # instants, counters

    def _add_instants(self, group: Group) -> None:
        self.saw(group.start, group.start)
        names = name_ids(self.builder, group.name)
        scope = np.array([text or "t" for text in group.texts["scope"].table])[group.texts["scope"].codes]
        sample = np.array(group.phases) == "P"
        if sample.any():
            self._samples.append(group)
        columns = {
            "category": optional_ids(self.builder, group.category),
            "payload": optional_ids(self.builder, group.texts["payload"]),
        }
        for thread_key, index in self._by_code(group):
            positions = np.arange(len(group))[index]
            positions = positions[~sample[positions]]
            for wide in np.unique(scope[positions]):
                chosen = positions[scope[positions] == wide]
                track, owner = self._instant_track(thread_key, str(wide))
                first = self.builder.add_events(
                    track,
                    "range",
                    group.start[chosen],
                    0,
                    names[chosen],
                    flags=int(Flag.INSTANT),
                    attributes={key: values[chosen] for key, values in columns.items()},
                )
                if owner is not None:
                    self.slices.reach(owner, int(group.start[chosen].max()))
                    self.slices.add(
                        owner, group.start[chosen], group.start[chosen], np.arange(first, first + len(chosen))
                    )

    def _instant_track(self, key: ThreadKey, scope: str) -> tuple[int, int | None]:
        if scope == "g" or (key[0] is None and key[1] is None):
            return self.tracks.add_track(self.tracks.specs.instants()), None
        if scope == "p":
            process = self.tracks.process(self.thread_of(key)[0])
            spec = self.tracks.specs.process_instants(process.uri)
            return self.tracks.add_track(spec, process=process), None
        thread = self.tracks.thread(*self.thread_of(key))
        return self.tracks.sub_track(thread, "ranges"), thread.index

    # the end

    def finish(self, state: StreamState) -> ImportSummary:
        """Resolve what was waiting for the whole file, name threads, report oddities."""
        self._apply_metadata()
        add_samples(self, self._samples, state.header.get("stackFrames"))
        for text, count in self.borders.finish(self.builder, self.tracks, self.slices).items():
            self.note(text, count)
        for text, count in self.asyncs.finish(self.builder, self.tracks).items():
            self.note(text, count)
        for text, count in self.flows.finish(self.builder, self.slices, self.link_kind).items():
            self.note(text, count)
        if state.damaged:
            self.losses[
                english("damaged pieces of JSON"), english("the text between two events is no JSON")
            ] += state.damaged
        if state.truncated:
            self.builder.add_warning(
                english("the file is cut: {reason}; what came before is kept", reason=state.truncated)
            )
        for (what, reason), count in self.losses.items():
            self.builder.add_skipped(what, count, reason)
        for (one, many), count in self.notes.items():
            self.builder.add_warning(english_n(one, many, count))
        return ImportSummary(
            events=self.events,
            start_ns=self.start_ns,
            stop_ns=self.stop_ns,
            utc_offset_ns=self._utc_offset(state.header),
            steps=self.steps,
        )

    def link_kind(self, category: str) -> str:
        """The kind of link that flows of a category are; "" for flows that say what is recorded elsewhere."""
        del category
        return FLOW

    def _utc_offset(self, header: Mapping[str, Any]) -> int | None:
        base = header.get("baseTimeNanoseconds")
        if isinstance(base, int) and self.start_ns is not None and base > 0:
            return base
        if self.start_ns is not None and _EPOCH_NS[0] < self.start_ns < _EPOCH_NS[1]:
            return 0
        return None

    def _apply_metadata(self) -> None:
        process_order: dict[str, int] = {}
        for name, pid, tid, raw in self.metadata:
            arguments = json_object(raw.decode("utf-8", "replace")) or {}
            key = self.thread_of((pid, tid))
            text = arguments.get("name")
            if name == "process_name" and isinstance(text, str):
                self.tracks.name_process(key[0], self.process_title(clean_text(text.strip())))
            elif name == "thread_name" and isinstance(text, str):
                self.tracks.name_thread(*key, self.thread_title(clean_text(text.strip())))
            elif name == "process_sort_index":
                process_order[str(key[0])] = number_of(arguments.get("sort_index"))
            elif name == "thread_sort_index":
                self.tracks.sort_thread(*key, number_of(arguments.get("sort_index")))
        if process_order:
            self.tracks.sort_processes(process_order)

    def process_title(self, name: str) -> str:
        """A process's name from its recorded one."""
        return name

    def thread_title(self, name: str) -> str:
        """A thread's name from its recorded one."""
        return name


__all__ = ["UNKNOWN_ID", "TraceConverter", "name_ids", "optional_ids"]
