"""Chains of elementwise kernels: how many run in a row, what launched them, and whether they could be fused."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.structure.attribution import enclosing_of_calls
from warpline.analysis.structure.launches import calls_of_rows
from warpline.i18n import english, english_n, joined

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_OPTIMIZER = re.compile(r"^Optimizer\.step|\boptimizer[._ ]?step\b", re.IGNORECASE)
_COMPILED = re.compile(r"^triton_|^CompiledFunction|^Torch-Compiled Region")
_FUSED = re.compile(r"_fused_(adam|sgd|adagrad)|FusedAdam|multi_tensor_apply.*Fused", re.IGNORECASE)
_MOST = 0.5
_LOOKED_UP = 50_000
"""How many kernels are looked up for what launched them."""


@dataclass(frozen=True)
class KernelChains:
    """Elementwise kernels that follow each other directly on a stream: how many chains, and the longest."""

    count: int
    longest: int


def chains(case: Case, events: SelectedEvents, mask: BoolArray) -> KernelChains:
    """The chains among the kernels [n] that ``mask`` marks, in the order in which each stream ran all kernels."""
    track = case.view.track_of(events.row)
    order = np.lexsort((events.start, track))
    marked, own = mask[order], track[order]
    begins = marked & ~np.concatenate([[False], marked[:-1] & (own[1:] == own[:-1])])
    lengths = np.bincount(np.cumsum(begins)[marked] - 1) if marked.any() else np.zeros(0, np.int64)
    several = lengths[lengths > 1]
    return KernelChains(len(several), int(lengths.max(initial=0)))


def elementwise_advice(case: Case, events: SelectedEvents, mask: BoolArray) -> tuple[str, str]:
    """A sentence about the chains and what launched them, and the remedy; the sentence is empty without chains."""
    found = chains(case, events, mask)
    detail = (
        english_n(
            "{count:,} chain of up to {longest} runs without another kernel between them.",
            "{count:,} chains of up to {longest} run without another kernel between them.",
            found.count, longest=found.longest,
        )
        if found.count
        else ""
    )  # fmt: skip
    capture = case.view.capture
    own = events.take(mask)
    if _share_in_optimizer(case, own) > _MOST and not matching_names(capture, _FUSED).any():
        inside = english("Most of them run in the optimizer's step.")
        return joined(" ", [part for part in (detail, inside) if part]), english(
            "Use a fused optimizer (fused=True in torch.optim)."
        )
    if matching_names(capture, _COMPILED).any():
        return detail, english(
            "Part of the program is compiled, and these are not: look for graph breaks (TORCH_LOGS=graph_breaks)."
        )
    return detail, english(
        "Fuse them: compile the model (torch.compile), or make fewer passes over the same tensors."
    )


def optimizer_share(case: Case) -> float:
    """The share of the time of the target GPU's kernels that were launched inside an optimizer's step."""
    if case.gpu is None:
        return 0.0
    return _share_in_optimizer(case, case.view.events("kernel", case.gpu.gpu.tracks))


def _share_in_optimizer(case: Case, events: SelectedEvents) -> float:
    """The share of the time of some kernels that were launched inside an optimizer's step."""
    if not matching_names(case.view.capture, _OPTIMIZER).any():
        return 0.0
    if not len(events):
        return 0.0
    step = max(len(events) // _LOOKED_UP, 1)
    rows = np.sort(events.row[::step])
    work, thread, start, _ = calls_of_rows(case.view, rows)
    around = enclosing_of_calls(case.view, thread, start, ("range", "phase"))
    known = around >= 0
    named = np.zeros(len(work), bool)
    named[known] = matching_names(case.view.capture, _OPTIMIZER)[case.view.names(around[known])]
    length = case.view.durations(work)
    return float(length[named].sum() / max(length.sum(), 1))
