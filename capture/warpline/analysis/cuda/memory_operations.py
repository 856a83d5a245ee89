"""Copies and sets of GPU memory under the names Nsight gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.report import Targets
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import kind_code

Int64Array = npt.NDArray[np.int64]
COPY_OPERATIONS = {
    0: "[CUDA memcpy]",
    1: "[CUDA memcpy Host-to-Device]",
    2: "[CUDA memcpy Device-to-Host]",
    3: "[CUDA memcpy Host-to-Array]",
    4: "[CUDA memcpy Array-to-Host]",
    5: "[CUDA memcpy Array-to-Array]",
    6: "[CUDA memcpy Array-to-Device]",
    7: "[CUDA memcpy Device-to-Array]",
    8: "[CUDA memcpy Device-to-Device]",
    9: "[CUDA memcpy Host-to-Host]",
    10: "[CUDA memcpy Peer-to-Peer]",
    11: "[CUDA memcpy Unified Host-to-Device]",
    12: "[CUDA memcpy Unified Device-to-Host]",
    13: "[CUDA memcpy Unified Device-to-Device]",
}
MEMSET_OPERATION = "[CUDA memset]"
MEMSET = 64


def memory_batches(view: View, value: str) -> Iterator[tuple[npt.NDArray[Any], Int64Array]]:
    """Copies and sets as (operation, time inside or bytes)."""
    for kind in ("memcpy", "memset"):
        if kind not in view.capture.kinds:
            continue
        for events in view.batches(kind):
            if kind == "memset":
                key = np.full(len(events), MEMSET, np.int64)
            else:
                copy = view.column("memcpy", "copy_kind", events.index)
                key = _known_copy(copy)
            if value == "ns":
                yield key, events.inside
                continue
            size = view.column(kind, "bytes", events.index)
            known = ~np.ma.getmaskarray(size)
            yield key[known], np.maximum(np.ma.getdata(size)[known].astype(np.int64), 0)


def _known_copy(kind: npt.NDArray[Any]) -> Int64Array:
    """Codes of directions, 0 for missing and unnamed ones."""
    code = np.ma.filled(kind, 0).astype(np.int64)
    return np.where(np.isin(code, list(COPY_OPERATIONS)), code, 0)


def operation(key: int) -> str:
    return MEMSET_OPERATION if key == MEMSET else COPY_OPERATIONS[key]


def operation_targets(view: View, keys: Int64Array) -> Targets:
    codes = [kind_code(view, "memset" if key == MEMSET else "memcpy") for key in keys.tolist()]
    return Targets(kinds=np.array(codes, np.int16))


def throughput(sizes: npt.NDArray[Any], durations: Int64Array) -> npt.NDArray[Any]:
    """Bytes per second; masked where the size is unknown or the duration 0."""
    unknown = np.ma.getmaskarray(sizes) | (durations <= 0)
    seconds = np.where(unknown, 1, durations) / 1e9
    return np.ma.MaskedArray(np.ma.getdata(sizes) / seconds, unknown)


def memory_operation_names(view: View, kind: str, events: SelectedEvents) -> list[str]:
    """Nsight's name of each copy or set."""
    if kind == "memset":
        return [MEMSET_OPERATION] * len(events)
    copy = _known_copy(view.column("memcpy", "copy_kind", events.index))
    return [operation(key) for key in copy.tolist()]
