"""Adds the columns of a Paddle trace to a capture."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import forms
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.importer import ImportOptions
from warpline.interchange.paddle.columns import RANGE
from warpline.interchange.torch.columns import MEMORY, OPERATOR, PHASE
from warpline.interchange.torch.converter import CATEGORY, TorchConverter
from warpline.interchange.torch.cpu import stack_id
from warpline.interchange.torch.memory import add_allocations
from warpline.interchange.trace_json.json_stream import StreamState
from warpline.interchange.trace_json.piece_columns import Group, Piece, ThreadKey
from warpline.interchange.trace_json.target import optional_ids, payload_of
from warpline.model import KindSpec

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_TID_SIDE = re.compile(r"(\d+)\((?:C\+\+|Python)\)")
_THREAD_NAME = re.compile(r"thread \d+:(.*)\((?:C\+\+|Python)\)")
_PROCESS_NAME = re.compile(r"Process \d+ \(\w+\)")
_EXACT_WITHIN_NS = 4_000_000_000
"""Relative times are 32-bit floats: beyond this they are no more precise than whole microseconds."""


_WHOLE_MICROSECONDS = forms(
    "{count:,} allocation has a time in whole microseconds and may be attributed to a neighbouring operator; the .pb "
    "file of the same run has nanoseconds",
    "{count:,} allocations have times in whole microseconds and may be attributed to a neighbouring operator; the .pb "
    "file of the same run has nanoseconds",
)


class PaddleConverter(TorchConverter):
    """Adds the groups of `paddle.columns` to a capture."""

    def __init__(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        super().__init__(builder, options)
        self._base_ns: int | None = None
        # Paddle's reports sort operators by their type.
        builder.add_kind(KindSpec("operator", "Operator", "range", "operator", (CATEGORY,)))

    def absorb(self, piece: Piece) -> None:
        """See `TraceConverter.absorb`; refines starts to nanoseconds from the arguments."""
        groups = [group for group in piece.groups.values() if "relative" in group.numbers]
        if self._base_ns is None:
            lows = [_latest_base(group) for group in groups]
            known = [low for low in lows if low is not None]
            self._base_ns = max(known) if known else None
        if self._base_ns is not None:
            for group in groups:
                group.start = _refined(group, self._base_ns)
        super().absorb(piece)

    def absorb_group(self, name: str, group: Group) -> None:
        """See `TraceConverter.absorb_group`."""
        if name == PHASE:
            self._find_main(group)
            self.add_phases(group)
        elif name == OPERATOR:
            self._find_main(group)
            self._add_typed_operators(group)
        elif name == RANGE:
            self._find_main(group)
            self.add_ranges(group)
        elif name == MEMORY and "device" in group.texts:
            self.saw(group.start, group.start)
            if not (group.start % 1000).any():  # the .pb file has nanoseconds
                self.note(_WHOLE_MICROSECONDS, len(group))
            numbers = group.numbers
            add_allocations(
                self,
                group,
                group.texts["device"],
                size=numbers["size"],
                address=numbers["address"],
                allocated=numbers["allocated"],
                reserved=numbers["reserved"],
            )
        else:
            super().absorb_group(name, group)

    def thread_of(self, key: ThreadKey) -> ThreadKey:
        """``21165(C++)`` and ``21165(Python)`` are the same thread."""
        match = _TID_SIDE.fullmatch(key[1]) if isinstance(key[1], str) else None
        return (key[0], match[1]) if match else key

    def thread_title(self, name: str) -> str:
        """``MainThread`` for ``thread 21165:MainThread(C++)``."""
        match = _THREAD_NAME.fullmatch(name)
        return match[1] if match else name

    def process_title(self, name: str) -> str:
        """Nothing for ``Process 21165 (CPU)``, which is not a name."""
        return "" if _PROCESS_NAME.fullmatch(name) else name

    def _add_typed_operators(self, group: Group) -> None:
        attributes: dict[str, npt.NDArray[Any]] = {
            "category": optional_ids(self.builder, group.category),
            "input_shapes": optional_ids(self.builder, group.texts["shapes"]),
            "input_types": optional_ids(self.builder, group.texts["types"]),
            "arguments": optional_ids(self.builder, group.texts["inputs"]),
            **payload_of(self.builder, group),
        }
        stacks = group.texts["stack"]
        if any(stacks.table):
            table = np.array([stack_id(self.builder, text) for text in stacks.table], np.int64)[stacks.codes]
            attributes["stack"] = np.ma.MaskedArray(np.maximum(table, 0).astype(np.uint32), table < 0)
        self.add_slices(group, "operator", "operators", attributes, flags=self.duration_flags(group))

    def _keep_header(self, state: StreamState) -> None:
        super()._keep_header(state)
        keep_extra_info(self, extra_info(state.header.get("ExtraInfo")))


def extra_info(value: Any) -> dict[str, str]:
    """Thread names and CPU utilization, stored beside the events as a dict or its text."""
    if isinstance(value, str) and len(value) < 1 << 20:
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return {}
    if not isinstance(value, dict):
        return {}
    return {str(key): clean_text(str(text)) for key, text in value.items()}


def keep_extra_info(converter: PaddleConverter, info: dict[str, str]) -> None:
    """Name threads, and store CPU utilization as percentages for the device report."""
    for thread in converter.tracks.threads.values():
        name = info.get(str(thread.tid))
        if name and not thread.name:
            converter.tracks.name_thread(thread.process.pid, thread.tid, name)
    for key, meta_key in (
        ("Process Cpu Utilization", "cpu_process_utilization"),
        ("System Cpu Utilization", "cpu_system_utilization"),
    ):
        try:
            converter.builder.meta[meta_key] = round(100 * float(info[key]), 4)
        except (KeyError, ValueError):
            continue


def _latest_base(group: Group) -> int | None:
    """The start of the first event, as late as the whole microseconds of this group allow; None if unknown."""
    relative = group.numbers["relative"]
    known = ~np.ma.getmaskarray(relative) & (np.ma.getdata(relative) < _EXACT_WITHIN_NS)
    if not known.any():
        return None
    return int((group.start[known] - np.ma.getdata(relative)[known]).max())


def _refined(group: Group, base_ns: int) -> npt.NDArray[np.int64]:
    """Starts in nanoseconds. The recorded starts are truncated to microseconds, which would break nesting."""
    relative = np.ma.getdata(group.numbers["relative"])
    exact = base_ns + relative
    usable = (
        ~np.ma.getmaskarray(group.numbers["relative"])
        & (relative < _EXACT_WITHIN_NS)
        & (np.abs(exact - group.start - 500) <= 1_500)
    )
    return np.where(usable, exact, group.start)
