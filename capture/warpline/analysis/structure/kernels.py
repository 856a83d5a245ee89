"""What a kernel's name tells: communication or computation, tensor cores or not; and which name is the full one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selection import SelectedEvents, View
from warpline.analysis.framework.statistics import GroupStatistics
from warpline.analysis.framework.tables import computed_by_name, statistics_by_name
from warpline.model.communication import COMMUNICATION

Int64Array = npt.NDArray[np.int64]

TENSOR_CORES = re.compile(
    r"[hsicd]884|[hsicd]1688|16816|161616|8816|\bnvjet|hmma|imma|wgmma|wmma|tensorop|gmma|xmma|tcgen05|mfma|flash_(fwd|bwd)",
    re.IGNORECASE,
)
_PLAIN_CORES = re.compile(r"ffma|f32f32_f32f32_f32_(nn|nt|tn|tt)|simt|sgemm", re.IGNORECASE)


@lru_cache(1 << 16)
def uses_tensor_cores(name: str) -> bool:
    """Whether the name of a kernel says that it computes on tensor (or matrix) cores.

    884, 1688, 16816 … are shapes of half-precision matrix instructions, hmma/imma/wgmma their names, mfma
    AMD's; ``ffma`` and
    ``simt`` say the opposite. A guess from the name: a kernel may use them without saying so.
    """
    return bool(TENSOR_CORES.search(name)) and not _PLAIN_CORES.search(name)


def communication_ids(view: View) -> npt.NDArray[np.bool_]:
    """For each string id whether it names a kernel of communication."""
    return matching_names(view.capture, COMMUNICATION)


def full_names(view: View, events: SelectedEvents) -> npt.NDArray[np.uint32]:
    """String ids of the full (demangled) names of kernels, the plain name where none was recorded."""
    full = view.column("kernel", "demangled_name", events.index)
    if np.ma.getmaskarray(full).all():
        return events.name
    ids = np.where(np.ma.getmaskarray(full) | (np.ma.getdata(full) == 0), events.name, np.ma.getdata(full))
    return np.minimum(ids, max(len(view.capture.strings) - 1, 0)).astype(np.uint32)


def kernel_statistics(view: View, options: Options) -> GroupStatistics:
    """Statistics of kernels by full name (string ids), largest total first."""
    if "demangled_name" not in view.capture.kinds["kernel"].attributes:
        return statistics_by_name(view, "kernel", options)

    def batches() -> Iterator[tuple[npt.NDArray[Any], Int64Array]]:
        for events in view.batches("kernel"):
            yield full_names(view, events), events.inside

    return computed_by_name(view, batches, options)
