"""Importer for profiles of TensorRT engines (``trtexec --exportProfile``).

Source of the format: ``exportJSONProfile`` in samples/common/sampleReporting.cpp of https://github.com/NVIDIA/TensorRT:
an array of the number of runs and, for each layer in the order of execution, its times.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from warpline.i18n import english, tr
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.json_parts import DECODING_ERRORS, MOST_BYTES
from warpline.interchange.framework.layers import add_layers
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_HEAD = re.compile(rb'\s*\[\s*\{\s*"count"\s*:\s*\d+\s*\}\s*,\s*\{\s*"name"\s*:')
_LONGEST_MS = 1e6


class _Entry(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    count: int = 0
    name: str = ""
    average_ms: float = -1.0


_ENTRIES = msgspec.json.Decoder(list[_Entry])


class TrtexecImporter:
    """The layers of an engine one after the other, as long as they are on average."""

    name = "trtexec"
    title = english("TensorRT profile (trtexec --exportProfile)")
    patterns = ("*.json",)
    position = 64

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
        progress(0.0, tr("reading {what}", what=path.name))
        try:
            with path.open("rb") as file:
                entries = _ENTRIES.decode(unpacked(file, path).read(MOST_BYTES))
        except (*DECODING_ERRORS, *UNPACKING_ERRORS) as error:
            raise ImportFormatError(
                tr("{path}: damaged, or not complete: {reason}", path=path, reason=error)
            ) from error
        check_cancelled(cancelled)
        sink = EventSink(builder, options)
        layers = [entry for entry in entries if entry.name and 0 <= entry.average_ms < _LONGEST_MS]
        sink.skip(
            english("layers"),
            sum(1 for entry in entries if entry.name) - len(layers),
            english("they have no average time"),
        )
        runs = max((entry.count for entry in entries), default=0)
        add_layers(
            sink,
            "TensorRT",
            english("Engine layers, average of {count} runs", count=f"{runs:,}"),
            "range",
            [(layer.name, round(layer.average_ms * 1e6)) for layer in layers],
        )
        return sink.summary(None)


importer = TrtexecImporter()
