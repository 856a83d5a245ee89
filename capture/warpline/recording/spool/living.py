"""Drops records of processes and threads that ended before the ring of a recording."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_ID_BYTES = 4


@dataclass(frozen=True)
class Lives:
    """Checks which ids in records had ended by ``time_ns`` (CLOCK_MONOTONIC)."""

    time_ns: int
    ended: frozenset[int]


def look(records: Sequence[bytes], place: int, now_ns: int) -> Lives:
    """Which ids of records have ended. The u32 id is at byte ``place`` of each record."""
    return Lives(now_ns, frozenset(number for number in set(_ids(records, place)) if not is_there(number)))


def living_records(records: Sequence[bytes], place: int, lives: Lives) -> list[bytes]:
    """The records whose ids had not ended."""
    ids = _ids(records, place)
    return [record for record, number in zip(records, ids, strict=True) if number not in lives.ended]


def is_there(number: int) -> bool:
    """Whether a thread or process with this id exists; a zombie does."""
    if not 0 < number < 1 << 31:
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's
    return True


def _ids(records: Sequence[bytes], place: int) -> Iterator[int]:
    return (int.from_bytes(record[place : place + _ID_BYTES], "little") for record in records)
