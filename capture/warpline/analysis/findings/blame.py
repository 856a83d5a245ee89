"""Follows every moment that something waited to whoever it waited for, down to what runs or is outside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.segments import Index, Segments, as_int32
from warpline.compiled import address

Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
HOPS = 8
"""A chain is followed so far; nobody reads a longer one."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Time of one actor, in pieces [n] of one explanation each, sorted; they fill its range.

    ``start``/``stop`` int64 capture ns; ``path`` int32 [n, up to HOPS]: the segments from the actor's own to the one
    that explains, −1 behind; ``depth`` how many follow the first; ``is_cycle``: who should be next is in the chain
    already.
    """

    start: Int64Array
    stop: Int64Array
    path: Int32Array
    depth: npt.NDArray[np.int8]
    is_cycle: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def length(self) -> Int64Array:
        """Length of each, ns."""
        return self.stop - self.start

    @cached_property
    def root(self) -> Int32Array:
        """The actor's own segment."""
        return np.ascontiguousarray(self.path[:, 0])

    @cached_property
    def leaf(self) -> Int32Array:
        """The segment that explains."""
        found = self.root.copy()
        for column in range(1, self.path.shape[1]):
            deeper = self.depth == column
            found[deeper] = self.path[deeper, column]
        return found

    def take(self, index: npt.NDArray[np.generic]) -> Pieces:
        """Some of them."""
        return Pieces(
            self.start[index], self.stop[index], self.path[index], self.depth[index], self.is_cycle[index]
        )


def blame(segments: Segments, index: Index, actor: int, start_ns: int, stop_ns: int) -> Pieces:
    """What an actor's time in [start, stop) went to, moment by moment; all of it is there exactly once.

    A moment of waiting is explained by what whoever ended the wait did in that very moment, and so on.
    """
    if index.library is not None and len(segments):
        return _compiled(segments, index, actor, start_ns, stop_ns)
    one = np.array([actor], np.int64)
    _window, own = index.overlapping(one, np.array([start_ns]), np.array([stop_ns]))
    pieces = Pieces(
        np.maximum(segments.start[own], start_ns),
        np.minimum(segments.stop[own], stop_ns),
        own.astype(np.int32)[:, None],
        np.zeros(len(own), np.int8),
        np.zeros(len(own), bool),
    )
    done: list[Pieces] = []
    for level in range(1, HOPS):
        by = segments.by[pieces.leaf]
        goes_on = (by >= 0) & (segments.cause[pieces.leaf] != Cause.NOT_RECORDED)
        done.append(pieces.take(np.flatnonzero(~goes_on)))
        pieces = pieces.take(np.flatnonzero(goes_on))
        if not len(pieces):
            break
        pieces, ended = _next(segments, index, pieces, level)
        done.append(ended)
    else:
        done.append(pieces)
    found = _joined(done)
    del done, pieces
    if (found.start[1:] >= found.start[:-1]).all():
        return found
    return found.take(np.argsort(found.start, kind="stable").astype(np.int32))


def _compiled(segments: Segments, index: Index, actor: int, start_ns: int, stop_ns: int) -> Pieces:
    """`blame` in C, which counts the pieces before it writes them."""
    library = index.library
    assert library is not None
    start, stop, cause = (
        np.ascontiguousarray(column) for column in (segments.start, segments.stop, segments.cause)
    )
    whose, by = as_int32(segments.actor), as_int32(segments.by)
    width = np.ones(1, np.int64)

    def followed(room: int) -> tuple[int, Pieces]:
        begin, end = (np.empty(room, np.int64) for _ in range(2))
        depth, is_cycle = np.empty(room, np.int8), np.empty(room, bool)
        # Column by column: what all chains begin with lies side by side.
        path = np.empty((int(width[0]), room), np.int32)
        count = library.warpline_blame(
            address(start), address(stop), address(whose), address(by), address(cause), address(index.first),
            len(index.cursor), address(index.cursor), actor, start_ns, stop_ns, HOPS, int(Cause.NOT_RECORDED), room,
            address(width), address(begin), address(end), address(path), address(depth), address(is_cycle),
        )  # fmt: skip
        return count, Pieces(begin, end, path.T, depth, is_cycle)

    count, none = followed(0)
    return followed(count)[1] if count else none


def _next(segments: Segments, index: Index, pieces: Pieces, level: int) -> tuple[Pieces, Pieces]:
    """The pieces cut by what those did that they waited for; and those where that explains nothing more."""
    by = segments.by[pieces.leaf]
    known = index.at(by, pieces.start) >= 0
    seen = segments.actor[pieces.path] == by[:, None]
    in_chain = (seen & (pieces.path >= 0)).any(1)
    stays = ~known | in_chain
    ended = pieces.take(np.flatnonzero(stays))
    ended = Pieces(ended.start, ended.stop, ended.path, ended.depth, in_chain[stays])
    pieces, by = pieces.take(np.flatnonzero(~stays)), by[~stays]
    window, segment = index.overlapping(by, pieces.start, pieces.stop)
    start = np.maximum(pieces.start[window], segments.start[segment])
    stop = np.minimum(pieces.stop[window], segments.stop[segment])
    explains = segments.cause[segment] != Cause.NOT_RECORDED
    path = np.empty((len(window), level + 1), np.int32)
    path[:, :level] = pieces.path[window]
    path[:, level] = np.where(explains, segment, -1)
    depth = np.where(explains, np.int8(level), np.int8(level - 1))
    found = Pieces(start, stop, path, depth, np.zeros(len(start), bool))
    if explains.all():
        return found, ended
    rest = found.take(np.flatnonzero(~explains))
    return found.take(np.flatnonzero(explains)), _joined([ended, rest])


def _joined(parts: list[Pieces]) -> Pieces:
    if len(parts) == 1:
        return parts[0]
    count, width = sum(map(len, parts)), max(part.path.shape[1] for part in parts)
    path = np.full((count, width), -1, np.int32)
    first = 0
    for part in parts:
        path[first : first + len(part), : part.path.shape[1]] = part.path
        first += len(part)
    return Pieces(
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.stop for part in parts]),
        path,
        np.concatenate([part.depth for part in parts]),
        np.concatenate([part.is_cycle for part in parts]),
    )
