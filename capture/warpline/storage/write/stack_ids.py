"""The stacks of a capture while it is built: each once, numbered in order of arrival."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from warpline.compiled import address
from warpline.storage.columns.schema import NO_STACK
from warpline.storage.write.packing import library

Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]

_FIRST_ROOM = 1 << 10


class StackIds:
    """Numbers of stacks: a frame (a string id) on top of another stack or `NO_STACK`."""

    def __init__(self) -> None:
        self._ids: dict[tuple[int, int], int] = {}

    def add(self, frame: int, parent: int) -> int:
        """The number of a stack."""
        return self._ids.setdefault((frame, parent), len(self._ids))

    def add_chains(self, frames: UInt32Array, sizes: Int64Array) -> Int64Array:
        """The numbers of whole stacks, int64 [n]; -1 for one without frames.

        ``frames`` holds their frames one after the other, the outermost first; ``sizes``, int64 [n], how many each has.
        """
        numbers: list[int] = []
        rest = iter(frames.tolist())
        for size in sizes.tolist():
            stack = NO_STACK
            for _ in range(size):
                stack = self.add(next(rest), stack)
            numbers.append(stack if size else -1)
        return np.array(numbers, np.int64)

    def columns(self) -> tuple[UInt32Array, UInt32Array]:
        """Frame and parent of each, uint32 [n]."""
        pairs = np.array(list(self._ids), np.uint32).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]


class _Table(ctypes.Structure):
    """As ``struct stacks`` in native/stacks.c."""

    _fields_ = (
        ("frames", ctypes.c_void_p),
        ("parents", ctypes.c_void_p),
        ("slots", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("room", ctypes.c_int64),
        ("bits", ctypes.c_int64),
    )


class CompiledStackIds(StackIds):
    """The same in 16 to 32 bytes a stack: files of profilers hold millions."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._library = loaded
        self._frames = self._parents = np.empty(0, np.uint32)
        self._table = _Table()
        self._place = ctypes.addressof(self._table)
        self._grow(_FIRST_ROOM)

    def add(self, frame: int, parent: int) -> int:
        """See `StackIds.add`."""
        number = self._library.warpline_stack(self._place, frame, parent)
        if number < 0:
            self._grow(1)
            return self.add(frame, parent)
        return int(number)

    def add_chains(self, frames: UInt32Array, sizes: Int64Array) -> Int64Array:
        """See `StackIds.add_chains`."""
        frames, sizes = np.ascontiguousarray(frames, np.uint32), np.ascontiguousarray(sizes, np.int64)
        if sizes.min(initial=0) < 0 or sizes.sum() != len(frames):
            raise ValueError("the sizes of stacks do not add up to their frames")
        numbers = np.empty(len(sizes), np.int64)
        rest = numbers
        while len(rest):
            done = self._library.warpline_stacks(
                self._place, address(frames), address(sizes), len(sizes), address(rest)
            )
            frames, sizes, rest = frames[int(sizes[:done].sum()) :], sizes[done:], rest[done:]
            if len(rest):
                self._grow(int(sizes[0]))
        return numbers

    def columns(self) -> tuple[UInt32Array, UInt32Array]:
        """See `StackIds.columns`."""
        count = self._table.count
        return self._frames[:count], self._parents[:count]

    def _grow(self, more: int) -> None:
        """Makes room for at least ``more`` stacks."""
        frames, parents = self.columns()
        room = max(2 * self._table.room, len(frames) + more)
        self._frames, self._parents = np.empty(room, np.uint32), np.empty(room, np.uint32)
        self._frames[: len(frames)], self._parents[: len(parents)] = frames, parents
        bits = (2 * room - 1).bit_length()
        self._slots = np.zeros(1 << bits, np.uint32)
        table = self._table
        table.frames, table.parents = address(self._frames), address(self._parents)
        table.slots, table.room, table.bits = address(self._slots), room, bits
        self._library.warpline_fill_stack_slots(self._place)


def stack_ids() -> StackIds:
    """An empty table, compiled where possible."""
    loaded = library()
    return StackIds() if loaded is None else CompiledStackIds(loaded)
