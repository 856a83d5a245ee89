"""Types that values of attributes may have, and the columns that hold them."""

from __future__ import annotations

_COLUMNS = {
    "string": "<u4",
    "stack": "<u4",
    "bool": "|u1",
    "int8": "|i1",
    "int16": "<i2",
    "int32": "<i4",
    "int64": "<i8",
    "uint8": "|u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "float32": "<f4",
    "float64": "<f8",
}

ATTRIBUTE_TYPES = frozenset(_COLUMNS)
"""Names of types: ``string`` and ``stack`` are ids into these tables of the capture."""


def is_group_name(name: str) -> bool:
    """Whether a text may be the name of a kind of events or an attribute in a capture."""
    return bool(name) and "/" not in name and not name.startswith(".") and "\0" not in name


def column_type(attribute_type: str) -> str:
    """Type of the column of an attribute, in memory and in the file. Raises KeyError for a type that is not known."""
    return _COLUMNS[attribute_type]
