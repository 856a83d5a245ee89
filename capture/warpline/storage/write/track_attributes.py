"""Attributes of tracks: checked when they are given, written as one column for each name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from warpline.model import AttributeValue, StorageError, Track
from warpline.model.tracks import NO_ATTRIBUTES
from warpline.storage.columns.attribute_types import column_type, is_group_name
from warpline.storage.columns.schema import MAX_ATTRIBUTES, MAX_TRACK_VALUES, TRACK_ATTRIBUTE_COLUMNS
from warpline.storage.write.outputs import Datasets
from warpline.storage.write.table_writer import TextTable

_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64"}
_INT64 = range(-(1 << 63), 1 << 63)


class TrackAttributes:
    """Types of the attributes that tracks were given so far, so that each name has one."""

    def __init__(self) -> None:
        self._types: dict[str, str] = {}

    def checked(
        self, path: Path, uri: str, attributes: Mapping[str, AttributeValue]
    ) -> Mapping[str, AttributeValue]:
        """A copy of a track's attributes. Raises StorageError for what cannot be stored in the capture at ``path``."""
        if not attributes:
            return NO_ATTRIBUTES
        for name, value in attributes.items():
            attribute_type = _TYPES.get(type(value))
            if attribute_type is None or (attribute_type == "int64" and value not in _INT64):
                raise StorageError(f"{path}: attribute {name!r} of {uri} cannot be {value!r}")
            known = self._types.get(name, attribute_type)
            if {known, attribute_type} == {"int64", "float64"}:
                known = attribute_type = "float64"
            if known != attribute_type:
                raise StorageError(
                    f"{path}: attribute {name!r} of {uri} is {value!r}, of another track it is of the type {known}"
                )
            if not is_group_name(name) or (name not in self._types and len(self._types) == MAX_ATTRIBUTES):
                raise StorageError(f"{path}: {uri} cannot have an attribute {name!r}")
            self._types[name] = attribute_type
        return dict(attributes)


def write_track_attributes(out: Datasets, tracks: Sequence[Track], texts: TextTable) -> None:
    """Writes `tracks/attributes` when any track has one."""
    owners: dict[str, list[int]] = {}
    values: dict[str, list[AttributeValue]] = {}
    for track in tracks:
        for name, value in track.attributes.items():
            owners.setdefault(name, []).append(track.index)
            values.setdefault(name, []).append(value)
    if sum(map(len, owners.values())) > MAX_TRACK_VALUES:
        raise StorageError(f"its tracks have more than {MAX_TRACK_VALUES} attributes together")
    if not owners:
        return
    group = out.file.create_group("tracks/attributes")
    for name in sorted(owners):
        types = {type(value) for value in values[name]}
        attribute_type = "float64" if types == {int, float} else _TYPES[types.pop()]
        column: Sequence[AttributeValue] = values[name]
        if attribute_type == "string":
            column = [texts.id(str(value)) for value in column]
        node = group.create_group(name)
        out.put(node, "track", np.array(owners[name]), TRACK_ATTRIBUTE_COLUMNS["track"])
        dtype = column_type(attribute_type)
        out.set_attribute(out.put(node, "value", np.array(column, dtype), dtype), "type", attribute_type)
