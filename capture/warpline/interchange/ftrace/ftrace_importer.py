"""Importer for ftrace's text: ``/sys/kernel/tracing/trace``, ``trace-cmd report``, atrace, and pages of systrace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.interchange.framework.documents import text_lines
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import LIKELY, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.kernel_events import KernelEvents, show_whole_trace
from warpline.interchange.framework.kernel_texts import add_kernel_event, ns_of_seconds
from warpline.interchange.ftrace.lines import parse_line
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_BYTES = 1 << 20
_TRACER = b"# tracer:"
_PAGE = re.compile(rb'class="trace-data"|trace-data|linuxPerfData|# tracer:', re.IGNORECASE)
_MARKUP = re.compile(rb"<(!|html|head|script)", re.IGNORECASE)
_HEADERS = re.compile(r"\s*(#|version = |cpus=|CPU \d+ is empty|<|\\n|$)")


class FtraceImporter:
    """Switches, wake-ups, frequencies, marks and all other events."""

    name = "ftrace"
    title = english("ftrace text, systrace page (Linux, Android)")
    patterns = ("*.txt", "*.html", "*.ftrace", "*.trace")
    position = 70

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        if b"\x00" in head[:4096]:
            return NO
        start = head.lstrip()[:64]
        if _MARKUP.match(start):  # not ``<idle>``, the name of a thread
            return LIKELY if _PAGE.search(head[:_BYTES]) else NO
        if start.startswith((_TRACER, b"TRACE:")):
            return LIKELY
        lines = head[:_BYTES].decode("utf-8", "replace").splitlines()[:200]
        return LIKELY if sum(parse_line(line) is not None for line in lines) * 2 > len(lines) else NO

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
        unusable = 0
        has_begun = False
        is_page = False
        for line in text_lines(path, progress, cancelled):
            entry = parse_line(line)
            if entry is not None:
                has_begun = True
                events.name(entry.tid, entry.comm, entry.process)
                add_kernel_event(
                    events, ns_of_seconds(entry.time), entry.cpu, entry.tid, entry.event, entry.fields
                )
            elif has_begun and not is_page:
                # In a systrace page, the code that shows the events follows them.
                is_page = line.lstrip().startswith(("</script", '\\n";', '";'))
                unusable += not is_page and _HEADERS.match(line) is None
        events.finish()
        show_whole_trace(events)
        sink.skip(english("lines"), unusable, english("they are not events of ftrace"))
        return sink.summary()


importer = FtraceImporter()
