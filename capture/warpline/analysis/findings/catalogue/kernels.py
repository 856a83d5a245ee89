"""Rules: kernels that could be replaced by faster ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import NOTE, at_most, cost, severity, shortened
from warpline.analysis.findings.finding import Evidence, Finding, Severity, Where
from warpline.analysis.findings.kernels.elementwise import elementwise_advice
from warpline.analysis.findings.kernels.limit_sentences import bound_by_counters, bound_by_work
from warpline.analysis.findings.kernels.products import Advice, attention, plain_cores, unaligned, untuned
from warpline.analysis.findings.kernels.target_work import target_work
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import distinct
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.structure.attribution import operators_around
from warpline.analysis.structure.kernels import communication_ids, tensor_cores_of
from warpline.analysis.structure.overlap import covered_ns
from warpline.i18n import english, english_n, joined
from warpline.model.intervals import clip_intervals, merge_intervals
from warpline.untrusted import number_in

BoolArray = npt.NDArray[np.bool_]
Int64Array = npt.NDArray[np.int64]
_LAYOUT = re.compile(
    r"nchwToNhwc|nhwcToNchw|cudnn_?ops?_nchw|transposeKernel|convertTensor_kernel", re.IGNORECASE
)
_CHANNELS_LAST = re.compile(r"nchwToNhwc|nhwcToNchw", re.IGNORECASE)
_PRODUCT = re.compile(r"(?<!fb)gemm|wgrad|dgrad|fprop|conv\d?d|cublas|cutlass|gemv", re.IGNORECASE)
_ATTENTION = re.compile(r"softmax(?!.*(loss|nll|cross))", re.IGNORECASE)
_FUSED_ATTENTION = re.compile(r"flash|fmha|attention|sdpa", re.IGNORECASE)
_ELEMENTWISE = re.compile(r"elementwise", re.IGNORECASE)
_LARGE_PART, _MOST = 0.1, 0.2
"""Shares of the range above which a kind of kernel deserves a note."""
_FILLED = 0.5
"""Blocks per multiprocessor below which a kernel leaves most of the GPU empty."""
_OCCUPIED = 0.25
_HALF, _BUSY = 0.5, 0.8
"""Shares of the range from which a GPU counts as mostly busy, and as busy."""
_ROWS = 20


class _Kind(NamedTuple):
    """A kind of inefficient kernel: finding id and title, a mask of its events, the remedy, a sentence with the cause,
    the time that cured kernels need at least in ns (None: unknown), and the least share.
    """

    id: str
    title: str
    mask: BoolArray
    remedy: str
    detail: str = ""
    needed_ns: int | None = None
    least: float = NOTE


def find_kernels(case: Case) -> Iterator[Finding]:
    """Find kinds of inefficient kernels, each kernel counted once; and what limits a busy GPU."""
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
    yield from _limit(case, events if rest.all() else events.take(rest))


def _limit(case: Case, remaining: SelectedEvents) -> Iterator[Finding]:
    """What limits a GPU that is mostly busy: by its work or its counters, else the largest remaining kernel."""
    computed = int(case.pieces.length[case.category == NUMBER["computation"]].sum())
    if computed <= _HALF * case.whole_ns:
        return
    bound = bound_by_work(case, case.once(target_work))
    if bound is not None:
        text = english(
            "{title}: it computes for {time} of {whole} ({percent:.0f} %). {detail}",
            title=bound.title, detail=bound.text, **cost(case, computed),
        )  # fmt: skip
        kernel = case.view.capture.strings[bound.kernel]
        longest = remaining.take(longest_first(remaining.duration))
        yield Finding(
            id=bound.id, severity=Severity.NOTE, title=bound.title, text=text, time_ns=0, share=0.0,
            where=Where(kernel=kernel), remedy=bound.remedy,
            evidence=Evidence(rows=tuple(longest.row.tolist()), tracks=case.target.tracks),
        )  # fmt: skip
    if computed <= _BUSY * case.whole_ns or not len(remaining) or (bound and bound.id == "gpu_small_kernels"):
        return
    name, measured = bound_by_counters(case) if bound is None else ("", "")
    remedy = _REMEDIES.get(name) or english(
        "Only less work or faster kernels help: fuse kernels, lower the precision, use larger tiles."
    )
    title = english("Largest kernel of a busy {device}", device=case.device)
    largest = _Kind(
        name or "gpu_kernels", title, remaining.name == _largest_name(remaining), remedy, detail=measured
    )
    yield from _note(case, largest, remaining.take(largest.mask))


_REMEDIES = {
    "gpu_memory_bound": english("Move fewer bytes: fuse operators, or use a smaller type."),
    "gpu_compute_bound": english("Only less work or a lower precision helps."),
    "gpu_small_kernels": english("Give each kernel more work: larger batches, fused operators."),
}


def _kinds(case: Case, events: SelectedEvents) -> Iterator[_Kind]:
    capture = case.view.capture
    softmax = matching_names(capture, _ATTENTION)[events.name]
    if softmax.any() and not matching_names(capture, _FUSED_ATTENTION)[events.name].any():
        yield _advised(
            "gpu_attention", english("Attention without a fused kernel"), attention(case, events, softmax)
        )
    layout = matching_names(capture, _LAYOUT)[events.name]
    yield _Kind(
        "gpu_layout",
        english("Layout conversions"),
        layout,
        _layout_remedy(case),
        _launched_by(case, events.take(layout)),
    )
    plain = matching_names(capture, _PRODUCT)[events.name] & ~layout & _on_plain_cores(case, events)
    yield _advised(
        "gpu_tensor_cores", english("Matrix products without tensor cores"), plain_cores(case, events, plain)
    )
    yield _advised(
        "gpu_unaligned", english("Matrix products with unfavourable sizes"), unaligned(case, events)
    )
    yield _advised(
        "gpu_autotuning",
        english("Convolutions without a search for the fastest algorithm"),
        untuned(case, events),
    )
    elementwise = matching_names(capture, _ELEMENTWISE)[events.name]
    detail, remedy = elementwise_advice(case, events, elementwise) if elementwise.any() else ("", "")
    yield _Kind(
        "gpu_elementwise",
        english("Memory-bound elementwise kernels"),
        elementwise,
        remedy,
        detail,
        least=_LARGE_PART,
    )
    yield _Kind(
        "gpu_few_blocks", english("Kernels that use less than half of the multiprocessors"),
        fills_few(case, events),
        english("Use larger batches, or run independent work beside them on separate streams."), least=_MOST,
    )  # fmt: skip
    low, limit = _occupancy(case, events)
    yield _Kind("gpu_occupancy", english("Low-occupancy kernels"), low, limit, least=_MOST)


def _advised(name: str, title: str, advice: Advice) -> _Kind:
    return _Kind(name, title, advice.mask, advice.remedy, advice.detail, advice.needed_ns)


def _layout_remedy(case: Case) -> str:
    """The remedy for layout conversions: channels_last only where cuDNN converts to or from it."""
    if matching_names(case.view.capture, _CHANNELS_LAST).any():
        return english(
            "Convert model and inputs once: model.to(memory_format=torch.channels_last), and the inputs as well."
        )
    return english("Keep one memory layout: avoid transpose, permute and contiguous between operators.")


def _launched_by(case: Case, events: SelectedEvents) -> str:
    """A sentence about the operator that launched most of the time of some kernels; empty when unknown."""
    if not len(events) or not case.view.has("operator"):
        return ""
    rows = np.argsort(events.row)
    names = operators_around(case.view, events.row[rows])
    known = names < len(case.view.capture.strings)
    if not known.any():
        return ""
    best = int(np.argmax(np.bincount(names[known], events.inside[rows][known])))
    return english("Most of them are launched by {operator}.", operator=case.view.capture.strings[best])


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
            return number_in(str(known[0]), 0) if known else 0
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
    gain = _gain(case, start, stop, kind.needed_ns) if kind.needed_ns is not None else 0
    text = english_n(
        "{title}: {time} of {whole} ({percent:.0f} %) in {count:,} launch of {kernel}.",
        "{title}: {time} of {whole} ({percent:.0f} %) in {count:,} launches, most of it in {kernel}.",
        len(events), title=kind.title, kernel=shortened(kernel), **cost(case, time),
    )  # fmt: skip
    if kind.detail:
        text = joined(" ", [text, kind.detail])
    if gain:
        text = joined(" ", [text, english("Up to {factor}× faster.", factor=at_most(case, gain))])
    evidence = Evidence(
        np.column_stack((start, stop)),
        tuple(events.row[longest_first(events.duration)].tolist()),
        case.target.tracks,
    )
    share = time / case.whole_ns
    yield Finding(
        id=kind.id, severity=severity(gain / case.fair_ns, Severity.WARNING), title=kind.title, text=text, time_ns=time,
        share=share, gain_ns=gain,
        where=Where(kernel=kernel), remedy=kind.remedy, evidence=evidence,
    )  # fmt: skip


def _gain(case: Case, start: Int64Array, stop: Int64Array, needed_ns: int) -> int:
    """How much shorter the range could be if the kernels in some disjoint stretches took ``needed_ns``, ns."""
    time = int((stop - start).sum())
    if not case.is_reproduced or needed_ns >= time:
        return 0
    segments = case.segments
    own = np.flatnonzero((segments.actor == case.actor) & (segments.cause == Cause.COMPUTATION))
    covered = covered_ns(
        (start, stop), segments.start[own].astype(np.int64), segments.stop[own].astype(np.int64)
    )
    saved = covered * (1 - needed_ns / time) / np.maximum(segments.length[own], 1)
    keep = np.ones(len(segments), np.float32)
    keep[own] = np.clip(1 - saved, 0.0, 1.0)
    gain = min(case.graph.gain_ns(case.actor, keep), time - needed_ns)
    return gain if gain >= NOTE * case.whole_ns else 0


rules = (Rule("gpu_kernels", "gpu", find_kernels),)
