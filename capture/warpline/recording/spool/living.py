"""Records of processes and threads in a ring: those of who ended before it go, however many come and go."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
_ID_BYTES = 4


@dataclass(frozen=True)
class Told:
    """What was seen of who some records tell of: those that had ended at ``time_ns`` (CLOCK_MONOTONIC)."""

    time_ns: int
    ended: frozenset[int]


def look(records: Bytes, place: int, now_ns: int) -> Told:
    """Who of those that records tell of is gone. ``records`` uint8 [n, size]; a u32 id stands at byte ``place``."""
    ids = np.unique(_ids(records, place)).tolist()
    return Told(now_ns, frozenset(number for number in ids if not is_there(number)))


def left_of(records: Bytes, place: int, told: Told) -> Bytes:
    """The records of those that had not ended: uint8 [m, size]."""
    gone = np.fromiter(told.ended, np.uint32, len(told.ended))
    return np.ascontiguousarray(records[~np.isin(_ids(records, place), gone)])


def is_there(number: int) -> bool:
    """Whether a thread or a process has this id; one that nobody has waited for has."""
    if not 0 < number < 1 << 31:
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True


def _ids(records: Bytes, place: int) -> npt.NDArray[np.uint32]:
    return np.ascontiguousarray(records[:, place : place + _ID_BYTES]).view(np.uint32).reshape(-1)
