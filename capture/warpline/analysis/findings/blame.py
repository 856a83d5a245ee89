"""Follows each moment of waiting to the actor that ends it, down to running code or the outside world."""

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
"""The longest chain that is followed."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """The time of one actor as pieces [n] with one explanation each; sorted, and filling the range.

    ``start``/``stop`` int64 capture ns; ``path`` int32 [n, up to HOPS]: segments from the actor's own to the one that
    explains, then −1; ``depth``: the number of segments after the first; ``is_cycle``: the next actor is already in
    the chain.
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
        """Length of each piece, ns."""
        return self.stop - self.start

    @cached_property
    def root(self) -> Int32Array:
        """The actor's own segment."""
        return np.ascontiguousarray(self.path[:, 0])

    @cached_property
    def leaf(self) -> Int32Array:
        """The segment that explains the piece."""
        leaf = self.root.copy()
        for column in range(1, self.path.shape[1]):
            deeper = self.depth == column
            leaf[deeper] = self.path[deeper, column]
        return leaf

    def take(self, index: npt.NDArray[np.generic]) -> Pieces:
        """A subset of the pieces."""
        return Pieces(
            self.start[index], self.stop[index], self.path[index], self.depth[index], self.is_cycle[index]
        )


def blame(segments: Segments, index: Index, actor: int, start_ns: int, stop_ns: int) -> Pieces:
    """Explain every moment of an actor's time in [start, stop), each exactly once.

    A moment of waiting is explained by what the actor that ends the wait does at that moment, and so on.
    """
    if index.library is not None and len(segments):
        return _without_own_births(segments, _compiled(segments, index, actor, start_ns, stop_ns))
    _window, own = index.overlapping(np.array([actor], np.int64), np.array([start_ns]), np.array([stop_ns]))
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
    joined = _joined(done)
    del done, pieces
    if not (joined.start[1:] >= joined.start[:-1]).all():
        joined = joined.take(np.argsort(joined.start, kind="stable").astype(np.int32))
    return _without_own_births(segments, joined)


def _without_own_births(segments: Segments, pieces: Pieces) -> Pieces:
    """Pieces without a last link that waits for an actor of the same chain to start a thread: it explains nothing."""
    born = np.flatnonzero(pieces.is_cycle & (pieces.depth > 0) & (segments.cause[pieces.leaf] == Cause.START))
    if not len(born):
        return pieces
    path, depth = pieces.path.copy(), pieces.depth.copy()
    path[born, depth[born]] = -1
    depth[born] -= 1
    return Pieces(pieces.start, pieces.stop, path, depth, pieces.is_cycle)


def _compiled(segments: Segments, index: Index, actor: int, start_ns: int, stop_ns: int) -> Pieces:
    """`blame` in C; it counts the pieces before it writes them."""
    library = index.library
    assert library is not None
    start, stop, cause = (
        np.ascontiguousarray(column) for column in (segments.start, segments.stop, segments.cause)
    )
    actors, by = as_int32(segments.actor), as_int32(segments.by)
    width = np.ones(1, np.int64)

    def run(room: int) -> tuple[int, Pieces]:
        begin, end = (np.empty(room, np.int64) for _ in range(2))
        depth, is_cycle = np.empty(room, np.int8), np.empty(room, bool)
        # Column-major: the first segments of all chains lie side by side.
        path = np.empty((int(width[0]), room), np.int32)
        count = library.warpline_blame(
            address(start), address(stop), address(actors), address(by), address(cause), address(index.first),
            len(index.cursor), address(index.cursor), actor, start_ns, stop_ns, HOPS, int(Cause.NOT_RECORDED), room,
            address(width), address(begin), address(end), address(path), address(depth), address(is_cycle),
        )  # fmt: skip
        return count, Pieces(begin, end, path.T, depth, is_cycle)

    count, none = run(0)
    return _with_shared_ends(run(count)[1]) if count else none


def _with_shared_ends(pieces: Pieces) -> Pieces:
    """Pieces whose times lie in one array, as each begins where the one before ends: that halves their memory."""
    if not np.array_equal(pieces.start[1:], pieces.stop[:-1]):
        return pieces
    edges = np.append(pieces.start, pieces.stop[-1])
    return Pieces(edges[:-1], edges[1:], pieces.path, pieces.depth, pieces.is_cycle)


def _next(segments: Segments, index: Index, pieces: Pieces, level: int) -> tuple[Pieces, Pieces]:
    """The pieces cut by the segments of the actors they wait for; and those that end here, without a further cause."""
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
    cut = Pieces(start, stop, path, depth, np.zeros(len(start), bool))
    if explains.all():
        return cut, ended
    rest = cut.take(np.flatnonzero(~explains))
    return cut.take(np.flatnonzero(explains)), _joined([ended, rest])


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
