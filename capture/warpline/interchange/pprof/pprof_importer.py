"""Importer for profiles of pprof (Go, gperftools, Rust, async-profiler): stacks with values, without times.

Source of the format: ``proto/profile.proto`` of google/pprof.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english, tr
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.messages.message_tables import MessageReader
from warpline.interchange.framework.protobuf import FieldStream, ProtobufError, read_fields
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked
from warpline.interchange.pprof.profile_samples import SAMPLE, ProfileSamples
from warpline.interchange.pprof.profile_tables import SAMPLE_FIELD, TYPE_FIELD, ProfileTables
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder


class PprofImporter:
    """``*.pb.gz``, ``*.pprof``."""

    name = "pprof"
    title = english("pprof profile")
    patterns = ("*.pb.gz", "*.pprof")
    position = 66

    def recognise(self, head: bytes, path: Path) -> float:
        del path
        return CERTAIN if _begins_like_profile(head) else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        tables = ProfileTables()
        size = 2 * max(1, path.stat().st_size)
        with path.open("rb") as file:

            def after_part(before: int) -> None:
                check_cancelled(cancelled)
                progress((before + file.tell()) / size, tr("reading {what}", what=path.name))

            # Samples precede the tables that their numbers refer to.
            try:
                for number, (place, value) in enumerate(FieldStream(unpacked(file, path))):
                    if not number % 65536:
                        after_part(0)
                    tables.take(place[0], value)
            except (ProtobufError, *UNPACKING_ERRORS) as error:
                builder.add_warning(
                    english("The file is damaged or ends early ({error}).", error=str(error)), is_loss=True
                )
            if not tables.sample_count:
                raise ImportFormatError(tr("{path}: a pprof profile without samples", path=path))
            samples = ProfileSamples(builder, tables)
            file.seek(0)
            reader = MessageReader(unpacked(file, path), SAMPLE, record=SAMPLE_FIELD)
            for piece in reader:
                samples.add(piece)
                after_part(size // 2)
        sink = EventSink(builder, options)
        samples.add_to(sink)
        builder.add_skipped(english("messages"), tables.damaged + reader.damaged, english("they are damaged"))
        return sink.summary()


def _begins_like_profile(head: bytes) -> bool:
    """Whether the first fields are those of a profile, among them types of values and what samples are made of.

    They may come in any order: Go begins with the time, and writes locations before samples.
    """
    numbers: set[int] = set()
    try:
        for number, value in read_fields(head):
            if number not in _FIELDS or (
                number != _COMMENT and isinstance(value, bytes) != (number in _MESSAGES)
            ):
                return False
            if number in _NUMBERS_INSIDE and isinstance(value, bytes):
                parts = list(read_fields(value))
                if not parts or not all(field in _NUMBERS_INSIDE[number] for field, _ in parts):
                    return False
                # Other formats (Perfetto, XPlane) have texts or messages in this field.
                if number == TYPE_FIELD and not all(isinstance(part, int) for _, part in parts):
                    return False
            numbers.add(number)
            if TYPE_FIELD in numbers and len(numbers & _NUMBERS_INSIDE.keys()) >= _ENOUGH:
                return True
    except ProtobufError:
        pass
    return False


_MESSAGES = frozenset({1, 2, 3, 4, 5, 6, 11})
_FIELDS = frozenset(range(1, 16))
_COMMENT = 13
"""The field of comments: one number per field, or all packed."""
_NUMBERS_INSIDE = {
    TYPE_FIELD: frozenset({1, 2}),
    SAMPLE_FIELD: frozenset({1, 2, 3}),
    3: frozenset(range(1, 11)),
    4: frozenset(range(1, 6)),
    5: frozenset(range(1, 6)),
}
"""Fields of types, samples, mappings, locations, functions."""
_ENOUGH = 2

importer = PprofImporter()
