"""Importer for traces of OpenTelemetry in JSON: documents of any size, or a document per line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from warpline.i18n import english, tr
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.json_parts import (
    DECODING_ERRORS,
    MOST_BYTES,
    JsonPart,
    JsonParts,
    Pattern,
    decode_elements,
)
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked
from warpline.interchange.otlp.documents import Library, OtlpSpan, Resource, TracesData
from warpline.interchange.otlp.spans import Spans
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_HEAD = re.compile(rb'\s*\{\s*"resourceSpans"\s*:')
_RESOURCE: Pattern = ("resourceSpans", "*", "resource")
_SCOPE: Pattern = ("resourceSpans", "*", "scopeSpans", "*", "scope")
_SPANS: Pattern = ("resourceSpans", "*", "scopeSpans", "*", "spans")
_PART_BYTES = 4 << 20
_LINE_BYTES = 16 << 20
"""A longer first line is a document to read in parts."""
_DOCUMENT = msgspec.json.Decoder(TracesData)
_SPAN_LIST = msgspec.json.Decoder(list[OtlpSpan])


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
        spans = Spans(EventSink(builder, options))
        size = max(1, path.stat().st_size)
        with path.open("rb") as file:

            def after_part() -> None:
                check_cancelled(cancelled)
                progress(file.tell() / size, tr("reading {what}", what=path.name))

            damaged, problem = 0, ""
            if _has_document_lines(file, path):
                for line in _lines(file, path):
                    after_part()
                    try:
                        spans.add(_DOCUMENT.decode(line))
                    except DECODING_ERRORS as error:
                        damaged += 1
                        problem = problem or str(error)
            else:
                damaged, problem = _PartReader(file, path, spans, after_part).read()
        summary = spans.finish()
        if summary.start_ns is None and (damaged or problem):
            raise ImportFormatError(
                tr("{path}: damaged, or not complete: {reason}", path=path, reason=problem)
            )
        builder.add_skipped(english("documents"), damaged, english("they are damaged"))
        return summary


def _has_document_lines(file: BinaryIO, path: Path) -> bool:
    """Whether the first line is a whole document."""
    for line in _lines(file, path, _LINE_BYTES):
        try:
            _DOCUMENT.decode(line)
        except DECODING_ERRORS:
            return False
        return True
    return False


def _lines(file: BinaryIO, path: Path, most_bytes: int = MOST_BYTES) -> Iterator[bytes]:
    """The lines that are not empty; too long ones are cut. A damaged archive is read up to the damage."""
    file.seek(0)
    source = unpacked(file, path)
    rest: list[bytes] = []
    held = 0
    while True:
        try:
            part = source.read(_PART_BYTES)
        except UNPACKING_ERRORS:
            part = b""
        first, *lines = part.split(b"\n")
        if held <= most_bytes:
            rest.append(first)
            held += len(first)
        if not part or lines or held > most_bytes:
            whole = b"".join(rest)
            if whole.strip():
                yield whole
        if not part:
            return
        if lines:
            yield from (line for line in lines[:-1] if line.strip())
            rest, held = [lines[-1]], len(lines[-1])


class _PartReader:
    """Reads documents that may be larger than memory: first what names the spans, then the spans."""

    def __init__(self, file: BinaryIO, path: Path, spans: Spans, after_part: Callable[[], None]) -> None:
        self._file = file
        self._path = path
        self._spans = spans
        self._after_part = after_part

    def _parts(
        self, *, arrays: list[Pattern] | None = None, values: list[Pattern] | None = None
    ) -> JsonParts:
        self._file.seek(0)
        return JsonParts(unpacked(self._file, self._path), arrays=arrays or (), values=values or ())

    def read(self) -> tuple[int, str]:
        """The number of damaged documents, and what is wrong with the first."""
        resources: dict[tuple[int, ...], Resource] = {}
        scopes: dict[tuple[int, ...], str] = {}
        for part in self._parts(values=[_RESOURCE, _SCOPE]):
            self._after_part()
            try:
                if part.path[-1] == "scope":
                    scopes[_place(part)] = msgspec.json.decode(part.text, type=Library).name
                else:
                    resources[_place(part)] = msgspec.json.decode(part.text, type=Resource)
            except DECODING_ERRORS:
                continue
        parts = self._parts(arrays=[_SPANS])
        for part in parts:
            self._after_part()
            found, lost = decode_elements(part.text, _SPAN_LIST)
            place = _place(part)
            self._spans.add_spans(resources.get(place[:2], Resource()), scopes.get(place, ""), found)
            self._spans.skip(english("spans"), lost, english("they are damaged"))
        return parts.damaged, parts.problem


def _place(part: JsonPart) -> tuple[int, ...]:
    """The numbers of document, resource and scope."""
    return part.document, *(step for step in part.path if isinstance(step, int))


importer = OtlpImporter()
