"""Classifies kernels by name (communication, tensor cores) and finds their full names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.loops.lane_times import Keys, Places, named
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import GroupStatistics
from warpline.analysis.framework.tables import statistics_by_name
from warpline.model.communication import COMMUNICATION

Int64Array = npt.NDArray[np.int64]

TENSOR_CORES = re.compile(
    r"[hsicd]884|[hsicd]1688|16816|161616|8816|\bnvjet|hmma|imma|wgmma|wmma|tensorop|gmma|xmma|tcgen05|mfma|gtcx|xdlops|flash_(fwd|bwd)"
    r"|^cijk_.*_mi\d+x\d+",
    re.IGNORECASE,
)
_PLAIN_CORES = re.compile(r"ffma|f32f32_f32f32_f32_(nn|nt|tn|tt)|simt|sgemm", re.IGNORECASE)
_PLAIN_ENGINES = re.compile(
    r"scudnn|winograd|im2col|alg\d_engine|[dw]grad_engine|gemv|offsetskernel", re.IGNORECASE
)
_MAYBE = re.compile(
    r"cutlass|gemm|matmul|conv\d?d|convolve|fprop|[dw]grad|fmha|attention|sdpa|^cijk_|triton_(?!poi|red|per)|_mm_",
    re.IGNORECASE,
)
"""Products, which may or may not run on tensor cores."""
_NO_PRODUCT = re.compile(
    r"at::native::|cudnn::|cunn_|elementwise|reduce|softmax|norm|pool|nll|transpose|permute|nchw|nhwc|tensor_?copy|memset"
    r"|memcpy|copy|fill|arange|concat|gather|scatter|index|embedding|dropout|sort|scan|cumsum|triton_(poi|red|per)"
    r"|loop_\w*fusion|splitk|multi_?tensor|adam|sgd|nccl|rccl",
    re.IGNORECASE,
)


def uses_tensor_cores(name: str) -> bool:
    """Whether a kernel's name shows that it uses tensor (or matrix) cores."""
    return tensor_cores_of(name) is True


@lru_cache(1 << 16)
def tensor_cores_of(name: str) -> bool | None:
    """Whether a kernel uses tensor (or matrix) cores, judged by its name; None if the name does not tell.

    884, 1688, 16816 … are shapes of half-precision matrix instructions and hmma/imma/wgmma their names; mfma, xdlops,
    gtcx and the MI in Tensile's names are AMD's. ``ffma`` and ``simt`` mean no tensor cores. Other products and unknown
    kernels are undecided; element-wise kernels, reductions and copies do not multiply matrices.
    """
    if TENSOR_CORES.search(name) and not _PLAIN_CORES.search(name):
        return True
    if _PLAIN_CORES.search(name) or _PLAIN_ENGINES.search(name):
        return False
    if _MAYBE.search(name):
        return None
    return False if _NO_PRODUCT.search(name) else None


def communication_ids(view: View) -> npt.NDArray[np.bool_]:
    """For each string id, whether it names a communication kernel."""
    return matching_names(view.capture, COMMUNICATION)


def full_names(view: View, events: SelectedEvents) -> npt.NDArray[np.uint32]:
    """String ids of the full (demangled) names of kernels; the plain name where no full one was recorded."""
    full = view.column("kernel", "demangled_name", events.index)
    return _full(view, np.ma.getdata(full), ~np.ma.getmaskarray(full), events.name)


def _full(
    view: View, full: npt.NDArray[Any], known: npt.NDArray[np.bool_], name: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    if not known.any():
        return name
    ids = np.where(known & (full != 0), full, name)
    return np.minimum(ids, max(len(view.capture.strings) - 1, 0)).astype(np.uint32)


def kernel_keys(view: View) -> Keys:
    """Keys that are the full names of kernels, by index in the table of kernels."""
    plain = named(view, "kernel")
    if "demangled_name" not in view.capture.kinds["kernel"].attributes:
        return plain
    full, known = view.capture.kinds["kernel"].column("demangled_name")

    def keys(places: Places) -> npt.NDArray[np.uint32]:
        return _full(view, full[places], known[places], plain(places))

    return keys


def kernel_statistics(view: View, options: Options) -> GroupStatistics:
    """Statistics of kernels by full name (string ids), largest total first."""
    is_plain = "demangled_name" not in view.capture.kinds["kernel"].attributes
    return statistics_by_name(view, "kernel", options, None if is_plain else kernel_keys(view))
