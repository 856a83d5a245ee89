"""Reads the self-describing parts of a capture: event kinds with their attributes, and attributes of tracks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from warpline.model import AttributeSpec, AttributeValue, KindSpec
from warpline.storage.columns.attribute_types import ATTRIBUTE_TYPES, column_type
from warpline.storage.columns.column_source import CaptureFile
from warpline.storage.columns.kind_table import KindTable
from warpline.storage.columns.schema import (
    MAX_ATTRIBUTES,
    MAX_KINDS,
    MAX_TRACK_VALUES,
    TRACK_ATTRIBUTE_COLUMNS,
)
from warpline.storage.columns.strings import Strings
from warpline.storage.read import version_0

Array = npt.NDArray[Any]

TRACK_ATTRIBUTES = "tracks/attributes"


def read_kinds(file: CaptureFile, n_events: int) -> dict[str, KindTable]:
    """The kinds of events, by name, in the order of their codes."""
    names = file.names("kinds")
    if len(names) > MAX_KINDS:
        raise file.error(f"it describes {len(names)} kinds of events")
    tables = [_read_kind(file, name, n_events) for name in names]
    if len({table.code for table in tables}) != len(tables):
        raise file.error("two of its kinds of events have the same code")
    return {table.spec.name: table for table in sorted(tables, key=lambda table: table.code)}


def _read_kind(file: CaptureFile, name: str, n_events: int) -> KindTable:
    path = f"kinds/{name}"
    code = file.attribute(path, "code")
    if not isinstance(code, int) or not 0 <= code < MAX_KINDS:
        raise file.error(f"kind {name} has the code {code}")
    names = file.names(f"{path}/attributes")
    if len(names) > MAX_ATTRIBUTES:
        raise file.error(f"kind {name} has {len(names)} attributes")
    specs = (_read_attribute(file, f"{path}/attributes/{attribute}", attribute) for attribute in names)
    spec = KindSpec(
        name,
        file.text(path, "title", name),
        file.text(path, "category", "other"),
        file.text(path, "color", "neutral"),
        tuple(attribute for attribute in specs if attribute is not None),
    )
    return KindTable(file, spec, code, n_events)


def _read_attribute(file: CaptureFile, path: str, name: str) -> AttributeSpec | None:
    """The description of an attribute; None if its type is unknown."""
    attribute_type = version_0.attribute_type(file, name, str(file.attribute(path, "type")))
    if attribute_type not in ATTRIBUTE_TYPES:
        return None
    try:
        enum = orjson.loads(file.text(path, "enum", "{}"))
        named = {int(number): str(text) for number, text in enum.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise file.error(f"the enumeration of {path} is damaged") from error
    return AttributeSpec(
        name, attribute_type, file.text(path, "title", name), file.text(path, "unit", ""), named
    )


def read_track_attributes(
    file: CaptureFile, strings: Strings, tracks: int
) -> dict[int, dict[str, AttributeValue]]:
    """Attributes of tracks by track index; tracks without attributes and attributes of unknown types are left out."""
    by_track: dict[int, dict[str, AttributeValue]] = {}
    names = file.names(TRACK_ATTRIBUTES)
    if len(names) > MAX_ATTRIBUTES:
        raise file.error(f"its tracks have {len(names)} attributes")
    room = MAX_TRACK_VALUES
    for name in names:
        path = f"{TRACK_ATTRIBUTES}/{name}"
        attribute_type = str(file.attribute(f"{path}/value", "type"))
        if attribute_type not in ATTRIBUTE_TYPES:
            continue
        owners = file.column(f"{path}/track", TRACK_ATTRIBUTE_COLUMNS["track"], limit=min(tracks, room))
        values = file.column(f"{path}/value", column_type(attribute_type), count=len(owners))
        room -= len(owners)
        if (
            np.any(owners[1:] <= owners[:-1])
            or (len(owners) and int(owners[-1]) >= tracks)
            or (attribute_type == "string" and np.any(values >= len(strings)))
        ):
            raise file.error(f"attribute {name} of its tracks is damaged")
        for track, value in zip(
            owners.tolist(), _python_values(values, attribute_type, strings), strict=True
        ):
            by_track.setdefault(track, {})[name] = value
    return by_track


def _python_values(values: Array, attribute_type: str, strings: Strings) -> list[AttributeValue]:
    if attribute_type == "string":
        return [*strings.get(values.tolist())]
    plain: list[AttributeValue] = (
        values.astype(bool).tolist() if attribute_type == "bool" else values.tolist()
    )
    return plain
