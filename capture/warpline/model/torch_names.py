"""Parses the names of PyTorch's NVTX ranges: an operator, followed by details of the call.

``aten::add, seq = 0, op_id = 72093, sizes = [[8, 4], [4]], input_op_ids = [(72090,0)]`` is the operator ``aten::add``;
the rest differs in every call. The order is that of ``getNvtxStr`` in PyTorch's torch/csrc/profiler/util.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
_BEHIND = re.compile(
    r"(?P<name>.*?)(?:, seq = (?P<seq>\d{1,18}))?(?:, op_id = (?P<op>\d{1,18}))?(?:, sizes = (?P<sizes>\[.*?\]))?"
    r"(?:, input_op_ids = .*)?",
    re.DOTALL,
)


@dataclass(frozen=True)
class TorchNames:
    """Texts taken apart: the names, and as long as these a sequence number and a number of the call (−1: none), and
    the sizes of the inputs (empty: none).
    """

    names: list[str]
    sequence: Int64Array
    call: Int64Array
    sizes: list[str]


def torch_names(texts: Iterable[str]) -> TorchNames:
    """Split names into their parts; names that are not PyTorch's stay unchanged."""
    names: list[str] = []
    sequence: list[int] = []
    call: list[int] = []
    sizes: list[str] = []
    for text in texts:
        match = _BEHIND.fullmatch(text) if " = " in text else None
        if match is None or match["name"] == "":
            names.append(text)
            sequence.append(-1)
            call.append(-1)
            sizes.append("")
            continue
        names.append(match["name"])
        sequence.append(int(match["seq"] or -1))
        call.append(int(match["op"] or -1))
        sizes.append(match["sizes"] or "")
    return TorchNames(names, np.array(sequence, np.int64), np.array(call, np.int64), sizes)


def range_attributes(
    sequence: Int64Array, call: Int64Array, sizes: npt.NDArray[np.uint32]
) -> dict[str, np.ma.MaskedArray[Any, Any]]:
    """Attributes of ranges [n] with such names; ``sizes`` are string ids of the capture, 0 for none."""
    columns: dict[str, tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]] = {
        "sequence_number": (sequence, sequence < 0),
        "external_id": (call, call < 0),
        "input_shapes": (sizes, sizes == 0),
    }
    return {
        name: np.ma.MaskedArray(np.where(absent, 0, values), absent)
        for name, (values, absent) in columns.items()
        if not absent.all()
    }
