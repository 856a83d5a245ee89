"""Adds tables of stacks to a capture: nodes that name a frame and the node of their caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.columns import clean_text
from warpline.recording.symbols.demangle import demangle_frame

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]


def stacks_of_nodes(builder: CaptureBuilder, frames: Sequence[int], callers: Sequence[int]) -> Int64Array:
    """The stack of each node, int64 [n]; -1 for a node without a frame of its own or of a caller.

    ``frames`` holds string ids (0 for a node to leave out, such as a root), ``callers`` indexes of nodes (-1 for none).
    Callers may come after their callees. A cyclic chain ends where it would repeat.
    """
    stacks: list[int] = [-2] * len(frames)
    for node in range(len(frames)):
        path: list[int] = []
        at = node
        while 0 <= at < len(stacks) and stacks[at] == -2:
            stacks[at] = -1  # already on the path: also ends a cycle
            path.append(at)
            at = callers[at]
        stack = stacks[at] if 0 <= at < len(stacks) else -1
        for step in reversed(path):
            if frames[step]:
                stack = builder.stack(frames[step], stack) if stack >= 0 else builder.stack(frames[step])
            stacks[step] = stack
    return np.array(stacks, np.int64)


class FrameNames(dict[str, int]):
    """String ids of frames: ``names[frame]`` demangles and adds a new one."""

    def __init__(self, builder: CaptureBuilder) -> None:
        super().__init__()
        self._builder = builder

    def __missing__(self, frame: str) -> int:
        name = self[frame] = self._builder.string(demangle_frame(clean_text(frame)))
        return name


class StackChains:
    """Stacks that a file writes as whole chains of frames, each chain added once."""

    def __init__(self, builder: CaptureBuilder) -> None:
        self._builder = builder
        self._names = FrameNames(builder)
        self._known: dict[tuple[int, ...], tuple[int, int]] = {(): (-1, 0)}

    def add(self, frames: Iterable[str]) -> tuple[int, int]:
        """The stack of these frames, outermost first, and its innermost frame (a string id); (-1, 0) without any."""
        key = tuple(map(self._names.__getitem__, frames))
        known = self._known.get(key)
        if known is None:
            stack = self._builder.stack(key[0])
            for name in key[1:]:
                stack = self._builder.stack(name, stack)
            known = self._known[key] = (stack, key[-1])
        return known


def innermost_frames(frames: npt.NDArray[np.uint32], sizes: Int64Array) -> npt.NDArray[np.uint32]:
    """The last frame of each of `CaptureBuilder.stacks`, uint32 [n]; 0 for one without frames."""
    names = np.zeros(len(sizes), np.uint32)
    names[sizes > 0] = frames[(np.cumsum(sizes) - 1)[sizes > 0]]
    return names


def stack_column(stacks: npt.ArrayLike) -> np.ma.MaskedArray[tuple[int], np.dtype[np.uint32]]:
    """The attribute ``stack`` of events; -1 is missing."""
    ids = np.asarray(stacks, np.int64)
    return np.ma.MaskedArray(np.maximum(ids, 0).astype(np.uint32), ids < 0)
