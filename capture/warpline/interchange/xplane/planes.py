"""Decodes XPlane files of XLA: planes (devices, the host), their lines (streams, threads) and events.

Source of the format: ``xplane.proto`` of OpenXLA. The names follow the events of their plane, so a file is read twice.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.messages.message_tables import MISSING, MessageReader, count_or_zero
from warpline.interchange.framework.messages.schema import Schema
from warpline.interchange.framework.protobuf import (
    FieldStream,
    Message,
    ProtobufError,
    float_of,
    integer_of,
    message_of,
    read_fields,
    read_varint,
    signed,
    text_of,
)
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked

Int64Array = npt.NDArray[np.int64]
StatValue = str | int | float

_PLANE, _LINE, _EVENT = 1, 3, 4
_ERRORS, _WARNINGS, _HOSTS = 2, 3, 4
_STAT = Schema(numbers={1: "key", 2: "double", 3: "unsigned", 4: "signed", 7: "reference"}, texts={5: "text"})
_EVENTS = Schema(numbers={1: "name", 2: "offset_ps", 3: "duration_ps"}, messages={4: ("stat", _STAT)})
_NOTHING = Schema()


@dataclass(kw_only=True)
class Plane:
    """A plane without its lines. ``names`` and ``stat_names`` are by metadata id."""

    name: str = ""
    names: dict[int, str] = field(default_factory=dict)
    stat_names: dict[int, str] = field(default_factory=dict)
    stats: dict[str, StatValue] = field(default_factory=dict)
    lines: int = 0


@dataclass(kw_only=True)
class Space:
    """What a file holds beside events; ``problem`` says why reading ended early."""

    planes: list[Plane] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(kw_only=True)
class PlaneLine:
    """A line without its events; ``start_ns`` is the zero of their offsets."""

    plane: int
    number: int
    name: str
    start_ns: int


@dataclass(kw_only=True)
class PlaneEvents:
    """Some events of a line: id of the name, times in ns, and their stats as rows (event, key, value)."""

    name: Int64Array
    start: Int64Array
    stop: Int64Array
    is_instant: npt.NDArray[np.bool_]
    stat_event: Int64Array
    stat_key: Int64Array
    stat_values: list[StatValue]

    def __len__(self) -> int:
        return len(self.name)


def read_space(path: Path) -> Space:
    """Everything but the events. Damage ends reading: what stands before it is kept."""
    space = Space()
    parts: list[tuple[int, bytes]] = []
    try:
        with path.open("rb") as file:
            for (number, *inner), value in FieldStream(unpacked(file, path), enter={(_PLANE,)}):
                if number == _PLANE and not inner:
                    _finish_plane(space, parts)
                    space.planes.append(Plane())
                elif number == _PLANE and inner == [2]:
                    space.planes[-1].name = text_of(value or b"")
                elif number == _PLANE and inner == [_LINE]:
                    space.planes[-1].lines += 1
                elif number == _PLANE and inner[0] in (4, 5, 6) and isinstance(value, bytes):
                    parts.append((inner[0], value))
                elif number == _HOSTS:
                    space.hosts.append(text_of(value or b""))
                elif number in (_ERRORS, _WARNINGS):
                    space.notes.append(text_of(value or b""))
    except (ProtobufError, *UNPACKING_ERRORS) as error:
        space.problem = str(error) or type(error).__name__
    _finish_plane(space, parts)
    return space


def _finish_plane(space: Space, parts: list[tuple[int, bytes]]) -> None:
    """Decodes the names of the last plane, which may come in any order."""
    for kind, content in sorted(parts, key=lambda part: {5: 0, 4: 1, 6: 2}[part[0]]):
        plane = space.planes[-1]
        try:
            if kind == 6:
                key, value = _stat(content, plane)
                plane.stats[key] = value
                continue
            entry = message_of(content)
            meta = message_of(entry.get(2, b""))
            number = signed(integer_of(entry.get(1, meta.get(1, 0))))
        except ProtobufError:
            space.problem = "damaged names"
            continue
        name = text_of(meta.get(2, b""))
        if kind == 5:
            plane.stat_names[number] = name
        else:
            plane.names[number] = text_of(meta.get(4, b"")) or name
    parts.clear()


def _stat(content: bytes, plane: Plane) -> tuple[str, StatValue]:
    stat = message_of(content)
    key = plane.stat_names.get(signed(integer_of(stat.get(1, 0))), "")
    for number, value in stat.items():
        if number == 2:
            return key, float_of(value)
        if number in (3, 4):
            return key, integer_of(value) if number == 3 else signed(integer_of(value))
        if number == 5:
            return key, text_of(value)
        if number == 7:
            return key, plane.stat_names.get(integer_of(value), "")
    return key, ""


def read_lines(path: Path, space: Space) -> Iterator[tuple[PlaneLine, Iterator[PlaneEvents]]]:
    """The lines of a file that `read_space` has read, with their events in batches."""
    plane = -1
    try:
        with path.open("rb") as file:
            for place, value in FieldStream(unpacked(file, path), enter={(_PLANE,)}):
                if place == (_PLANE,):
                    plane += 1
                elif place == (_PLANE, _LINE) and isinstance(value, bytes) and plane < len(space.planes):
                    yield _line(plane, value, space)
    except (ProtobufError, *UNPACKING_ERRORS) as error:
        space.problem = str(error) or type(error).__name__


def _line(plane: int, content: bytes, space: Space) -> tuple[PlaneLine, Iterator[PlaneEvents]]:
    outline = MessageReader(io.BytesIO(content), _NOTHING, record=_EVENT)
    for _ in outline:
        pass
    header: Message = outline.header
    start_ns = signed(integer_of(header.get(3, 0)))
    line = PlaneLine(
        plane=plane,
        number=signed(integer_of(header.get(1, 0))),
        name=text_of(header.get(11, b"")) or text_of(header.get(2, b"")),
        start_ns=start_ns,
    )
    return line, _events(content, start_ns, space.planes[plane], space)


def _events(content: bytes, start_ns: int, plane: Plane, space: Space) -> Iterator[PlaneEvents]:
    reader = MessageReader(io.BytesIO(content), _EVENTS, record=_EVENT)
    for tables in reader:
        offset = count_or_zero(tables["record.offset_ps"])
        duration = tables["record.duration_ps"]
        values = [tables[f"record.stat.{name}"] for name in ("double", "unsigned", "signed", "reference")]
        texts = tables["record.stat.text"]
        yield PlaneEvents(
            name=count_or_zero(tables["record.name"]),
            start=start_ns + offset // 1000,
            stop=start_ns + (offset + count_or_zero(duration)) // 1000,
            is_instant=duration == MISSING,
            stat_event=tables.parent("record.stat"),
            stat_key=count_or_zero(tables["record.stat.key"]),
            stat_values=[
                tables.text(text) if text != MISSING else _value(row, plane)
                for text, *row in zip(texts.tolist(), *(column.tolist() for column in values), strict=True)
            ],
        )
    if reader.damaged or reader.problem:
        space.problem = reader.problem or "damaged events"


def _value(row: list[int], plane: Plane) -> StatValue:
    double, unsigned, number, reference = row
    if reference != MISSING:
        return plane.stat_names.get(reference, "")
    if double != MISSING:
        return float(np.int64(double).view(np.float64))
    if unsigned != MISSING:
        return unsigned & (1 << 64) - 1
    return number if number != MISSING else ""


def first_name(head: bytes) -> str | None:
    """The name of the first plane if the beginning of a file is one, else None."""
    if head[:1] != b"\x0a":
        return None
    try:
        length, at = read_varint(head, 1)
        for number, value in read_fields(head[at : at + length]):
            if number == 2:
                return text_of(value)
            if number != 1:
                break
    except ProtobufError:
        pass
    return None
