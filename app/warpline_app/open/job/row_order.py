"""Sort orders of a job's ranks."""

from __future__ import annotations

from enum import StrEnum


class RowOrder(StrEnum):
    """The sort order of the map's rows."""

    RANK = "rank"
    HOST = "host"
    VALUE = "value"
