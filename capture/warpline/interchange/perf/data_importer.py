"""Importer for perf.data files of ``perf record``: samples, mappings, processes, and the scheduler's events."""

from __future__ import annotations

import io
import struct
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from warpline.i18n import english, tr
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.documents import read_content
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.kernel_raw import add_raw_event
from warpline.interchange.framework.scheduling import BLOCKED, RUNNABLE
from warpline.interchange.framework.unpacking import GZIP_MAGIC
from warpline.interchange.perf import data_file as perf
from warpline.interchange.perf.mappings import KERNEL, Mappings
from warpline.interchange.perf.sample_layout import Layouts, SampleFields
from warpline.interchange.perf.samples import PerfEvents
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_OUT, _PREEMPTED = 1 << 13, 1 << 14
_TRACEPOINT = 2


class PerfDataImporter:
    """The binary file; perf need not be installed."""

    name = "perf"
    title = english("perf.data of perf record")
    patterns = ("*perf.data*", "*.data")
    position = 71

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        return CERTAIN if head.startswith((perf.MAGIC, perf.SWAPPED)) else NO

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
        size = max(1, path.stat().st_size)
        with path.open("rb") as raw:
            file: BinaryIO = raw
            if raw.read(2) == GZIP_MAGIC:
                file = io.BytesIO(read_content(path, cancelled))
            file.seek(0)
            try:
                source = perf.PerfDataFile(file)
            except (ValueError, struct.error, OSError, OverflowError, MemoryError) as error:
                raise ImportFormatError(
                    tr("{path}: cannot be read: {reason}", path=path, reason=error)
                ) from error
            reader = _Reader(sink, source)
            try:
                for number, record in enumerate(source.records()):
                    if not number % 16384:
                        check_cancelled(cancelled)
                        progress(file.tell() / size, path.name)
                    reader.add(record)
            except (ValueError, struct.error, OSError, OverflowError) as error:
                builder.add_warning(
                    english("the file is incomplete: {reason}. The part before is kept", reason=error),
                    is_loss=True,
                )
        reader.finish()
        return sink.summary()


class _Reader:
    """Adds records to a capture."""

    def __init__(self, sink: EventSink, source: perf.PerfDataFile) -> None:
        self._sink = sink
        self._source = source
        self._events = PerfEvents(sink)
        self._layouts = Layouts(source.endian, source.events)
        self._maps = Mappings()
        self._left_out: Counter[int] = Counter()
        self._counts: dict[tuple[int, int], int] = {}
        """By id and, where threads are followed, thread."""
        self._damaged = self._lost = self._timeless = self._coreless = 0

    def _unpack(self, form: str, body: bytes, offset: int = 0) -> tuple[int, ...]:
        return struct.unpack_from(self._source.endian + form, body, offset)

    def add(self, record: perf.PerfRecord) -> None:
        """Add one record; a damaged one is counted."""
        try:
            if record.kind == perf.SAMPLE:
                self._add_sample(record.body)
            else:
                self._add_other(record)
        except (struct.error, ValueError, IndexError, OverflowError):
            self._damaged += 1

    def _add_sample(self, body: bytes) -> None:
        layout = self._layouts.of(body)
        if layout is None:
            self._damaged += 1
            return
        fields, event = layout.sample(body), layout.event
        if fields.time < 0:
            self._timeless += 1
            return
        thread = max(fields.thread, 0)
        self._events.kernel.name(thread, "", fields.process)
        tracing = self._source.tracing
        if event.kind == _TRACEPOINT and fields.raw and tracing is not None:
            form = tracing.formats.get(event.config)
            if form is not None and form.name.startswith(("sched_", "cpu_")):
                self._events.count(event.name)
                add_raw_event(
                    self._events.kernel,
                    fields.time,
                    max(fields.cpu, 0),
                    thread,
                    form,
                    fields.raw,
                    tracing.order,
                )
                return
        frames = [self._maps.text(fields.process, address) for address in fields.addresses]
        followed = thread if event.inherits else -1
        for name, period in (
            self._counted(fields, followed) if fields.counts else [(event.name, fields.period)]
        ):
            self._events.sample(fields.time, thread, fields.cpu, period, name, frames)

    def _counted(self, fields: SampleFields, thread: int) -> list[tuple[str, int]]:
        """The events of a sample's group whose counts have grown, and by how much, as ``perf script`` lists them."""
        grown = []
        for number, count in fields.counts:
            event = self._layouts.event_of(number)
            before, self._counts[number, thread] = self._counts.get((number, thread), 0), count
            if event is not None and count > before:
                grown.append((event.name, count - before))
        return grown

    def _add_other(self, record: perf.PerfRecord) -> None:
        body, kind = record.body, record.kind
        if kind in (perf.MMAP, perf.MMAP2):
            process, _thread, start, size, offset = self._unpack("2i3Q", body)
            name = body[32 if kind == perf.MMAP else 64 :].split(b"\x00", 1)[0].decode("utf-8", "replace")
            self._maps.add(KERNEL if process == -1 else process, start, size, offset, clean_text(name))
        elif kind == perf.COMM:
            process, thread = self._unpack("2i", body)
            name = body[8:24].split(b"\x00", 1)[0].decode("utf-8", "replace")
            self._events.kernel.name(thread, clean_text(name), process)
        elif kind == perf.FORK:
            process, parent, thread, _above = self._unpack("4i", body)
            self._events.kernel.name(thread, "", process)
            self._maps.forked(process, parent)
        elif kind == perf.LOST:
            self._lost += self._unpack("2Q", body)[1]
        elif kind in (perf.SWITCH, perf.SWITCH_WIDE):
            self._add_switch(record)
        elif kind != perf.EXIT:
            self._left_out[kind] += 1

    def _add_switch(self, record: perf.PerfRecord) -> None:
        layout = self._layouts.first
        fields = layout.trailer(record.body) if layout is not None else None
        if fields is None or fields.time < 0 or fields.cpu < 0:
            self._coreless += 1
            return
        thread = max(fields.thread, 0)
        if record.misc & _OUT:
            state = RUNNABLE if record.misc & _PREEMPTED else BLOCKED
            self._events.kernel.switch(fields.time, fields.cpu, thread, state, 0)
        else:
            self._events.kernel.switch(fields.time, fields.cpu, 0, RUNNABLE, thread)

    def finish(self) -> None:
        """Add what was collected, and say what was left out."""
        self._events.finish()
        skip = self._sink.skip
        compressed = self._left_out.pop(perf.COMPRESSED, 0) + self._left_out.pop(perf.COMPRESSED2, 0)
        skip(
            english("compressed records"),
            compressed,
            english("record without -z, or print them: perf script -i perf.data > samples.txt, which opens"),
        )
        skip(english("records of other sorts"), sum(self._left_out.values()), english("they are no samples"))
        skip(english("damaged records"), self._damaged, english("they are shorter than their stated size"))
        skip(
            english("samples without a time"), self._timeless, english("perf record was told not to keep it")
        )
        skip(
            english("switches without a core"),
            self._coreless,
            english("perf record --switch-events -a keeps the core"),
        )
        if self._lost:
            self._sink.builder.add_warning(
                english("perf lost {count:,} records while it recorded", count=self._lost), is_loss=True
            )


importer = PerfDataImporter()
