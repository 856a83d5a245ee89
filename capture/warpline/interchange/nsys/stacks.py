"""Converts the call chains of an export into stacks of the capture, level by level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.interchange.nsys.tables.access import NULL, Int64Array
from warpline.model.progress import check_cancelled

if TYPE_CHECKING:
    from warpline.interchange.nsys.context import Context
    from warpline.storage import CaptureBuilder

_UNKNOWN = frozenset({"", "[Unknown]"})


class Stacks:
    """The call chains of a table: rows of (id, symbol, module, depth); depth 0 is the innermost frame."""

    def __init__(self, context: Context, table: str) -> None:
        self._context = context
        self._ids: Int64Array = np.empty(0, np.int64)
        self._stacks = np.empty(0, np.uint32)
        self._leaves = np.empty(0, np.uint32)
        if context.tables.count(table):
            self._read(table)

    def _read(self, table: str) -> None:
        chains: list[npt.NDArray[Any]] = []
        frames: list[npt.NDArray[np.uint32]] = []
        depths: list[npt.NDArray[np.int32]] = []
        unknown = [self._context.builder.string(text) for text in _UNKNOWN]
        for batch in self._context.tables.read(table, ints=("id", "symbol", "module", "stackDepth")):
            check_cancelled(self._context.cancelled)
            symbols = self._context.names.strings(batch["symbol"])
            nameless = np.isin(symbols, unknown)
            if nameless.any():
                symbols[nameless] = self._context.names.strings(batch["module"][nameless], _in_module)
            chains.append(_compact(batch["id"]))
            frames.append(symbols)
            depths.append(np.clip(batch["stackDepth"], 0, 1 << 20).astype(np.int32))
        chain = np.concatenate(chains).astype(np.int64, copy=False)
        self._ids, self._stacks, self._leaves = build_stacks(
            self._context.builder, chain, np.concatenate(frames), np.concatenate(depths)
        )

    def find(
        self, chain_ids: Int64Array
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
        """Stack id, innermost frame (a string id) and existence of each chain."""
        if not len(self._ids):
            nothing = np.zeros(len(chain_ids), np.uint32)
            return nothing, nothing, np.zeros(len(chain_ids), bool)
        at = np.minimum(np.searchsorted(self._ids, chain_ids), len(self._ids) - 1)
        known = (self._ids[at] == chain_ids) & (chain_ids != NULL)
        return self._stacks[at], self._leaves[at], known

    def attribute(self, chain_ids: Int64Array) -> dict[str, Any]:
        """The attribute ``stack`` for events with these chains; empty if none exists."""
        stacks, _leaves, known = self.find(chain_ids)
        return {"stack": np.ma.MaskedArray(stacks, ~known)} if known.any() else {}


def build_stacks(
    builder: CaptureBuilder,
    chain: Int64Array,
    frame: npt.NDArray[np.uint32],
    depth: npt.NDArray[np.int32],
) -> tuple[Int64Array, npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Adds the chains, rows in any order; returns (chain ids, ascending; stack ids; innermost frames).

    Walks all chains together from the outermost frame and adds each distinct pair of parent and frame once per level.
    So the work in Python grows with the size of the trie, not with the number of samples.
    """
    order = np.lexsort((-depth, chain))
    chain, frame = chain[order], frame[order]
    is_first = np.r_[True, chain[1:] != chain[:-1]]
    first = np.flatnonzero(is_first)
    length = np.diff(np.r_[first, len(chain)])
    current = np.zeros(len(first), np.int64)
    alive = np.arange(len(first))
    level = 0
    while len(alive):
        frames = frame[first[alive] + level].astype(np.int64)
        key = (current[alive] << 32) | frames
        unique, inverse = np.unique(key, return_inverse=True)
        if level:
            ids = [builder.stack(value & 0xFFFF_FFFF, value >> 32) for value in unique.tolist()]
        else:
            ids = [builder.stack(value) for value in unique.tolist()]
        current[alive] = np.array(ids, np.int64)[inverse.reshape(-1)]
        level += 1
        alive = alive[length[alive] > level]
    return chain[first], current.astype(np.uint32), frame[first + length - 1]


def _in_module(path: str) -> str:
    """The label of a frame without a symbol: its file."""
    return f"[{path.rpartition('/')[2] or 'unknown'}]"


def _compact(values: Int64Array) -> npt.NDArray[Any]:
    """Uses int32 if the ids fit: there are many more frames than samples."""
    if len(values) and values.min() >= 0 and values.max() < 1 << 31:
        return values.astype(np.int32)
    return values
