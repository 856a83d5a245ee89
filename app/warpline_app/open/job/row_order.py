"""By what the ranks of a job are sorted."""

from __future__ import annotations

from enum import StrEnum


class RowOrder(StrEnum):
    """By what the rows of the map are sorted."""

    RANK = "rank"
    HOST = "host"
    VALUE = "value"
