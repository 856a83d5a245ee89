"""Adds the columns of trace events to a capture; the base of all Chrome JSON formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english, english_n
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.interchange.framework.own_header import HeaderTracks
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
    Metadata,
    Piece,
    ThreadKey,
    add_metadata,
)
from warpline.interchange.trace_json.samples import add_sample_list, add_samples
from warpline.interchange.trace_json.target import TraceTarget, name_ids, optional_ids
from warpline.interchange.trace_json.tracks import number_of
from warpline.interchange.trace_json.unfinished import (
    PendingAsync,
    PendingBorders,
    PendingFlows,
)
from warpline.interchange.trace_json.v8_samples import JavaScriptSamples
from warpline.model import Flag
from warpline.model.links import FLOW

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]

_EPOCH_NS = (946_684_800_000_000_000, 4_102_444_800_000_000_000)
"""From 2000 to 2100: such times count from the epoch."""


_NOT_EVENTS = frozenset({"systemTraceEvents", "powerTraceAsString", "tracingUI"})
"""What Chrome's traces may hold beside events and samples: system traces as text."""
_METADATA = frozenset(
    ("process_name", "process_sort_index", "process_labels", "thread_name", "thread_sort_index")
)


class TraceConverter(TraceTarget):
    """Adds the columns of each piece to the builder; `finish` resolves what spans pieces.

    Other formats override `absorb_group` for their own groups.
    """

    def __init__(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        super().__init__(builder, options)
        self.borders = PendingBorders()
        self.asyncs = PendingAsync()
        self.flows = PendingFlows()
        self.metadata: dict[Metadata, int] = {}
        self.steps: dict[int, tuple[int, int]] = {}
        self.events = 0
        self._samples: list[Group] = []
        self._javascript = JavaScriptSamples()

    def begin(self, header: Mapping[str, Any]) -> None:
        """Read the header, the part of the file before the first event."""
        self.tracks.header = HeaderTracks(header)

    def absorb(self, piece: Piece) -> None:
        """Add the events of one piece."""
        self.events += piece.events
        self.losses.update(piece.losses)
        add_metadata(self.metadata, piece.metadata.items())
        for name, group in piece.groups.items():
            if len(group):
                self.absorb_group(name, group)
        if piece.also is not None:
            self.absorb(piece.also)

    def absorb_group(self, name: str, group: Group) -> None:
        """Add a group; the names are those in `piece_columns`."""
        if name == SLICES:
            self.add_ranges(group)
        elif name == INSTANTS:
            self._add_instants(group)
        elif name == COUNTERS:
            add_counters(self, group)
        elif name == BORDERS:
            self.saw(group.start, group.start)
            self.borders.add(group, self.threads_of(group), self.builder, self.slices)
        elif name == ASYNC:
            self.saw(group.start, group.start)
            self.asyncs.add(group, self.builder)
            self.requests.see_async(group)
        elif name == FLOWS:
            self.flows.add(group)

    def _add_instants(self, group: Group) -> None:
        group = self._javascript.take(group)
        if not len(group):
            return
        self.saw(group.start, group.start)
        names = name_ids(self.builder, group.name)
        sample = group.of_phase("P")
        if sample.any():
            self._samples.append(group)
        columns = {
            "category": optional_ids(self.builder, group.category),
            "payload": optional_ids(self.builder, group.texts["payload"]),
        }
        texts = [text or "t" for text in group.texts["scope"].table]
        letters, letter = np.unique(texts, return_inverse=True)
        places = group.thread.astype(np.int64) * len(letters) + letter[group.texts["scope"].codes]
        order = np.flatnonzero(~sample)
        if not len(order):
            return
        order = order[np.argsort(places[order], kind="stable")]
        distinct, counts = np.unique(places[order], return_counts=True)
        tracks = [
            self._instant_track(group.threads[place // len(letters)], str(letters[place % len(letters)]))
            for place in distinct.tolist()
        ]
        start = group.start[order]
        first = self.builder.add_events(
            np.repeat([track for track, _owner in tracks], counts),
            "range",
            start,
            0,
            names[order],
            flags=int(Flag.INSTANT),
            attributes={key: values[order] for key, values in columns.items()},
        )
        own, at = np.arange(first, first + len(order)), 0
        for (_track, owner), count in zip(tracks, counts.tolist(), strict=True):
            if owner is not None:
                part = slice(at, at + count)
                self.slices.add(owner, start[part], start[part], own[part])
            at += count

    def _instant_track(self, key: ThreadKey, scope: str) -> tuple[int, int | None]:
        if scope == "g" or (key[0] is None and key[1] is None):
            return self.tracks.add_track(self.tracks.specs.instants()), None
        if scope == "p":
            process = self.tracks.process(self.thread_of(key)[0])
            spec = self.tracks.specs.process_instants(process.uri)
            return self.tracks.add_track(spec, process=process), None
        thread = self.tracks.thread(*self.thread_of(key))
        return self.tracks.sub_track(thread, "ranges"), thread.index

    def finish(self, state: StreamState) -> ImportSummary:
        """Resolve what needs the whole file, name threads, report problems."""
        self._apply_metadata()
        add_samples(self, self._samples, state.header.get("stackFrames"))
        self.events += add_sample_list(self, state.header.get("samples"), state.header.get("stackFrames"))
        self.events += self._javascript.finish(self)
        self.requests.finish(self.builder, self.options)
        for text, count in self.borders.finish(self.builder, self.tracks, self.slices).items():
            self.note(text, count)
        for text, count in self.asyncs.finish(self.builder, self.tracks).items():
            self.note(text, count)
        for text, count in self.flows.finish(self.builder, self.slices, self.link_kind, self.row_of).items():
            self.note(text, count)
        if state.damaged:
            self.losses[
                english("damaged pieces of JSON"), english("text between two events that is not JSON")
            ] += state.damaged
        if state.truncated:
            self.builder.add_warning(
                english("the file is incomplete: {reason}. The part before is kept", reason=state.truncated),
                is_loss=True,
            )
        elif state.damaged:
            self.builder.add_warning(
                english_n(
                    "{count} damaged piece of the file was skipped",
                    "{count} damaged pieces of the file were skipped",
                    state.damaged,
                ),
                is_loss=True,
            )
        for key in _NOT_EVENTS & state.header.keys():
            value = state.header[key]
            self.builder.add_skipped(
                english("{key} at the top level", key=key),
                len(value) if isinstance(value, list | dict) else 1,
                english("not part of the timeline format; needs an importer for the tool that wrote it"),
            )
        self.report()
        span = self.tracks.header.span_ns
        if span is not None and self.options.rank is None:
            self.builder.set_span(*span)
        return ImportSummary(
            events=self.events,
            start_ns=self.start_ns,
            stop_ns=self.stop_ns,
            utc_offset_ns=self._utc_offset(state.header),
            steps=self.steps,
        )

    def link_kind(self, category: str) -> str:
        """The kind of link for flows of a category; "" for flows that repeat other data."""
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
        # The last value counts. Each track is updated once, because an update costs as much as an event.
        process_names: dict[Scalar, str] = {}
        process_order: dict[str, int] = {}
        thread_names: dict[ThreadKey, str] = {}
        thread_order: dict[ThreadKey, int] = {}
        others = 0
        for (name, pid, tid, raw), count in self.metadata.items():
            if name not in _METADATA:
                others += count
            elif not self.tracks.header.tracks:
                arguments = json_object(raw.decode("utf-8", "replace")) or {}
                key = self.thread_of((pid, tid))
                recorded = arguments.get("name")
                text = clean_text(recorded.strip()) if isinstance(recorded, str) else ""
                if name == "process_name" and (title := self.process_title(text)):
                    process_names[key[0]] = title
                elif name == "thread_name" and (title := self.thread_title(text)):
                    thread_names[key] = title
                elif name == "process_sort_index":
                    process_order[str(key[0])] = number_of(arguments.get("sort_index"))
                elif name == "thread_sort_index":
                    thread_order[key] = number_of(arguments.get("sort_index"))
        for process, title in process_names.items():
            self.tracks.name_process(process, title)
        for thread, title in thread_names.items():
            self.tracks.name_thread(*thread, title)
        for thread, place in thread_order.items():
            self.tracks.sort_thread(*thread, place)
        self.builder.add_skipped(
            english("metadata (M)"), others, english("does not name or order processes or threads")
        )
        if process_order:
            self.tracks.sort_processes(process_order)

    def process_title(self, name: str) -> str:
        """The name to show for a recorded process name."""
        return name

    def thread_title(self, name: str) -> str:
        """The name to show for a recorded thread name."""
        return name
