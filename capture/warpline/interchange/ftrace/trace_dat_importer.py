"""Importer for trace.dat of trace-cmd; trace-cmd need not be installed."""

from __future__ import annotations

import struct
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from warpline.i18n import english, tr
from warpline.interchange.framework.columns import MAX_TIME_NS, clean_text
from warpline.interchange.framework.event_formats import FormatReader
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.kernel_events import KernelEvents, show_whole_trace
from warpline.interchange.framework.kernel_raw import add_raw_event
from warpline.interchange.ftrace.trace_dat import TraceDat
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_DAMAGE = (ValueError, struct.error, OSError, OverflowError, MemoryError)


class TraceDatImporter:
    """Switches, wake-ups, frequencies, marks and all other events."""

    name = "trace-dat"
    title = english("trace.dat of trace-cmd")
    patterns = ("*trace*.dat",)
    position = 73

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        return CERTAIN if head.startswith(FormatReader.MAGIC) else NO

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
        events = KernelEvents(sink)
        with path.open("rb") as file:
            try:
                trace = TraceDat(file)
            except _DAMAGE as error:
                raise ImportFormatError(
                    tr("{path}: cannot be read: {reason}", path=path, reason=error)
                ) from error
            if trace.version not in ("5", "6", "7"):
                raise ImportFormatError(
                    tr(
                        "{path}: a trace.dat of version {version}; Warpline reads versions 5 to 7. Convert it and "
                        "open the result: trace-cmd convert -i {quoted} --file-version 6 -o trace.v6.dat",
                        path=path,
                        version=clean_text(trace.version[:20]),
                        quoted=quote(str(path)),
                    )
                )
            for tid, name in trace.names.items():
                events.name(tid, clean_text(name))
            unknown = 0
            for index, core in enumerate(trace.cores):
                progress(index / len(trace.cores), path.name)
                try:
                    for number, (time, cpu, raw) in enumerate(trace.events(core)):
                        if not number % 16384:
                            check_cancelled(cancelled)
                        unknown += not _add(events, trace, time, cpu, raw)
                except _DAMAGE as error:
                    builder.add_warning(
                        english("events of core {core} are damaged: {reason}", core=core.cpu, reason=error),
                        is_loss=True,
                    )
        events.finish()
        show_whole_trace(events)
        sink.skip(english("events of the kernel"), unknown, english("the file does not describe them"))
        return sink.summary()


def _add(events: KernelEvents, trace: TraceDat, time: int, cpu: int, raw: bytes) -> bool:
    order = trace.reader.order
    form = trace.reader.formats.get(int.from_bytes(raw[:2], order))
    if form is None or time > MAX_TIME_NS:
        return False
    tid = max(form.number_of(raw, "common_pid", order), 0)
    if form.name == "bprint":
        text = trace.formats_of_prints.get(form.number_of(raw, "fmt", order), "")
        events.other(time, cpu, tid, form.name, clean_text(text))
    else:
        add_raw_event(events, time, cpu, tid, form, raw, order)
    return True


importer = TraceDatImporter()
