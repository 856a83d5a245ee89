"""How closely the replay of each capture of a folder, without any change, reproduces the recording."""

from __future__ import annotations

from pathlib import Path

from warpline.analysis.findings.case import EXACT
from warpline.analysis.findings.diagnose import open_case
from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.framework.selection import View
from warpline.storage import open_capture


def baseline_error(capture: Path) -> float | None:
    """By what share of the range (0–1) the replay misses the recording; None without anything to replay."""
    with open_capture(capture) as opened:
        case = open_case(View(opened))
        if isinstance(case, Diagnosis):
            return None
        return case.graph.baseline_error_ns(case.actor) / case.whole_ns


def list_baselines(folder: Path) -> str:
    """A table with a line for each capture, and how many are within the 2 % from which on no gain is promised."""
    lines = ["| capture | replay misses by | within 2 % |", "|---|---:|---|"]
    errors = []
    for capture in sorted(folder.rglob("*.h5")):
        error = baseline_error(capture)
        if error is None:
            continue
        errors.append(error)
        marked = "yes" if error <= EXACT else "NO: no gain is promised"
        lines.append(f"| {capture.relative_to(folder).with_suffix('')} | {100 * error:.2f} % | {marked} |")
    lines.append(f"\nwithin 2 %: {sum(error <= EXACT for error in errors)} of {len(errors)}")
    return "\n".join(lines)
