"""Adds a Perfetto trace to a capture."""

from __future__ import annotations

import io
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english, tr
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.interchange.framework.messages.message_tables import MessageReader
from warpline.interchange.framework.unpacking import Readable, unpacked
from warpline.interchange.perfetto import field_names
from warpline.interchange.perfetto.described_tracks import DescribedTracks
from warpline.interchange.perfetto.ftrace import Ftrace
from warpline.interchange.perfetto.more_data import MoreData
from warpline.interchange.perfetto.schemas import PACKET
from warpline.interchange.perfetto.sequences import Sequences
from warpline.interchange.perfetto.track_events import TrackEvents
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_MOST_INFLATED = 64 << 20
_TABLES: tuple[tuple[str, Mapping[int, str], Callable[[str], str]], ...] = (
    ("record", field_names.PACKET, lambda name: english("packets: {name}", name=name)),
    (
        "record.event",
        field_names.TRACK_EVENT,
        lambda name: english("fields of track events: {name}", name=name),
    ),
    ("record.ftrace.event", field_names.FTRACE, lambda name: english("ftrace events: {name}", name=name)),
)


class PerfettoConverter:
    """Converts one trace."""

    def __init__(
        self, builder: CaptureBuilder, options: ImportOptions, after_piece: Callable[[], None]
    ) -> None:
        self._builder = builder
        self._after_piece = after_piece
        self._sink = EventSink(builder, options)
        self._sequences = Sequences()
        self._tree = DescribedTracks(self._sink)
        self._events = TrackEvents(self._sink, self._sequences, self._tree)
        self._ftrace = Ftrace(self._sink, self._sequences, self._tree)
        self._more = MoreData(self._sink, self._sequences, self._tree)
        self._others: Counter[tuple[str, int]] = Counter()
        self._damaged = 0
        self._problem = ""

    def read(self, source: Readable, *, is_inflated: bool = False) -> None:
        """Reads packets; ``is_inflated`` if they come out of a compressed packet."""
        reader = MessageReader(source, PACKET)
        for tables in reader:
            piece = self._sequences.piece(tables)
            self._tree.read(piece)
            self._events.add(piece)
            self._ftrace.add(piece)
            self._more.add(piece)
            self._after_piece()
            if not is_inflated:
                for code in tables["record.compressed"].tolist():
                    if code >= 0:
                        self._inflate(tables.texts[code])
        for table, _, _ in _TABLES:
            for number, count in reader.others(table).items():
                self._others[table, number] += count
        self._damaged += reader.damaged
        self._problem = self._problem or reader.problem

    def _inflate(self, packed: bytes) -> None:
        try:
            content = zlib.decompressobj().decompress(packed, _MOST_INFLATED)
        except zlib.error:
            self._damaged += 1
            return
        self.read(io.BytesIO(content), is_inflated=True)

    def finish(self) -> ImportSummary:
        """Adds what spans pieces, and says what was left out."""
        self._events.finish()
        self._ftrace.finish()
        self._more.finish()
        self._tree.set_names()
        for (table, number), count in sorted(self._others.items()):
            names, title = next((names, title) for own, names, title in _TABLES if own == table)
            if number not in field_names.QUIET or table != "record":
                name = names.get(number, f"#{number}")
                self._builder.add_skipped(title(name), count, english("Warpline does not show them yet"))
        if self._sequences.dropped:
            self._builder.add_warning(
                english(
                    "Packets were lost while recording, at {count:,} places.", count=self._sequences.dropped
                )
            )
        for clock, count in self._sequences.unknown_clocks.items():
            self._builder.add_warning(
                english(
                    "{count:,} times use clock {number}, whose offset is unknown.",
                    count=count,
                    number=clock,
                )
            )
        if self._damaged:
            self._builder.add_skipped(english("packets"), self._damaged, english("they are damaged"))
        if self._problem:
            self._builder.add_warning(
                english("The file is damaged or ends early ({error}).", error=self._problem), is_loss=True
            )
        return self._sink.summary(self._sequences.utc_offset_ns)


def convert(
    path: Path, builder: CaptureBuilder, options: ImportOptions, progress: Progress, cancelled: IsCancelled
) -> ImportSummary:
    """Adds the whole trace to the builder. Raises ImportFormatError when it is unreadable, Cancelled."""
    size = max(1, path.stat().st_size)
    with path.open("rb") as file:

        def after_piece() -> None:
            check_cancelled(cancelled)
            progress(file.tell() / size, tr("reading {what}", what=path.name))

        converter = PerfettoConverter(builder, options, after_piece)
        converter.read(unpacked(file, path))
    return converter.finish()
