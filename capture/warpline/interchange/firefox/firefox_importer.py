"""Importer for profiles of the Firefox Profiler: of Firefox, samply, and tools that write its format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from warpline.i18n import english
from warpline.interchange.firefox.tables import NO_TIME, ProfileTable, ThreadTables, fitted
from warpline.interchange.framework.columns import Int64Array, clean_text, floats
from warpline.interchange.framework.documents import Document, read_document
from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.pairing import match_borders
from warpline.interchange.framework.samples import add_stack_samples, add_weights
from warpline.interchange.framework.stack_tables import stacks_of_nodes
from warpline.interchange.trace_json.tracks import number_of
from warpline.model import Flag
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.recording.symbols.demangle import demangle_frame

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_MARKS = (rb'"threads"\s*:', rb'"meta"\s*:', rb'"(?:stackwalk|interval|preprocessedProfileVersion)"\s*:')
_INSTANT, _INTERVAL, _BEGIN, _END = range(4)
"""Phases of markers."""
_UNITS = {"tracing-ms": "ns", "bytes": "bytes"}


class FirefoxImporter:
    """Threads with samples and markers, and counters of processes."""

    name = "firefox"
    title = english("Firefox Profiler profile (Firefox, samply)")
    patterns = ("*.json", "*.json.gz")
    position = 64

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        if not head.lstrip().startswith(b"{") or b'"traceEvents"' in head[:4096]:
            return NO
        found = sum(re.search(mark, head) is not None for mark in _MARKS)
        is_profile = found == len(_MARKS) or (found == 2 and b'"stackTable"' in head)
        return CERTAIN if is_profile else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        document = read_document(path, Document, cancelled)
        if "threads" not in document and isinstance(inner := document.get("profile"), dict):
            document = inner  # Firefox's old developer tools put other things around it
        sink = EventSink(builder, options)
        start_ms = _start_ms(document)
        processes = list(_processes(document))
        threads = [(part, thread) for part in processes for thread in _objects(part.get("threads"))]
        units = {_UNITS.get(str(_part(thread, "samples").get("weightType")), "") for _part_, thread in threads
                 if _part(thread, "samples").get("weight")}  # fmt: skip
        if units:
            add_weights(builder, units.pop() if len(units) == 1 else "")
        for number, (part, thread) in enumerate(threads):
            check_cancelled(cancelled)
            progress(0.5 + 0.5 * number / len(threads), path.name)
            # Processes count from their own beginnings.
            shift = round((_start_ms(part) - start_ms) * 1e6) if part is not document else 0
            _ThreadReader(sink, thread, part.get("shared", document.get("shared")), shift).read(
                bool(units), number
            )
        for part in processes:
            shift = round((_start_ms(part) - start_ms) * 1e6) if part is not document else 0
            for counter in _objects(part.get("counters")):
                _add_counter(sink, counter, shift)
        return sink.summary(round(start_ms * 1e6) if start_ms else None)


def _processes(document: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    yield document
    if depth < 8:
        for part in _objects(document.get("processes")):
            yield from _processes(part, depth + 1)


def _objects(values: Any) -> list[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _part(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def _start_ms(part: Mapping[str, Any]) -> float:
    value = _part(part, "meta").get("startTime")
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e13 else 0.0


class _ThreadReader:
    """Adds one thread."""

    def __init__(self, sink: EventSink, thread: Mapping[str, Any], shared: Any, shift_ns: int) -> None:
        self._sink = sink
        self._thread = thread
        self._tables = ThreadTables(thread, shared)
        self._shift = shift_ns

    def read(self, has_weights: bool, number: int) -> None:
        name = clean_text(str(self._thread.get("name") or f"thread {number}"))
        pid, tid = (number_of(self._thread.get(key)) for key in ("pid", "tid"))
        process = clean_text(str(self._thread.get("processName") or self._thread.get("processType") or ""))
        key: int | str = pid if pid >= 0 else str(self._thread.get("pid") or process or "process")
        self._sink.process(key, process)
        row = self._sink.thread(key, tid if tid >= 0 else f"{number} {name}", name)
        self._add_samples(row, has_weights)
        self._add_markers(row)

    def _add_samples(self, row: Holder, has_weights: bool) -> None:
        samples = self._tables.table("samples") if "samples" in self._thread else ProfileTable(None)
        times = samples.times("time")
        if times is None and (steps := samples.times("timeDeltas")) is not None:
            times = np.cumsum(np.where(steps == NO_TIME, 0, steps))
        if times is None or not len(times):
            return
        builder, table = self._sink.builder, self._tables.table("stackTable")
        texts = builder.strings(map(demangle_frame, self._tables.frames())).tolist()
        frame = table.indexes("frame")
        frames = [texts[index] if 0 <= index < len(texts) else 0 for index in frame.tolist()]
        stacks = np.append(
            stacks_of_nodes(builder, frames, fitted(table.indexes("prefix"), len(frame), -1).tolist()), -1
        )
        leaves = np.append(np.array(frames, np.uint32), builder.string(english("no stack"))).astype(np.uint32)
        stack = fitted(samples.indexes("stack"), len(times), -1)
        at = np.where((stack >= 0) & (stack < len(frames)), stack, len(frames))
        attributes = {}
        if has_weights:
            weight = samples.column("weight")
            values = np.ma.filled(floats(weight if weight is not None else [1] * len(times)), 1.0)
            scale = 1e6 if samples_unit(self._thread) == "ns" else 1
            attributes["weight"] = np.rint(np.resize(values, len(times)) * scale).astype(np.int64)
        times = np.where(times == NO_TIME, times, times + self._shift)
        add_stack_samples(self._sink, row, times, stacks[at], leaves[at], **attributes)

    def _add_markers(self, row: Holder) -> None:
        markers = self._tables.table("markers") if "markers" in self._thread else ProfileTable(None)
        names = markers.indexes("name")
        count = len(names)
        if not count:
            return
        data = markers.column("data") or [None] * count
        start, stop, phase = self._spans(markers, data, count)
        texts = self._sink.builder.strings([self._tables.text(index) for index in names.tolist()])
        payloads = self._sink.builder.strings([_json(value) for value in data[:count]])
        payloads = np.append(payloads, np.zeros(count - len(payloads), np.uint32)).astype(np.uint32)
        whole = np.flatnonzero((phase == _INSTANT) | (phase == _INTERVAL))
        borders = np.flatnonzero((phase == _BEGIN) | (phase == _END))
        begins = phase[borders] == _BEGIN
        moment = np.where(begins, start[borders], stop[borders])
        pairs = match_borders(names[borders], moment, begins, np.zeros(len(borders), np.int64), strict=True)
        opened = borders[pairs.begin]
        is_open = pairs.end < 0
        last = int(moment[moment != NO_TIME].max(initial=0))
        until = np.where(is_open, np.maximum(start[opened], last), moment[pairs.end])
        rows = np.r_[whole, opened]
        begin, end = start[rows], np.r_[np.where(phase[whole] == _INSTANT, start[whole], stop[whole]), until]
        flags = np.r_[np.where(phase[whole] == _INSTANT, Flag.INSTANT, 0), np.where(is_open, Flag.CUT_END, 0)]
        ids = payloads[rows]
        self._sink.add(
            self._sink.thread_track(row, "ranges"),
            "range",
            np.where(begin == NO_TIME, begin, begin + self._shift),
            np.where(end == NO_TIME, end, end + self._shift),
            texts[rows],
            flags=flags.astype(np.uint8),
            attributes={"payload": np.ma.MaskedArray(ids, ids == 0)},
        )
        self._sink.skip(
            english("ends of markers"), pairs.lone_ends, english("no marker of this name was open")
        )

    @staticmethod
    def _spans(
        markers: ProfileTable, data: list[Any], count: int
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Start, stop and phase of each marker; older profiles give one time, and intervals in ``data``."""
        start, stop = markers.times("startTime"), markers.times("endTime")
        if start is not None and stop is not None:
            phase = fitted(markers.indexes("phase"), count, _INSTANT)
            phase = np.where((phase < _INSTANT) | (phase > _END), _INSTANT, phase)
            return fitted(start, count, NO_TIME), fitted(stop, count, NO_TIME), phase
        moments = markers.times("time")
        if moments is None:
            moments = np.full(count, NO_TIME, np.int64)
        rows = [value if isinstance(value, dict) else {} for value in [*data, *[None] * count][:count]]
        table = ProfileTable({key: [row.get(key) for row in rows] for key in ("startTime", "endTime")})
        start, stop = table.times("startTime"), table.times("endTime")
        assert start is not None, "the column was just made"
        assert stop is not None, "the column was just made"
        has_both = (start != NO_TIME) & (stop != NO_TIME)
        words = {"start": _BEGIN, "end": _END}
        phase = np.array([words.get(str(row.get("interval")), _INSTANT) for row in rows], np.int64)
        phase[has_both] = _INTERVAL
        moments = fitted(moments, count, NO_TIME)
        return np.where(has_both, start, moments), np.where(has_both, stop, moments), phase


def samples_unit(thread: Mapping[str, Any]) -> str:
    """The unit of the weights of a thread's samples."""
    return _UNITS.get(str(_part(thread, "samples").get("weightType")), "")


def _json(value: Any) -> str:
    return clean_text(msgspec.json.encode(value).decode("utf-8", "replace")) if value else ""


def _add_counter(sink: EventSink, counter: Mapping[str, Any], shift_ns: int) -> None:
    pid = number_of(counter.get("pid"))
    key: int | str = pid if pid >= 0 else str(counter.get("pid") or "process")
    process = sink.process(key)
    name = clean_text(str(counter.get("name") or counter.get("category") or "counter"))
    is_memory = str(counter.get("category")) == "Memory"
    groups = _objects(counter.get("sampleGroups")) or [counter]
    for group in groups:
        table = ProfileTable(group.get("samples"))
        times, values = table.times("time"), table.column("count")
        if times is None and (steps := table.times("timeDeltas")) is not None:
            times = np.cumsum(np.where(steps == NO_TIME, 0, steps))
        if times is None or values is None:
            continue
        counts = np.ma.filled(floats(values), 0.0)[: len(times)]
        # A memory counter records changes.
        counts = np.cumsum(counts) if is_memory else counts
        times = times[: len(counts)]
        track = sink.track(sink.specs.process_counter(process.uri, name, name), row=process)
        sink.add_counter(
            track,
            name,
            "bytes" if is_memory else "",
            np.where(times == NO_TIME, times, times + shift_ns),
            counts,
        )


importer = FirefoxImporter()
