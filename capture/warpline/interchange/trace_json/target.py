"""Adds groups of trace events to a capture, and collects the tracks, losses and notes of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english_n, forms
from warpline.interchange.framework.columns import TextColumn
from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.interchange.trace_json.piece_columns import Group, Loss, ThreadKey
from warpline.interchange.trace_json.requests import TraceRequests
from warpline.interchange.trace_json.tracks import ThreadEntry, TraceTracks
from warpline.interchange.trace_json.unfinished import SliceRegistry
from warpline.model import AttributeSpec, Flag, KindSpec

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]

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


def payload_of(builder: CaptureBuilder, group: Group) -> dict[str, npt.NDArray[Any]]:
    """The attribute ``payload`` with all other arguments; empty if no event has any."""
    column = group.texts.get("payload")
    return {"payload": optional_ids(builder, column)} if column is not None and any(column.table) else {}


def _order_by_code(codes: npt.NDArray[np.uint32], count: int) -> Int64Array:
    """The stable order of codes below ``count``; numpy sorts 16-bit numbers by counting."""
    return np.argsort(codes.astype(np.uint16) if count <= 1 << 16 else codes, kind="stable")


class TraceTarget:
    """Adds groups of events to the capture; the converter reports losses and notes at the end."""

    def __init__(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        self.builder = builder
        self.options = options
        self.tracks = TraceTracks(builder, options)
        self.slices = SliceRegistry()
        self.requests = TraceRequests()
        self.losses: Counter[Loss] = Counter()
        self.notes: Counter[tuple[str, str]] = Counter()
        """Harmless irregularities, counted by their text (`i18n.forms`)."""
        self.start_ns: int | None = None
        self.stop_ns: int | None = None
        builder.add_kind(_RANGE_EXTRA)

    def threads_of(self, group: Group) -> dict[int, ThreadEntry]:
        """The threads of a group by their codes."""
        codes = np.unique(group.thread).tolist()
        return {code: self.tracks.thread(*self.thread_of(group.threads[code])) for code in codes}

    def thread_of(self, key: ThreadKey) -> ThreadKey:
        """The thread for events with these recorded ids; formats override this."""
        return key

    @staticmethod
    def groups_by_thread(group: Group) -> Iterator[tuple[ThreadKey, Any]]:
        if len(group.threads) == 1:
            yield group.threads[0], slice(None)
            return
        for code, key in enumerate(group.threads):
            index = np.flatnonzero(group.thread == code)
            if len(index):
                yield key, index

    def row_of(self, key: ThreadKey) -> int:
        """The number in `slices` of the thread with these recorded ids."""
        return self.tracks.thread(*self.thread_of(key)).index

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
        """Add a group to its threads' tracks of a role; returns event ids in the group's order."""
        if names is None:
            names = name_ids(self.builder, group.name)
        flag_array = np.broadcast_to(np.asarray(flags, np.uint8), len(group))
        self.saw(group.start, group.start + group.duration)
        # One batch for all threads: a batch each would dominate traces with thousands of threads.
        counts = np.bincount(group.thread, minlength=len(group.threads))
        present = np.flatnonzero(counts).tolist()
        order: Any = slice(None) if len(present) == 1 else _order_by_code(group.thread, len(group.threads))
        threads = [self.tracks.thread(*self.thread_of(group.threads[code])) for code in present]
        tracks = np.array([self.tracks.sub_track(thread, role) for thread in threads])
        start = group.start[order]
        duration = group.duration[order]
        first = self.builder.add_events(
            np.repeat(tracks, counts[present]),
            kind,
            start,
            duration,
            names[order],
            flags=flag_array[order],
            attributes={key: values[order] for key, values in attributes.items()} if attributes else None,
        )
        own = np.arange(first, first + len(group))
        ids = np.empty(len(group), np.int64)
        ids[order] = own
        stop, at = start + duration, 0
        for thread, count in zip(threads, counts[present].tolist(), strict=True):
            part = slice(at, at + count)
            self.slices.add(thread.index, start[part], stop[part], own[part])
            at += count
        return ids

    def duration_flags(self, group: Group) -> npt.NDArray[np.uint8]:
        """Flags for a group of spans; counts those without a duration."""
        missing = group.numbers["no_duration"]
        if missing.any():
            self.notes[
                forms(
                    "{count:,} complete event (X) has no duration; the thread clock's or 0 is used",
                    "{count:,} complete events (X) have no duration; the thread clock's or 0 is used",
                )
            ] += int(missing.sum())
        return np.where(missing, np.uint8(Flag.ESTIMATED), np.uint8(0)).astype(np.uint8)

    def add_ranges(self, group: Group) -> Int64Array:
        """Add a group of spans as ranges."""
        self.requests.see(group)
        attributes: dict[str, npt.NDArray[Any]] = {"category": optional_ids(self.builder, group.category)}
        if "payload" in group.texts:
            attributes["payload"] = optional_ids(self.builder, group.texts["payload"])
        if "thread_duration" in group.numbers:
            attributes["thread_duration_ns"] = group.numbers["thread_duration"]
        return self.add_slices(group, "range", "ranges", attributes, flags=self.duration_flags(group))

    def note(self, text: tuple[str, str], count: int) -> None:
        """Count a harmless irregularity; ``text`` is from `i18n.forms`."""
        if count:
            self.notes[text] += count

    def report(self) -> None:
        """Write the losses and notes into the capture."""
        for (subject, reason), count in self.losses.items():
            self.builder.add_skipped(subject, count, reason)
        for (singular, plural), count in self.notes.items():
            self.builder.add_warning(english_n(singular, plural, count))

    def summary(self, events: int, *, utc_offset_ns: int | None = None) -> ImportSummary:
        """Report, and what an importer returns for a file whose events were all added."""
        self.report()
        return ImportSummary(
            events=events, start_ns=self.start_ns, stop_ns=self.stop_ns, utc_offset_ns=utc_offset_ns
        )

    def saw(self, starts: Int64Array, stops: Int64Array) -> None:
        """Extend the time range of the file's events."""
        low, high = int(starts.min()), int(stops.max())
        self.start_ns = low if self.start_ns is None else min(self.start_ns, low)
        self.stop_ns = high if self.stop_ns is None else max(self.stop_ns, high)
