"""Importer for profiles of pprof (Go, gperftools, Rust, async-profiler): stacks with values, without times.

Source of the format: ``proto/profile.proto`` of google/pprof.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpline.i18n import english, tr
from warpline.interchange.framework.columns import MAX_TIME_NS, clean_text
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.protobuf import (
    FieldStream,
    Message,
    ProtobufError,
    integer_of,
    integers_of,
    message_of,
    read_fields,
    signed,
    text_of,
)
from warpline.interchange.framework.samples import add_stack_samples, add_weights
from warpline.interchange.framework.stack_tables import StackChains
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked
from warpline.interchange.framework.value_times import NS_PER, steps_of
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING, _DEFAULT = 1, 2, 3, 4, 5, 6, 14
_MOST_FRAMES = 1024
_THREADS = frozenset(("thread", "thread name", "thread_name"))


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
        profile = _Profile(builder)
        progress(0.0, tr("reading {what}", what=path.name))
        try:
            with path.open("rb") as file:
                for number, (place, value) in enumerate(FieldStream(unpacked(file, path))):
                    if not number % 65536:
                        check_cancelled(cancelled)
                    profile.take(place[0], value)
        except (ProtobufError, *UNPACKING_ERRORS) as error:
            builder.add_warning(
                english("The file is damaged or ends early ({error}).", error=str(error)), is_loss=True
            )
        if not profile.samples:
            raise ImportFormatError(tr("{path}: a pprof profile without samples", path=path))
        sink = EventSink(builder, options)
        profile.add_to(sink, cancelled)
        return sink.summary()


class _Profile:
    """The tables of a profile; texts are numbers in the table of strings."""

    def __init__(self, builder: CaptureBuilder) -> None:
        self._builder = builder
        self._strings: list[str] = []
        self._types: list[Message] = []
        self._locations: dict[int, bytes] = {}
        self._functions: dict[int, Message] = {}
        self._mappings: dict[int, Message] = {}
        self._frames: dict[int, list[str]] = {}
        self._default = 0
        self._damaged = 0
        self.samples: list[bytes] = []

    def take(self, number: int, value: int | bytes | None) -> None:
        """Takes a field of the profile."""
        if number == _DEFAULT and isinstance(value, int):
            self._default = value
        if not isinstance(value, bytes):
            return
        try:
            if number == _STRING:
                self._strings.append(clean_text(text_of(value)))
            elif number == _SAMPLE:
                self.samples.append(value)
            elif number == _TYPE:
                self._types.append(message_of(value))
            elif number == _LOCATION:
                self._locations[integer_of(message_of(value).get(1, 0))] = value
            elif number in (_FUNCTION, _MAPPING):
                message = message_of(value)
                table = self._functions if number == _FUNCTION else self._mappings
                table[integer_of(message.get(1, 0))] = message
        except ProtobufError:
            self._damaged += 1

    def _text(self, message: Message, field: int) -> str:
        number = integer_of(message.get(field, 0))
        return self._strings[number] if number < len(self._strings) else ""

    def add_to(self, sink: EventSink, cancelled: IsCancelled) -> None:
        """Adds the samples side by side, each as long as its value."""
        names = [self._text(entry, 1) for entry in self._types]
        units = [self._text(entry, 2) for entry in self._types]
        default = self._strings[self._default] if 0 < self._default < len(self._strings) else ""
        chosen = names.index(default) if default in names else len(names) - 1
        unit = units[chosen] if names else ""
        add_weights(self._builder, "ns" if unit in NS_PER else unit if unit == "bytes" else "")
        chains = StackChains(self._builder)
        rows: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        empty = 0
        for number, content in enumerate(self.samples):
            if not number % 4096:
                check_cancelled(cancelled)
            try:
                frames, values, thread = self._sample(content)
            except ProtobufError:
                self._damaged += 1
                continue
            value = values[chosen] if 0 <= chosen < len(values) else 0
            if value > 0:
                rows[thread].append((*chains.add(frames), value))
            else:
                empty += 1
        for thread, entries in rows.items():
            self._add_rows(sink, thread, entries, unit)
        self._builder.add_skipped(english("samples"), empty, english("their value is 0"))
        self._builder.add_skipped(english("messages"), self._damaged, english("they are damaged"))
        for name in names[:chosen] + names[chosen + 1 :]:
            self._builder.add_skipped(
                english("values of {name}", name=name),
                len(self.samples),
                english("a profile shows one sort of value"),
            )
        self._builder.add_warning(
            english(
                "The profile says how much each stack took, not when: use the flame graph. Samples stand side by side."
            )
        )

    @staticmethod
    def _add_rows(sink: EventSink, thread: str, entries: list[tuple[int, int, int]], unit: str) -> None:
        stacks, names, values = np.array(entries, np.int64).T
        lengths = steps_of(values.tolist(), unit)
        key = sink.thread("profile", thread or "all threads", thread or "all threads")
        most = MAX_TIME_NS // NS_PER.get(unit, 1)
        add_stack_samples(
            sink, key, np.cumsum(lengths) - lengths, stacks, names.astype(np.uint32), durations=lengths,
            weight=np.minimum(values, most) * NS_PER.get(unit, 1),
        )  # fmt: skip

    def _sample(self, content: bytes) -> tuple[list[str], list[int], str]:
        """Frames, outermost first, values and thread of a sample."""
        places: list[int] = []
        values: list[int] = []
        thread = ""
        for number, value in read_fields(content):
            if number == 1:
                places += integers_of(value)
            elif number == 2:
                values += [min(signed(part), 1 << 60) for part in integers_of(value)]
            elif number == 3:
                label = message_of(value)
                if self._text(label, 1) in _THREADS:
                    thread = self._text(label, 2) or str(integer_of(label.get(3, 0)))
        frames = [frame for place in reversed(places[:_MOST_FRAMES]) for frame in self._frames_of(place)]
        return frames, values, thread

    def _frames_of(self, number: int) -> list[str]:
        """The frames of a location, outermost first: a function and those inlined into it."""
        frames = self._frames.get(number)
        if frames is None:
            lines: list[str] = []
            mapping: Message = {}
            address = 0
            for field, value in read_fields(self._locations.get(number, b"")):
                if field == 2:
                    mapping = self._mappings.get(integer_of(value), {})
                elif field == 3:
                    address = integer_of(value)
                elif field == 4:
                    line = message_of(value)
                    lines.append(self._line(line))
            file = self._text(mapping, 5).rpartition("/")[2]
            frames = self._frames[number] = lines[::-1] or [f"{file or '?'}+{address:#x}"]
        return frames

    def _line(self, line: Message) -> str:
        function = self._functions.get(integer_of(line.get(1, 0)), {})
        name = self._text(function, 2) or self._text(function, 3) or "?"
        file, number = self._text(function, 4).rpartition("/")[2], integer_of(line.get(2, 0))
        return f"{name} ({file}:{number})" if file and number else name


def _begins_like_profile(head: bytes) -> bool:
    """Whether the first fields are types of values (two numbers), followed by samples."""
    types = 0
    try:
        for number, value in read_fields(head):
            if number == _TYPE and isinstance(value, bytes):
                parts = list(read_fields(value))
                if not parts or not all(field in (1, 2) and isinstance(part, int) for field, part in parts):
                    return False
                types += 1
                continue
            return types > 0 and number == _SAMPLE and isinstance(value, bytes)
    except ProtobufError:
        pass
    return False


importer = PprofImporter()
