"""A GPU that computes all the time: which of its kernels could be others."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.draft import NOTE, cost, shortened
from warpline.analysis.findings.finding import Evidence, Finding, Severity, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import SelectedEvents
from warpline.analysis.structure.kernels import uses_tensor_cores
from warpline.i18n import english, english_n
from warpline.model.intervals import clip_intervals, merge_intervals

_LAYOUT = re.compile(
    r"nchwToNhwc|nhwcToNchw|cudnn_?ops?_nchw|transposeKernel|convertTensor_kernel", re.IGNORECASE
)
_PRODUCT = re.compile(r"gemm|sgemm|wgrad|dgrad|fprop|conv\d?d|cublas|cutlass|gemv", re.IGNORECASE)
_ROWS = 20


def of_kernels(case: Case) -> Iterator[Finding]:
    """Products of matrices without tensor cores, conversions of layouts, what takes most of a busy GPU."""
    if case.gpu is None or not case.view.has("kernel"):
        return
    events = case.view.events("kernel", case.gpu.gpu.tracks)
    if not len(events):
        return
    layout = matching_names(case.view.capture, _LAYOUT)[events.name]
    plain = (
        matching_names(case.view.capture, _PRODUCT)[events.name] & ~layout & ~_on_tensor_cores(case, events)
    )
    yield from _told(
        case, "gpu_layout", english("Conversions of layouts"), events.take(layout),
        english("Keep one layout: channels_last throughout, contiguous inputs."),
    )  # fmt: skip
    yield from _told(
        case, "gpu_tensor_cores", english("Products without tensor cores"), events.take(plain),
        english("Use TF32, bfloat16 or half precision, and sizes that are multiples of 8 (16 for int8)."),
    )  # fmt: skip
    computed = int(case.pieces.length[case.category == NUMBER["computation"]].sum())
    if computed > 0.8 * case.whole_ns:
        rest = events.take(~layout & ~plain)
        names, inverse = np.unique(rest.name, return_inverse=True)
        total = np.bincount(inverse.reshape(-1), rest.inside, len(names)) if len(names) else np.zeros(1)
        yield from _told(
            case, "gpu_kernels", english("The {device} is busy: its largest kernel", device=case.device),
            rest.take(inverse.reshape(-1) == int(np.argmax(total))),
            english("Only less work, or better kernels, help: fuse, lower the precision, choose larger tiles."),
        )  # fmt: skip


def _on_tensor_cores(case: Case, events: SelectedEvents) -> npt.NDArray[np.bool_]:
    distinct, inverse = np.unique(events.name, return_inverse=True)
    texts = case.view.capture.strings.get(distinct.tolist())
    found: npt.NDArray[np.bool_] = np.array([uses_tensor_cores(text) for text in texts], bool)[
        inverse.reshape(-1)
    ]
    return found


def _told(case: Case, name: str, title: str, events: SelectedEvents, remedy: str) -> Iterator[Finding]:
    """A note about some kernels: the GPU is used, whatever could be better."""
    view = case.view
    start, stop = merge_intervals(*clip_intervals(events.start, events.stop, view.start_ns, view.stop_ns))
    time = int((stop - start).sum())
    if time < NOTE * case.whole_ns:
        return
    distinct, inverse = np.unique(events.name, return_inverse=True)
    most = int(distinct[int(np.argmax(np.bincount(inverse.reshape(-1), events.inside)))])
    kernel = view.capture.strings[most]
    text = english_n(
        "{title}: {count:,} kernel takes {time} of {whole} ({percent:.0f} %): {kernel}.",
        "{title}: {count:,} kernels take {time} of {whole} ({percent:.0f} %), first of all {kernel}.",
        len(events), title=title, kernel=shortened(kernel), **cost(case, time),
    )  # fmt: skip
    longest = np.argsort(-events.duration, kind="stable")[:_ROWS]
    ranges = tuple(zip(start.tolist(), stop.tolist(), strict=True))
    evidence = Evidence(ranges, tuple(events.row[longest].tolist()), case.target.tracks)
    share = time / case.whole_ns
    yield Finding(
        name, Severity.NOTE, title, text, time, share, 0, Where(kernel=kernel), remedy, evidence=evidence
    )


rules = (Rule("gpu_kernels", "gpu", of_kernels),)
