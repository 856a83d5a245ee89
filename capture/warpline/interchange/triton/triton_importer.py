"""Importer for request traces of Triton Inference Server (``--trace-config mode=triton``).

Source of the format: https://github.com/triton-inference-server/server/blob/main/docs/user_guide/trace.md (JSON Trace
Output).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from warpline.i18n import english, tr
from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.json_parts import DECODING_ERRORS, JsonParts, decode_elements
from warpline.interchange.framework.requests import QUEUE, RequestRows, ServedRequest
from warpline.interchange.framework.unpacking import unpacked
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_HEAD = re.compile(rb'\s*\[\s*\{\s*"id"\s*:\s*\d+\s*,\s*"(?:model_name|timestamps|activity)"\s*:')
_PHASES = (
    (QUEUE, "QUEUE_START", "COMPUTE_START"),
    ("input", "COMPUTE_START", "COMPUTE_INPUT_END"),
    ("compute", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START"),
    ("output", "COMPUTE_OUTPUT_START", "COMPUTE_END"),
)
_FARTHEST_NS = 1 << 61


class _Moment(msgspec.Struct, gc=False, frozen=True):
    name: str = ""
    ns: int = -1


class _Entry(msgspec.Struct, gc=False):
    id: int
    model_name: str = ""
    model_version: int | str = ""
    request_id: str = ""
    timestamps: list[_Moment] = []


_ENTRIES = msgspec.json.Decoder(list[_Entry])


class TritonImporter:
    """Requests with their time in the queue, of input, computation and output."""

    name = "triton"
    title = english("Triton Inference Server trace")
    patterns = ("*.json",)
    position = 63

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
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
        """See `Importer.convert`."""
        sink = EventSink(builder, options)
        known: dict[int, _Entry] = {}
        moments: dict[int, dict[str, int]] = {}
        size = max(1, path.stat().st_size)
        with path.open("rb") as file:
            parts = JsonParts(unpacked(file, path), arrays=[()])
            for part in parts:
                check_cancelled(cancelled)
                progress(file.tell() / size, tr("reading {what}", what=path.name))
                try:
                    entries, lost = decode_elements(part.text, _ENTRIES)
                except DECODING_ERRORS as error:
                    raise ImportFormatError(
                        tr("{path}: damaged, or not complete: {reason}", path=path, reason=error)
                    ) from error
                sink.skip(english("entries"), lost, english("they are damaged"))
                for entry in entries:
                    if entry.model_name:
                        known[entry.id] = entry
                    times = moments.setdefault(entry.id, {})
                    for moment in entry.timestamps:
                        if 0 <= moment.ns < _FARTHEST_NS:
                            times.setdefault(moment.name, moment.ns)
        rows = RequestRows(sink)
        holder = sink.process("Triton", "Triton")
        for number, times in moments.items():
            if times:
                rows.add(_request(number, known.get(number, _Entry(number)), times, holder))
        rows.finish()
        if not any(moments.values()) and parts.problem:
            raise ImportFormatError(
                tr("{path}: damaged, or not complete: {reason}", path=path, reason=parts.problem)
            )
        return sink.summary(None)


def _request(number: int, entry: _Entry, times: dict[str, int], holder: Holder) -> ServedRequest:
    identity = entry.request_id or str(number)
    phases = tuple(
        (name, times[first], max(times[last], times[first]))
        for name, first, last in _PHASES
        if first in times and last in times
    )
    return ServedRequest(
        holder=holder,
        id=identity,
        name=entry.model_name or identity,
        start=min(times.values()),
        stop=max(times.values()),
        phases=phases,
        model=entry.model_name,
    )


importer = TritonImporter()
