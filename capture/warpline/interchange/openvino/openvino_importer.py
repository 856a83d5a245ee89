"""Importer for reports of OpenVINO's benchmark_app (``-report_type detailed_counters`` or ``average_counters``).

Source of the format: tools/benchmark_tool/openvino/tools/benchmark/utils/statistics_report.py of
https://github.com/openvinotoolkit/openvino: a table of the layers in the order of execution, with ``;`` between
columns. A detailed report has a table for each infer request.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.interchange.framework.documents import text_lines
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.layers import add_layers, strings
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_HEADS = (b"layerName;execStatus;layerType;execType;", b"layer name;exec status;layer type;exec type;")
_COLUMNS = 6
_LONGEST_MS = 1e6


class OpenVinoImporter:
    """The executed layers one after the other, as operators named by their type."""

    name = "openvino"
    title = english("OpenVINO report (benchmark_app -report_type detailed_counters)")
    patterns = ("*.csv",)
    position = 65

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        return CERTAIN if head.startswith(_HEADS) else NO

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
        layers: list[tuple[str, int]] = []
        details: list[str] = []
        lost = 0
        for line in text_lines(path, progress, cancelled):
            words = line.split(";")
            if len(words) != _COLUMNS or words[0].casefold() == "total" or line.encode().startswith(_HEADS):
                continue
            if not words[1].endswith("EXECUTED"):
                continue
            length = _nanoseconds(words[4])
            if length is None:
                lost += 1
                continue
            layers.append((words[2] or words[0], length))
            details.append(f"layer={words[0]}; kernel={words[3]}")
        sink.skip(english("layers"), lost, english("they have no time"))
        add_layers(
            sink,
            "OpenVINO",
            english("Layers of the network, one after the other"),
            "operator",
            layers,
            {"arguments": strings(sink, details)},
        )
        return sink.summary(None)


def _nanoseconds(milliseconds: str) -> int | None:
    try:
        value = float(milliseconds)
    except ValueError:
        return None
    return round(value * 1e6) if 0 <= value < _LONGEST_MS else None


importer = OpenVinoImporter()
