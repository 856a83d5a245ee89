"""Rule: the GPU's clock was lowered while it computed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.draft import NOTE, at_most, severity
from warpline.analysis.findings.finding import Evidence, Finding, Severity
from warpline.analysis.findings.rule import Rule
from warpline.i18n import english
from warpline.storage import Counter

_CLOCK = re.compile(r"SM clock|AI Core Freq", re.IGNORECASE)
_TEMPERATURE = re.compile(r"^Temperature", re.IGNORECASE)
_LOWERED = 0.85
_SAMPLES = 5


def find_clock(case: Case) -> Iterator[Finding]:
    """Compare the clock during computation with its highest value."""
    counter = _counter(case, _CLOCK)
    if case.gpu is None or counter is None:
        return
    busy = case.pieces_of_category(NUMBER["computation"])
    values = _while_busy(case, counter, busy)
    highest = float(np.nanmax(counter.values, initial=0.0))
    if len(values) < _SAMPLES or not highest or float(values.mean()) >= _LOWERED * highest:
        return
    mean = float(values.mean())
    gain = int(case.pieces.length[busy].sum() * (1 - mean / highest))
    if gain < NOTE * case.whole_ns:
        return
    temperature = _counter(case, _TEMPERATURE)
    degrees = _while_busy(case, temperature, busy) if temperature is not None else np.empty(0)
    fields = {
        "device": case.device,
        "mean": f"{mean:.0f}",
        "highest": f"{highest:.0f}",
        "factor": at_most(case, gain),
    }
    text = english(
        "The {device} computes at {mean} MHz on average; its highest clock is {highest} MHz. Up to "
        "{factor}× faster.",
        **fields,
    )
    if len(degrees):
        heat = english("Its temperature reaches {degrees} °C.", degrees=f"{float(degrees.max()):.0f}")
        text = f"{text} {heat}"
    yield Finding(
        id="gpu_clock", severity=severity(gain / case.fair_ns, Severity.WARNING), title=english("Lowered clock"),
        text=text, gain_ns=gain,
        remedy=english("Check cooling and the power limit; nvidia-smi -q -d PERFORMANCE shows the reason."),
        evidence=Evidence(tracks=(counter.track, *case.target.tracks[:1])),
    )  # fmt: skip


def _counter(case: Case, pattern: re.Pattern[str]) -> Counter | None:
    """The first counter with a matching name that belongs to the GPU or to no GPU in particular."""
    capture = case.view.capture
    gpu = case.gpu.gpu if case.gpu is not None else None
    for counter in capture.counters:
        track = capture.tracks[counter.track]
        is_own = gpu is not None and track.device in (None, gpu.device) and track.rank in (None, gpu.rank)
        if is_own and pattern.search(counter.name) and len(counter.values):
            return counter
    return None


def _while_busy(case: Case, counter: Counter, busy: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The counter's values that were sampled while the GPU computed."""
    start, stop = case.pieces.start[busy], case.pieces.stop[busy]
    if not len(start):
        return np.empty(0)
    times = np.asarray(counter.times)
    at = np.searchsorted(start, times, "right") - 1
    inside = (at >= 0) & (times < stop[np.maximum(at, 0)]) & ~np.isnan(counter.values)
    values: npt.NDArray[np.float64] = np.asarray(counter.values)[inside]
    return values


rules = (Rule("gpu_clock", "gpu", find_clock),)
