"""The entries of a memory snapshot of PyTorch, as columns.

The format is that of ``torch.cuda.memory._snapshot``
(https://docs.pytorch.org/docs/stable/torch_cuda_memory.html); entries are kept in 30 bytes each.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from warpline.interchange.framework.columns import Int64Array, clean_text
from warpline.interchange.framework.stack_tables import StackChains

ACTIONS = ("alloc", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom",
           "free_requested", "snapshot")  # fmt: skip
ALLOC, FREE, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP, OUT_OF_MEMORY, REQUESTED = range(8)
_OTHER = len(ACTIONS)
_NO_TIME = -1
_MOST = 1 << 62


class FrameId(int):
    """Stands for a frame of a stack: the number of its text."""


class TakenEntry:
    """Stands for an entry that has become a row."""


ENTRY = TakenEntry()


class Snapshot:
    """Collects a snapshot while its pickle is read."""

    def __init__(self, chains: StackChains) -> None:
        self._chains = chains
        self._frames: list[str] = []
        self._frame_ids: dict[str, FrameId] = {}
        self._stacks: dict[tuple[Any, ...], tuple[int, int]] = {}
        self.times, self.addresses, self.sizes = array("q"), array("Q"), array("q")
        self.actions, self.stacks, self.names = array("B"), array("i"), array("I")
        self.blocks: list[tuple[int, int, int, int, int]] = []
        """Device, address, size, stack and its innermost frame of blocks in use when the snapshot was made."""

    def replace(self, value: dict[Any, Any]) -> Any:
        """The value that replaces a dictionary of the pickle."""
        if ("action" in value and "addr" in value) or value.get("action") in ("oom", "snapshot"):
            self._add_entry(value)
            return ENTRY
        if "filename" in value and "name" in value and "line" in value:
            return self._frame(value)
        if "blocks" in value and "total_size" in value:
            self._add_blocks(value)
            return None
        return value

    def _frame(self, value: dict[Any, Any]) -> FrameId:
        line = _whole(value["line"])
        text = clean_text(f"{value['name']} ({value['filename']}:{line})" if line else str(value["name"]))
        number = self._frame_ids.get(text)
        if number is None:
            number = self._frame_ids[text] = FrameId(len(self._frames))
            self._frames.append(text)
        return number

    def _stack(self, frames: Any) -> tuple[int, int]:
        if not isinstance(frames, list):
            return -1, 0
        key = tuple(frames[:1000])
        known = self._stacks.get(key)
        if known is None:
            texts = [self._frames[frame] for frame in key if type(frame) is FrameId]
            known = self._stacks[key] = self._chains.add(reversed(texts))
        return known

    def _add_entry(self, value: dict[Any, Any]) -> None:
        action = value["action"]
        stack, name = self._stack(value.get("frames"))
        self.times.append(_whole(value.get("time_us", _NO_TIME)))
        self.addresses.append(max(_whole(value.get("addr", 0)), 0))
        self.sizes.append(max(_whole(value.get("size", 0)), 0))
        self.actions.append(ACTIONS.index(action) if action in ACTIONS else _OTHER)
        self.stacks.append(stack)
        self.names.append(name)

    def _add_blocks(self, segment: dict[Any, Any]) -> None:
        address, device = _whole(segment.get("address", 0)), _whole(segment.get("device", 0))
        blocks = segment["blocks"] if isinstance(segment["blocks"], list) else []
        for block in blocks:
            if not isinstance(block, dict):
                continue
            size = max(_whole(block.get("size", 0)), 0)
            if str(block.get("state", "")).startswith("active"):
                own = _whole(block.get("address", address))
                self.blocks.append((device, max(own, 0), size, *self._stack(block.get("frames"))))
            address = min(address + size, _MOST)

    def columns(self) -> dict[str, Int64Array]:
        """Time (µs, -1 if not recorded), address, size, action, stack and innermost frame of each entry."""
        parts = {
            "time": self.times, "address": self.addresses, "size": self.sizes,
            "action": self.actions, "stack": self.stacks, "name": self.names,
        }  # fmt: skip
        return {name: np.frombuffer(part, part.typecode).astype(np.int64) for name, part in parts.items()}


def _whole(value: Any) -> int:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return int(value) if is_number and abs(value) < _MOST else 0
