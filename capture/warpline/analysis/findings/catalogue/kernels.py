"""Rules: kernels that could be replaced by faster ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.draft import NOTE, cost, shortened
from warpline.analysis.findings.finding import Evidence, Finding, Severity, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import distinct
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import SelectedEvents
from warpline.analysis.structure.kernels import communication_ids, tensor_cores_of
from warpline.i18n import english, english_n
from warpline.model.intervals import clip_intervals, merge_intervals

BoolArray = npt.NDArray[np.bool_]
_LAYOUT = re.compile(
    r"nchwToNhwc|nhwcToNchw|cudnn_?ops?_nchw|transposeKernel|convertTensor_kernel", re.IGNORECASE
)
_PRODUCT = re.compile(r"(?<!fb)gemm|wgrad|dgrad|fprop|conv\d?d|cublas|cutlass|gemv", re.IGNORECASE)
_ATTENTION = re.compile(r"softmax(?!.*(loss|nll|cross))", re.IGNORECASE)
_FUSED_ATTENTION = re.compile(r"flash|fmha|attention|sdpa", re.IGNORECASE)
_ELEMENTWISE = re.compile(r"elementwise", re.IGNORECASE)
_LARGE_PART, _MOST = 0.1, 0.2
"""Shares of the range above which a kind of kernel deserves a note."""
_FILLED = 0.5
"""Blocks per multiprocessor below which a kernel leaves most of the GPU empty."""
_OCCUPIED = 0.25
_ROWS = 20


class _Kind(NamedTuple):
    """A kind of inefficient kernel: finding id and title, a mask of its events, the remedy, and the least share."""

    id: str
    title: str
    mask: BoolArray
    remedy: str
    least: float = NOTE


def find_kernels(case: Case) -> Iterator[Finding]:
    """Find kinds of inefficient kernels, each kernel counted once; and the largest kernel of a busy GPU."""
    if case.gpu is None or not case.view.has("kernel"):
        return
    events = case.view.events("kernel", case.gpu.gpu.tracks)
    if not len(events):
        return
    rest = ~communication_ids(case.view)[events.name]
    for kind in _kinds(case, events):
        own = kind.mask & rest
        notes = list(_note(case, kind, events.take(own))) if own.any() else []
        if notes:
            rest &= ~own
            yield from notes
    computed = int(case.pieces.length[case.category == NUMBER["computation"]].sum())
    if computed > 0.8 * case.whole_ns:
        remaining = events if rest.all() else events.take(rest)
        largest = _Kind(
            "gpu_kernels", english("Largest kernel of a busy {device}", device=case.device),
            remaining.name == _largest_name(remaining),
            english("Only less work or faster kernels help: fuse kernels, lower the precision, use larger tiles."),
        )  # fmt: skip
        yield from _note(case, largest, remaining.take(largest.mask))


def _kinds(case: Case, events: SelectedEvents) -> Iterator[_Kind]:
    capture = case.view.capture
    layout = matching_names(capture, _LAYOUT)[events.name]
    yield _Kind(
        "gpu_layout", english("Layout conversions"), layout,
        english("Keep one memory layout: channels_last throughout, contiguous inputs."),
    )  # fmt: skip
    yield _Kind(
        "gpu_tensor_cores", english("Matrix products without tensor cores"),
        matching_names(capture, _PRODUCT)[events.name] & ~layout & _on_plain_cores(case, events),
        english("Use TF32, bfloat16 or half precision, with sizes that are multiples of 8 (16 for int8)."),
    )  # fmt: skip
    if not matching_names(capture, _FUSED_ATTENTION)[events.name].any():
        yield _Kind(
            "gpu_attention", english("Attention without a fused kernel"),
            matching_names(capture, _ATTENTION)[events.name],
            english("Use a fused kernel such as scaled_dot_product_attention or flash attention."),
        )  # fmt: skip
    yield _Kind(
        "gpu_elementwise", english("Memory-bound elementwise kernels"),
        matching_names(capture, _ELEMENTWISE)[events.name],
        english("Fuse them: compile the model, use fused optimizers, make fewer passes over the same tensors."),
        _LARGE_PART,
    )  # fmt: skip
    yield _Kind(
        "gpu_few_blocks", english("Kernels that use less than half of the multiprocessors"),
        fills_few(case, events),
        english("Use larger batches, or run independent work beside them on separate streams."), _MOST,
    )  # fmt: skip
    low, limit = _occupancy(case, events)
    yield _Kind("gpu_occupancy", english("Low-occupancy kernels"), low, limit, _MOST)


def fills_few(case: Case, events: SelectedEvents) -> BoolArray:
    """Which kernels have fewer blocks than half of the multiprocessors; none where that was not recorded."""
    attributes = case.view.capture.kinds["kernel"].attributes
    none = np.zeros(len(events), bool)
    if "blocks_per_sm" in attributes:
        values = case.view.column("kernel", "blocks_per_sm", events.index)
        return np.ma.filled((values > 0) & (values < _FILLED), False).astype(bool)
    units = _multiprocessors(case)
    if not units or "grid_x" not in attributes:
        return none
    blocks = np.ones(len(events))
    for axis in "xyz":
        blocks = blocks * np.ma.filled(
            case.view.column("kernel", f"grid_{axis}", events.index).astype(float), 0.0
        )
    few: BoolArray = (blocks > 0) & (blocks < _FILLED * units)
    return few


def _multiprocessors(case: Case) -> int:
    assert case.gpu is not None
    for device in case.view.capture.devices:
        if device.index == case.gpu.gpu.device and device.rank in (None, case.gpu.gpu.rank):
            properties = dict(device.properties)
            known = [properties[key] for key in ("sm_count", "numSms") if key in properties]
            return int(known[0]) if known else 0
    return 0


def _occupancy(case: Case, events: SelectedEvents) -> tuple[BoolArray, str]:
    """Which kernels use few of a multiprocessor's warps, and the remedy for their main limit."""
    attributes = case.view.capture.kinds["kernel"].attributes
    general = english("Use smaller blocks, fewer registers, or less shared memory per block.")
    if "occupancy_ratio" not in attributes:
        return np.zeros(len(events), bool), general
    ratio = case.view.column("kernel", "occupancy_ratio", events.index)
    low: BoolArray = np.ma.filled((ratio > 0) & (ratio < _OCCUPIED), False).astype(bool)
    if not low.any() or "registers_per_thread" not in attributes:
        return low, general
    registers = np.ma.filled(
        case.view.column("kernel", "registers_per_thread", events.index[low]).astype(float), 0.0
    )
    shared = np.zeros(len(registers))
    for name in ("static_shared_memory_bytes", "dynamic_shared_memory_bytes"):
        if name in attributes:
            shared += np.ma.filled(case.view.column("kernel", name, events.index[low]).astype(float), 0.0)
    weight = events.inside[low].astype(float)
    # A multiprocessor has 65,536 registers for 2,048 threads and at least 64 KiB of shared memory.
    if weight[registers > 64].sum() * 2 > weight.sum():
        return low, english("Registers limit occupancy: use smaller tiles, less unrolling, or launch bounds.")
    if weight[shared > 32_768].sum() * 2 > weight.sum():
        return low, english("Shared memory limits occupancy: use smaller tiles or fewer stages.")
    return low, general


def _on_plain_cores(case: Case, events: SelectedEvents) -> npt.NDArray[np.bool_]:
    names, inverse = distinct(events.name)
    texts = case.view.capture.strings.get(names.tolist())
    is_plain: BoolArray = np.array([tensor_cores_of(text) is False for text in texts], bool)[inverse]
    return is_plain


def _largest_name(events: SelectedEvents) -> int:
    """The string id of the kernel with the most time; 0 for none."""
    total = np.bincount(events.name, events.inside, 1)
    return int(np.argmax(total))


def longest_first(duration: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Indices of the longest events, longest first; quicker than a full sort of millions."""
    if len(duration) > _ROWS:
        least = np.partition(duration, len(duration) - _ROWS)[len(duration) - _ROWS]
        places = np.flatnonzero(duration >= least)
    else:
        places = np.arange(len(duration))
    return places[np.argsort(-duration[places], kind="stable")[:_ROWS]]


def _note(case: Case, kind: _Kind, events: SelectedEvents) -> Iterator[Finding]:
    """A note about some kernels, unless they take too little time."""
    view = case.view
    start, stop = merge_intervals(*clip_intervals(events.start, events.stop, view.start_ns, view.stop_ns))
    time = int((stop - start).sum())
    if not time or time < kind.least * case.whole_ns:
        return
    kernel = view.capture.strings[_largest_name(events)]
    text = english_n(
        "{title}: {time} of {whole} ({percent:.0f} %) in {count:,} launch of {kernel}.",
        "{title}: {time} of {whole} ({percent:.0f} %) in {count:,} launches, most of it in {kernel}.",
        len(events), title=kind.title, kernel=shortened(kernel), **cost(case, time),
    )  # fmt: skip
    evidence = Evidence(
        np.column_stack((start, stop)),
        tuple(events.row[longest_first(events.duration)].tolist()),
        case.target.tracks,
    )
    share = time / case.whole_ns
    yield Finding(
        id=kind.id, severity=Severity.NOTE, title=kind.title, text=text, time_ns=time, share=share,
        where=Where(kernel=kernel), remedy=kind.remedy, evidence=evidence,
    )  # fmt: skip


rules = (Rule("gpu_kernels", "gpu", find_kernels),)
