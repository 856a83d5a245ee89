"""Rule: the GPU's clock was lowered while it computed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.draft import NOTE, at_most, severity
from warpline.analysis.findings.finding import Evidence, Finding, Severity
from warpline.analysis.findings.kernels.gpu_counters import counter_of, while_busy
from warpline.analysis.findings.rule import Rule
from warpline.i18n import english

_CLOCK = re.compile(r"SM clock|AI Core Freq", re.IGNORECASE)
_TEMPERATURE = re.compile(r"^Temperature", re.IGNORECASE)
_LOWERED = 0.85
_SAMPLES = 5


def find_clock(case: Case) -> Iterator[Finding]:
    """Compare the clock during computation with its highest value."""
    counter = counter_of(case, _CLOCK)
    if case.gpu is None or counter is None:
        return
    busy = case.pieces_of_category(NUMBER["computation"])
    values = while_busy(case, counter, busy)
    highest = float(np.nanmax(counter.values, initial=0.0))
    if len(values) < _SAMPLES or not highest or float(values.mean()) >= _LOWERED * highest:
        return
    mean = float(values.mean())
    gain = int(case.pieces.length[busy].sum() * (1 - mean / highest))
    if gain < NOTE * case.whole_ns:
        return
    temperature = counter_of(case, _TEMPERATURE)
    degrees = while_busy(case, temperature, busy) if temperature is not None else np.empty(0)
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


rules = (Rule("gpu_clock", "gpu", find_clock),)
