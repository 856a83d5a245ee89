"""The level-of-detail pyramid of a lane: sparse time bins with the longest event and the busy time of the rest.

Level ``k`` has bins of ``2**k`` ns and one entry for each bin in which an event starts. An event as long as a bin is
always the longest of its bin, because nothing else can start before it ends: a query that picks bins no wider
than a pixel finds every event of at least one pixel, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.schema import MAX_PACKED_DURATION

Int64Array = npt.NDArray[np.int64]
UInt64Array = npt.NDArray[np.uint64]
UInt32Array = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class LodLevel:
    """Entries of one level of one lane, sorted by time.

    ``start`` int64 ns of the longest event starting in the bin; ``longest`` its packed duration, flags and kind;
    ``rest`` busy ns of the other events starting in the bin; ``row`` number of the longest event in its lane.
    """

    level: int
    start: Int64Array
    longest: UInt64Array
    rest: UInt32Array
    row: UInt32Array


def pack_longest(
    duration: Int64Array, flags: npt.NDArray[np.uint8], kind: npt.NDArray[np.uint8]
) -> UInt64Array:
    """``duration << 16 | flags << 8 | kind``; durations beyond 48 bits (78 hours) saturate."""
    packed = np.minimum(duration, MAX_PACKED_DURATION).astype(np.uint64)
    packed <<= np.uint64(16)
    packed |= flags.astype(np.uint64) << np.uint64(8)
    packed |= kind
    return packed


def unpack_duration(longest: UInt64Array) -> Int64Array:
    """Duration in ns; a saturated one must be read from the event itself."""
    return (longest >> np.uint64(16)).view(np.int64)


def unpack_flags(longest: UInt64Array) -> npt.NDArray[np.uint8]:
    return (longest >> np.uint64(8)).astype(np.uint8)


def unpack_kind(longest: UInt64Array) -> npt.NDArray[np.uint8]:
    return longest.astype(np.uint8)
