"""Drops records of processes and threads that ended before the ring of a recording."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
_ID_BYTES = 4


@dataclass(frozen=True)
class Lives:
    """The ids among some records that had ended at ``time_ns`` (CLOCK_MONOTONIC)."""

    time_ns: int
    ended: frozenset[int]


def look(records: Bytes, place: int, now_ns: int) -> Lives:
    """Which ids of records have ended. ``records`` uint8 [n, size]; the u32 id is at byte ``place``."""
    ids = np.unique(_ids(records, place)).tolist()
    return Lives(now_ns, frozenset(number for number in ids if not is_there(number)))


def living_records(records: Bytes, place: int, lives: Lives) -> Bytes:
    """The records whose ids had not ended: uint8 [m, size]."""
    gone = np.fromiter(lives.ended, np.uint32, len(lives.ended))
    return np.ascontiguousarray(records[~np.isin(_ids(records, place), gone)])


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


def _ids(records: Bytes, place: int) -> npt.NDArray[np.uint32]:
    return np.ascontiguousarray(records[:, place : place + _ID_BYTES]).view(np.uint32).reshape(-1)
