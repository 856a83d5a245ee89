"""Importer for the text of ``perf script``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.documents import text_lines
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import LIKELY, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.kernel_texts import ns_of_seconds
from warpline.interchange.perf.samples import PerfEvents
from warpline.interchange.perf.script_lines import OtherLine, PerfSample, frame_text, parse_head, samples_of
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_LOOKED_AT = 1 << 16


class PerfScriptImporter:
    """Samples with stacks, and the scheduler's tracepoints."""

    name = "perf-script"
    title = english("Text of perf script")
    patterns = ("*.txt", "*.perf", "*.script")
    position = 72

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        if b"\x00" in head[:4096] or head.lstrip()[:1] in (b"{", b"[", b"<"):
            return NO
        lines = head[:_LOOKED_AT].decode("utf-8", "replace").splitlines()
        for line in lines:
            if line.strip() and not line.startswith("#"):
                return LIKELY if parse_head(line.strip()) is not None else NO
        return NO

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
        events = PerfEvents(sink)
        unusable = records = 0
        for entry in samples_of(text_lines(path, progress, cancelled)):
            if isinstance(entry, OtherLine):
                unusable += 1
            elif entry.event.startswith("PERF_RECORD_"):
                records += 1
                events.kernel.name(entry.thread, entry.comm, entry.process)
            else:
                _add(events, entry)
        events.finish()
        sink.skip(english("lines"), unusable, english("they are not samples of perf"))
        sink.skip(
            english("records of perf"),
            records,
            english("they are not samples, and perf.data has them in full"),
        )
        return sink.summary()


def _add(events: PerfEvents, entry: PerfSample) -> None:
    if not entry.comm.startswith(":"):
        events.kernel.name(entry.thread, entry.comm)
    events.kernel.name(entry.thread, "", entry.process)
    frames = entry.frames
    if not frames and entry.rest and (frame := frame_text(f" {entry.rest}")) is not None:
        frames = [clean_text(frame)]
    events.sample(
        ns_of_seconds(entry.time), entry.thread, entry.cpu, entry.period, entry.event, frames, entry.rest
    )


importer = PerfScriptImporter()
