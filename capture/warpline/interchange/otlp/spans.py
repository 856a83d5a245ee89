"""Adds the spans of a trace of OpenTelemetry to a capture."""

from __future__ import annotations

from array import array
from typing import Any

import msgspec
import numpy as np

from warpline.i18n import english
from warpline.interchange.framework.columns import NO_INTEGER, clean_text, integer
from warpline.interchange.framework.event_sink import EventSink, Holder, Int64Array, masked
from warpline.interchange.framework.importer import ImportSummary
from warpline.interchange.otlp.documents import OtlpSpan, Resource, TracesData
from warpline.interchange.otlp.requests import ServedRequests
from warpline.model import Flag, links

_KINDS = ("", "internal", "server", "client", "producer", "consumer")
_BATCH = 20_000
_LINKED = -1
"""Stands for a process in references that lead within a process, too."""


class _References:
    """Spans by their ids: hashes of 64 bits with a row and a process, 16 bytes each."""

    def __init__(self) -> None:
        self._keys = array("q")
        self._rows = array("i")
        self._processes = array("i")

    def add(self, trace: str, span: str, row: int, process: int) -> None:
        self._keys.append(hash((trace, span)))
        self._rows.append(row)
        self._processes.append(process)

    def columns(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        keys, rows, processes = self._keys, self._rows, self._processes
        return np.array(keys, np.int64), np.array(rows, np.int64), np.array(processes, np.int64)


class Spans:
    """Asynchronous ranges of programs, and arrows from causes in other programs."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._builder = sink.builder
        self._rows: list[tuple[int, int, int, int, int, int, int]] = []
        """Track, start, stop, name, category, payload, flags."""
        self._spans = _References()
        self._causes = _References()
        self._requests = ServedRequests(sink)
        self._ids: list[Int64Array] = []
        self._count = 0

    def add(self, document: TracesData) -> None:
        """Adds the spans of a document."""
        for part in document.resource_spans:
            for scope in part.scope_spans:
                self.add_spans(part.resource, scope.scope.name, scope.spans)

    def add_spans(self, resource: Resource, scope: str, spans: list[OtlpSpan]) -> None:
        """Adds spans that a library made in a program."""
        process = self._process(resource)
        spec = self._sink.specs.process_async(process.uri, clean_text(scope))
        track, category = self._sink.track(spec, row=process), self._string(scope)
        for span in spans:
            self._add_span(track, process, category, span)
            if len(self._rows) >= _BATCH:
                self._flush()

    def skip(self, what: str, count: int, reason: str) -> None:
        """Counts what is left out."""
        self._sink.skip(what, count, reason)

    def _process(self, resource: Resource) -> Holder:
        values = {attribute.key: attribute.plain() for attribute in resource.attributes}
        pid = integer(values.get("process.pid"))
        name = str(values.get("service.name") or values.get("process.executable.name") or "")
        instance = str(values.get("service.instance.id") or values.get("host.name") or "")
        return self._sink.process(
            pid if pid is not None and 0 < pid < 1 << 31 else f"{name} {instance}".strip(), name
        )

    def _add_span(self, track: int, process: Holder, category: int, span: OtlpSpan) -> None:
        start, stop = integer(span.start_time_unix_nano), integer(span.end_time_unix_nano)
        values: dict[str, Any] = {attribute.key: attribute.plain() for attribute in span.attributes}
        kind = _KINDS[span.kind] if isinstance(span.kind, int) and 0 < span.kind < len(_KINDS) else ""
        if kind:
            values["span.kind"] = kind
        if span.status.message:
            values["status"] = span.status.message
        payload = self._string(msgspec.json.encode(values).decode()) if values else 0
        row = self._count + len(self._rows)
        begin = NO_INTEGER if start is None else start
        # A span without an end had not ended when it was written.
        is_open = not stop
        end = begin if stop is None or is_open else stop
        flags = int(Flag.CUT_END) if is_open else 0
        if begin != NO_INTEGER:
            self._requests.see(process, span, values, begin, max(begin, end))
        self._rows.append((track, begin, end, self._string(span.name), category, payload, flags))
        self._spans.add(span.trace_id, span.span_id, row, process.index)
        if span.parent_span_id.strip("0"):
            self._causes.add(span.trace_id, span.parent_span_id, row, process.index)
        for link in span.links:
            self._causes.add(link.trace_id, link.span_id, row, _LINKED)
        for event in span.events:
            moment = integer(event.time_unix_nano)
            when = NO_INTEGER if moment is None else moment
            self._rows.append((track, when, when, self._string(event.name), category, 0, int(Flag.INSTANT)))

    def _string(self, text: str) -> int:
        return self._builder.string(clean_text(text))

    def _flush(self) -> None:
        if not self._rows:
            return
        track, start, stop, name, category, payload, flags = np.array(self._rows, np.int64).T
        self._rows.clear()
        ids = self._sink.add(
            track,
            "range",
            np.maximum(start, -(1 << 62)),
            np.maximum(stop, -(1 << 62)),
            name.astype(np.uint32),
            flags=flags.astype(np.uint8),
            attributes={
                "category": masked(category, category == 0),
                "payload": masked(payload, payload == 0),
            },
        )
        self._ids.append(ids)
        self._count += len(ids)

    def finish(self) -> ImportSummary:
        """Adds arrows from callers in other programs, and from linked spans."""
        self._flush()
        self._requests.finish()
        keys, rows, processes = self._spans.columns()
        order = np.argsort(keys, kind="stable")
        wanted, targets, owners = self._causes.columns()
        place = np.searchsorted(keys[order], wanted, side="right") - 1
        place = order[np.maximum(place, 0)] if len(order) else np.zeros(len(wanted), np.int64)
        known = keys[place] == wanted if len(order) else np.zeros(len(wanted), bool)
        crosses = known.copy()
        crosses[known] = owners[known] != processes[place[known]]
        if crosses.any():
            ids = np.concatenate(self._ids)
            source, target = ids[rows[place[crosses]]], ids[targets[crosses]]
            usable = (source >= 0) & (target >= 0)
            if usable.any():
                self._builder.add_links(links.FLOW, source[usable], target[usable])
        self._builder.add_skipped(
            english("references to spans"),
            int((~known).sum()),
            english("the file does not contain the span"),
        )
        return self._sink.summary(utc_offset_ns=0)
