"""Importer for traces of OpenTelemetry in JSON: one document, or a document per line.

Source of the format: ``opentelemetry/proto/trace/v1/trace.proto`` in its JSON encoding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from warpline.i18n import english, tr
from warpline.interchange.framework.columns import NO_INTEGER, clean_text, integer
from warpline.interchange.framework.documents import read_content
from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.model import Flag, ImportFormatError, links
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_HEAD = re.compile(rb'\s*\{\s*"resourceSpans"\s*:')
_KINDS = ("", "internal", "server", "client", "producer", "consumer")
_BATCH = 20_000


class Value(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """A value of one of several types."""

    string_value: str | None = None
    int_value: int | str | None = None
    double_value: float | str | None = None
    bool_value: bool | None = None
    array_value: Any = None
    kvlist_value: Any = None

    def plain(self) -> Any:
        """The value, whatever its type."""
        fields = (self.string_value, self.int_value, self.double_value, self.bool_value, self.array_value)
        return next((field for field in fields if field is not None), self.kvlist_value)


class Attribute(msgspec.Struct, gc=False, frozen=True):
    """A name with a value."""

    key: str = ""
    value: Value = Value()


class SpanEvent(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """A moment in a span."""

    time_unix_nano: int | str = 0
    name: str = ""


class SpanLink(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """Another span that caused one."""

    span_id: str = ""
    trace_id: str = ""


class Status(msgspec.Struct, gc=False, frozen=True):
    """How a span ended."""

    code: int | str = 0
    message: str = ""


class OtlpSpan(msgspec.Struct, frozen=True, rename="camel"):
    """An operation."""

    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    name: str = ""
    kind: int | str = 0
    start_time_unix_nano: int | str = 0
    end_time_unix_nano: int | str = 0
    attributes: list[Attribute] = []
    events: list[SpanEvent] = []
    links: list[SpanLink] = []
    status: Status = Status()


class Library(msgspec.Struct, frozen=True):
    """The library that made spans."""

    name: str = ""


class ScopeSpans(msgspec.Struct, frozen=True):
    """Spans of a library."""

    scope: Library = Library()
    spans: list[OtlpSpan] = []


class Resource(msgspec.Struct, frozen=True):
    """The program that made spans."""

    attributes: list[Attribute] = []


class ResourceSpans(msgspec.Struct, frozen=True, rename="camel"):
    """Spans of a program."""

    resource: Resource = Resource()
    scope_spans: list[ScopeSpans] = []


class TracesData(msgspec.Struct, frozen=True, rename="camel"):
    """A document."""

    resource_spans: list[ResourceSpans] = []


class OtlpImporter:
    """What the file exporter of a collector writes."""

    name = "otlp"
    title = english("OpenTelemetry trace (OTLP JSON)")
    patterns = ("*.json", "*.jsonl")
    position = 62

    def recognise(self, head: bytes, path: Path) -> float:
        del path
        return CERTAIN if _HEAD.match(head) else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        reader = _Reader(EventSink(builder, options))
        for share, document in _documents(path, builder, cancelled):
            progress(share, tr("reading {what}", what=path.name))
            reader.add(document)
        return reader.finish()


def _documents(
    path: Path, builder: CaptureBuilder, cancelled: IsCancelled
) -> Iterator[tuple[float, TracesData]]:
    content = read_content(path, cancelled)
    decoder = msgspec.json.Decoder(TracesData)
    failures = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, OverflowError)
    try:
        yield 0.0, decoder.decode(content)
        return
    except failures as error:
        whole = error
    lines = content.split(b"\n")
    damaged = 0
    for place, line in enumerate(lines):
        check_cancelled(cancelled)
        if line.strip():
            try:
                yield place / len(lines), decoder.decode(line)
            except failures:
                damaged += 1
    if damaged == sum(bool(line.strip()) for line in lines):
        raise ImportFormatError(
            tr("{path}: damaged, or not complete: {reason}", path=path, reason=str(whole).split("\n")[0])
        ) from whole
    builder.add_skipped(english("documents"), damaged, english("they are damaged"))


class _Reader:
    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._builder = sink.builder
        self._rows: list[tuple[int, int, int, int, int, int, int]] = []
        """Track, start, stop, name, category, payload, flags."""
        self._spans: dict[tuple[str, str], tuple[int, Holder]] = {}
        self._causes: list[tuple[tuple[str, str], int, Holder, bool]] = []
        self._ids: list[int] = []

    def add(self, document: TracesData) -> None:
        """Adds the spans of a document."""
        for part in document.resource_spans:
            process = self._process(part.resource)
            for scope in part.scope_spans:
                spec = self._sink.specs.process_async(process.uri, clean_text(scope.scope.name))
                track = self._sink.track(spec, row=process)
                for span in scope.spans:
                    self._add_span(track, process, scope.scope.name, span)
        if len(self._rows) >= _BATCH:
            self._flush()

    def _process(self, resource: Resource) -> Holder:
        values = {attribute.key: attribute.value.plain() for attribute in resource.attributes}
        pid = integer(values.get("process.pid"))
        name = str(values.get("service.name") or values.get("process.executable.name") or "")
        instance = str(values.get("service.instance.id") or values.get("host.name") or "")
        return self._sink.process(
            pid if pid is not None and 0 < pid < 1 << 31 else f"{name} {instance}".strip(), name
        )

    def _add_span(self, track: int, process: Holder, scope: str, span: OtlpSpan) -> None:
        start, stop = integer(span.start_time_unix_nano), integer(span.end_time_unix_nano)
        values: dict[str, Any] = {attribute.key: attribute.value.plain() for attribute in span.attributes}
        kind = _KINDS[span.kind] if isinstance(span.kind, int) and 0 < span.kind < len(_KINDS) else ""
        if kind:
            values["span.kind"] = kind
        if span.status.message:
            values["status"] = span.status.message
        payload = self._string(msgspec.json.encode(values).decode()) if values else 0
        category = self._string(scope)
        row = len(self._ids) + len(self._rows)
        begin = NO_INTEGER if start is None else start
        # A span without an end had not ended when it was written.
        is_open = not stop
        end = begin if stop is None or is_open else stop
        flags = int(Flag.CUT_END) if is_open else 0
        self._rows.append((track, begin, end, self._string(span.name), category, payload, flags))
        self._spans[span.trace_id, span.span_id] = row, process
        if span.parent_span_id:
            self._causes.append(((span.trace_id, span.parent_span_id), row, process, True))
        self._causes += [((link.trace_id, link.span_id), row, process, False) for link in span.links]
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
                "category": np.ma.MaskedArray(category, category == 0),
                "payload": np.ma.MaskedArray(payload, payload == 0),
            },
        )
        self._ids += ids.tolist()

    def finish(self) -> ImportSummary:
        """Adds arrows from callers in other programs, and from linked spans."""
        self._flush()
        pairs: list[tuple[int, int]] = []
        missing = 0
        for cause, row, process, is_parent in self._causes:
            source = self._spans.get(cause)
            if source is None:
                missing += 1
            elif not is_parent or source[1] is not process:
                pairs.append((self._ids[source[0]], self._ids[row]))
        usable = np.array([pair for pair in pairs if min(pair) >= 0], np.int64).reshape(-1, 2)
        if len(usable):
            self._builder.add_links(links.FLOW, usable[:, 0], usable[:, 1])
        self._builder.add_skipped(
            english("references to spans"), missing, english("the file does not hold the span")
        )
        return self._sink.summary(utc_offset_ns=0)


importer = OtlpImporter()
