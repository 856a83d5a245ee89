"""Exports a part of a capture as a complete capture (`.h5`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selection import Selection, View, recorded_kinds
from warpline.i18n import tr
from warpline.interchange.export.exporter import ExportJob, SizeModel
from warpline.interchange.export.pseudonyms import Pseudonyms, without_texts
from warpline.interchange.export.selection import (
    CHUNK_EVENTS,
    ExportSelection,
    Int64Array,
    chunks,
    counter_slice,
    rows_by_kind,
)
from warpline.interchange.export.title import title_of
from warpline.model import Flag, Packing
from warpline.model.links import LAUNCH
from warpline.output_places import is_no_file
from warpline.storage import NO_ROW, NO_STACK, CaptureBuilder
from warpline.storage.index.utilization import BINS_PER_EVENT, MAX_BINS, MIN_BINS
from warpline.storage.notes_file import Notes, notes_path, write_notes
from warpline.storage.read.view_times import whole_start_ns

if TYPE_CHECKING:
    from warpline.model import KindSpec
    from warpline.storage import Capture

_COPYING_SHARE = 0.5
"""Share of the whole time; sorting and the level of detail take the rest."""
_BYTES_PER_TRACK = 150
_BYTES_PER_BIN = 3
"""Of four: on average a quarter of a curve's bins is unused."""
_UNSEEN = np.uint32(0xFFFF_FFFF)


class CaptureExporter:
    """Events across the border stay whole and are flagged. Links with one end outside keep the other end."""

    name = "capture"
    position = 10
    suffixes = (".h5",)
    size_model = SizeModel(
        per_event=34, per_attribute=4, per_text_byte=0.3, packed_ratio=0.125, per_file=35_000
    )

    @property
    def title(self) -> str:
        return tr("Warpline capture")

    def fixed_bytes(self, capture: Capture, selection: ExportSelection) -> int:
        """The size of tracks and utilization curves, which do not shrink with the range."""
        start, stop = selection.interval(capture)
        size = _BYTES_PER_TRACK * len(capture.tracks)
        for group in capture.groups.values():
            lanes = [lane for lane in group.lanes if selection.has_track(int(capture.lanes.track[lane]))]
            events = capture.count_in(lanes, start, stop)
            if events:
                size += _BYTES_PER_BIN * min(MAX_BINS, max(MIN_BINS, BINS_PER_EVENT * events))
        return size

    def export(self, job: ExportJob) -> Path:
        with CaptureBuilder(job.out, compress=job.options.compress) as builder:
            pseudonyms = Pseudonyms(job.capture) if job.options.anonymize else None
            CaptureCopy(job.capture, builder, job.selection, pseudonyms).run(
                job.counted(tr("copying events"), _COPYING_SHARE)
            )
            path = builder.finish(
                lambda fraction, text: job.progress(_COPYING_SHARE + (1 - _COPYING_SHARE) * fraction, text),
                job.is_cancelled,
            )
        rows = tuple(row for row, _content in job.options.rows)
        if (job.notes or rows) and not is_no_file(job.out):
            write_notes(notes_path(job.out), Notes(notes=job.notes, rows=rows, capture=builder.uuid))
        return path


class CaptureCopy:
    """Copies a capture, or a part of one, into a builder.

    Clocks, processes and threads keep their indexes; tracks, strings and stacks get new ones.
    """

    def __init__(
        self,
        capture: Capture,
        builder: CaptureBuilder,
        selection: ExportSelection,
        pseudonyms: Pseudonyms | None = None,
    ) -> None:
        self._pseudonyms = pseudonyms
        self._text: Callable[[str], str] = pseudonyms.text if pseudonyms is not None else _unchanged
        self._uri: Callable[[str], str] = pseudonyms.uri if pseudonyms is not None else _unchanged
        self._capture = capture
        self._builder = builder
        self._selection = selection
        self._interval = selection.interval(capture)
        self._strings = np.full(len(capture.strings) + 1, _UNSEEN, np.uint32)
        self._stack_map: npt.NDArray[np.uint32] | None = None
        self._chunk_rows: list[tuple[int, int]] = []
        self._ids: list[Int64Array] = []

    def run(self, count: Callable[[int], None]) -> None:
        """Copies everything; calls ``count`` with the number of events of each piece."""
        self._copy_tables()
        tracks = self._copy_tracks()
        for track, rows in chunks(self._capture, self._selection):
            self._copy_events(tracks[track], rows)
            count(rows.stop - rows.start)
        self._copy_links()
        self._copy_counters(tracks)

    # Tables

    def _copy_tables(self) -> None:
        capture, builder, text = self._capture, self._builder, self._text
        start, stop = self._interval
        is_open = self._pseudonyms is None
        builder.meta.update(capture.meta if self._pseudonyms is None else self._pseudonyms.meta(capture.meta))
        builder.meta["exported_from"] = {
            "uuid": capture.uuid if is_open else "",
            "file": title_of(capture) if is_open else "",
            "range_ns": self._selection.range_ns(capture),
            "origin_ns": capture.span[0] if (whole := whole_start_ns(capture)) is None else whole,
            "is_whole": not self._selection.is_bounded and self._selection.tracks is None,
            "is_range": self._selection.is_bounded,
            "kinds": self._recorded_kinds() if self._selection.is_bounded else [],
            "next_work": self._next_work() if self._selection.is_bounded else [],
        }
        for index, clock in enumerate(capture.clocks):
            if index:
                builder.add_clock(text(clock.name), clock.offset_ns, clock.method, clock.residual_ns)
            else:
                builder.set_clock_offset(
                    0, clock.offset_ns, method=clock.method, residual_ns=clock.residual_ns
                )
        for process in capture.processes:
            command = process.command if is_open else ""
            builder.add_process(**{**vars(process), "name": text(process.name), "command": command})
        for thread in capture.threads:
            builder.add_thread(**{**vars(thread), "name": text(thread.name)})
        for device in capture.devices:
            builder.add_device(**vars(device if is_open else without_texts(device)))
        for source in capture.sources:
            texts = {key: text(getattr(source, key)) for key in ("name", "reason", "remedy")}
            builder.add_source(**{**vars(source), **texts})
        for entry in capture.skipped:
            builder.add_skipped(text(entry.what), entry.count, text(entry.reason))
        for warning in capture.warnings:
            builder.add_warning(text(warning))
        for pause_start, pause_stop in capture.pauses.tolist():
            if min(pause_stop, stop) > max(pause_start, start):
                builder.add_pause(max(pause_start, start), min(pause_stop, stop))
        for table in capture.kinds.values():
            builder.add_kind(self._kind(table.spec), anew=True)
        builder.set_span(start, stop)

    def _kind(self, spec: KindSpec) -> KindSpec:
        if self._pseudonyms is None:
            return spec
        text = self._text
        attributes = tuple(
            replace(
                attribute,
                name=text(attribute.name),
                title=text(attribute.title),
                enum={code: text(name) for code, name in attribute.enum.items()},
            )
            for attribute in spec.attributes
        )
        return replace(spec, name=text(spec.name), title=text(spec.title), attributes=attributes)

    def _recorded_kinds(self) -> list[str]:
        """The kinds of which the selected tracks have events at any time: none in the range is not none recorded."""
        view = View(self._capture, Selection(tracks=self._selection.tracks))
        known = recorded_kinds(self._capture)
        return sorted(
            self._text(kind) for kind in known if view.count(kind) or not len(self._capture.kinds[kind])
        )

    def _next_work(self) -> list[dict[str, Any]]:
        """The first work of each GPU stream after the range: its track's URI and start, and the end (None: unknown) and
        thread of the call that launched it. The GPU waits for it when idle at the end of the range.
        """
        capture, (_, stop) = self._capture, self._interval
        lanes, links = capture.lanes, capture.links
        launch = links.kinds.index(LAUNCH) if LAUNCH in links.kinds else -1
        result = []
        for lane in range(len(lanes.track)):
            track = capture.tracks[int(lanes.track[lane])]
            if track.device is None or track.role != "stream" or not self._selection.has_track(track.index):
                continue
            offset, first = int(capture.lane_offset_ns[lane]), int(lanes.first[lane])
            starts = capture.events.start[first : first + int(lanes.count[lane])]
            at = int(np.searchsorted(starts, stop + offset, "left"))
            if at == len(starts):
                continue
            index = links.arriving_many(np.array([first + at], np.int64))
            calls = links.from_row[index[links.kind[index] == launch]]
            calls = calls[(calls >= 0) & (calls < len(capture.events))]
            begin, end = (times.tolist() for times in capture.event_times(calls))
            last = int(np.argmax(begin)) if begin else -1
            thread = capture.tracks[int(capture.track_of_row(int(calls[last])))].thread if begin else None
            result.append(
                {
                    "track": self._uri(track.uri),
                    "start_ns": int(starts[at]) - offset,
                    "call_stop_ns": int(end[last]) if begin else None,
                    "thread": thread,
                }
            )
        return result

    def _copy_tracks(self) -> dict[int, int]:
        """New index of each selected track and its parents."""
        capture = self._capture
        wanted = {track.index for track in capture.tracks if self._selection.has_track(track.index)}
        for track in reversed(capture.tracks):
            if track.index in wanted and track.parent >= 0:
                wanted.add(track.parent)
        new_tracks: dict[int, int] = {}
        for track in capture.tracks:
            if track.index not in wanted:
                continue
            new_tracks[track.index] = self._builder.track(
                self._uri(track.uri),
                title=self._text(track.title),
                role=track.role,
                parent=new_tracks.get(track.parent),
                process=track.process,
                thread=track.thread,
                device=track.device,
                context=track.context,
                stream=track.stream,
                rank=track.rank,
                clock=track.clock,
                sort_key=track.sort_key,
                attributes=track.attributes,
                packing=Packing.NEST if self._is_nested(track.index) else Packing.PACK,
            )
        return new_tracks

    def _is_nested(self, track: int) -> bool:
        """Whether the lanes are nesting depths: each event lies inside one in the lane above."""
        capture = self._capture
        lanes = capture.track_lanes(track)
        for lane in list(lanes)[1:]:
            above, own = (
                slice(int(capture.lanes.first[n]), int(capture.lanes.first[n]) + int(capture.lanes.count[n]))
                for n in (lane - 1, lane)
            )
            starts = capture.events.start[own]
            holder = np.searchsorted(capture.events.start[above], starts, "right") - 1
            if (holder < 0).any():
                return False
            ends = capture.events.start[above][holder] + capture.events.duration[above][holder]
            if (starts + capture.events.duration[own] > ends).any():
                return False
        return True

    # Events

    def _copy_events(self, track: int, rows: slice) -> None:
        capture = self._capture
        events = capture.events
        start, stop = self._interval
        offset = int(capture.lane_offset_ns[capture.lane_of_row(rows.start)])
        ids = np.full(rows.stop - rows.start, NO_ROW, np.int64)
        for kind, index in rows_by_kind(capture, rows):
            starts, durations = events.start[index], events.duration[index]
            flags = events.flags[index]
            if self._selection.is_bounded:
                begins = starts - offset
                flags = np.where(begins < start, flags | np.uint8(Flag.CUT_START), flags)
                flags = np.where(begins + durations > stop, flags | np.uint8(Flag.CUT_END), flags)
            first = self._builder.add_events(
                track,
                self._text(kind),
                starts,
                durations,
                self._string_ids(events.name[index]),
                flags=flags,
                attributes=self._attributes(kind, index),
            )
            ids[index - rows.start] = np.arange(first, first + len(index))
        self._chunk_rows.append((rows.start, rows.stop))
        self._ids.append(ids)

    def _attributes(self, kind: str, rows: Int64Array) -> dict[str, Any]:
        table = self._capture.kinds[kind]
        position = table.indices_of(rows)
        attributes: dict[str, Any] = {}
        for spec in table.spec.attributes:
            column, validity = table.column(spec.name)
            values, valid = column[position], validity[position]
            if not valid.any():
                continue
            if spec.dtype == "string":
                values = self._string_ids(np.where(valid, values, 0))
            elif spec.dtype == "stack":
                values, valid = self._stacks(values, valid)
            attributes[self._text(spec.name)] = values if valid.all() else np.ma.MaskedArray(values, ~valid)
        return attributes

    def _string_ids(self, ids: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
        """String ids in the new capture, which gets only the strings that are used."""
        known = np.minimum(ids, len(self._strings) - 1)
        new = np.unique(known[self._strings[known] == _UNSEEN])
        if len(new):
            texts = self._capture.strings.get(new.tolist())
            self._strings[new] = self._builder.strings(list(map(self._text, texts)))
        new_ids: npt.NDArray[np.uint32] = self._strings[known]
        return new_ids

    def _stacks(
        self, stacks: npt.NDArray[Any], valid: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
        """Copy the used stacks and their callers to the new capture, and return their ids there."""
        frame, parent = self._capture.stacks
        valid = valid & (stacks < len(frame))
        if self._stack_map is None:
            self._stack_map = np.full(max(len(frame), 1), _UNSEEN, np.uint32)
        new = np.unique(stacks[valid])
        new = new[self._stack_map[new] == _UNSEEN].astype(np.int64)
        missing = [new]
        while len(new):
            # A parent has a smaller number; anything else is damage and ends the chain.
            above = parent[new].astype(np.int64)
            above = np.unique(above[(above != NO_STACK) & (above < new)])
            new = above[self._stack_map[above] == _UNSEEN]
            missing.append(new)
        for stack in np.unique(np.concatenate(missing)).tolist():
            above_id = int(parent[stack])
            text = int(self._string_ids(frame[stack : stack + 1])[0])
            if above_id == NO_STACK or above_id >= stack:
                self._stack_map[stack] = self._builder.stack(text)
            else:
                self._stack_map[stack] = self._builder.stack(text, int(self._stack_map[above_id]))
        return self._stack_map[np.where(valid, stacks, 0)], valid

    # Links and counters

    def _copy_links(self) -> None:
        links = self._capture.links
        if not self._ids or not len(links):
            return
        firsts = np.array([first for first, _ in self._chunk_rows], np.int64)
        stops = np.array([stop for _, stop in self._chunk_rows], np.int64)
        position = np.cumsum(np.r_[0, (stops - firsts)[:-1]])
        ids = np.concatenate(self._ids)

        def new_ids(rows: Int64Array) -> Int64Array:
            chunk = np.maximum(np.searchsorted(firsts, rows, "right") - 1, 0)
            inside = (rows >= firsts[chunk]) & (rows < stops[chunk])
            at = np.where(inside, position[chunk] + rows - firsts[chunk], 0)
            return np.where(inside, ids[at], np.int64(NO_ROW))

        for first in range(0, len(links), CHUNK_EVENTS):
            part = slice(first, first + CHUNK_EVENTS)
            sources, targets = new_ids(links.from_row[part]), new_ids(links.to_row[part])
            kinds = links.kind[part]
            keep = (sources >= 0) | (targets >= 0)
            for code in np.unique(kinds[keep]).tolist():
                chosen = keep & (kinds == code)
                self._builder.add_links(links.kind_name(code), sources[chosen], targets[chosen])

    def _copy_counters(self, tracks: dict[int, int]) -> None:
        for counter in self._capture.counters:
            if not self._selection.has_track(counter.track):
                continue
            rows = counter_slice(self._capture, counter.index, self._selection)
            if rows.stop > rows.start:
                self._builder.add_counter(
                    tracks[counter.track],
                    self._text(counter.name),
                    counter.unit,
                    counter.recorded_times[rows],
                    counter.values[rows],
                    interpolation=counter.interpolation,
                )


def _unchanged(text: str) -> str:
    return text


exporter = CaptureExporter()
