"""Tells sleeps that keep a pace, such as that of frames, from sleeps that delay work."""

from __future__ import annotations

import ast
import re

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.segments import IntArray
from warpline.analysis.findings.work.running_work import source_files
from warpline.analysis.findings.work.source_lines import SourceLine, dotted

_FEWEST = 10
_REGULAR = 0.3
"""Periods must vary less than this share of how much the sleeps vary."""
_DEEPEST = 3
"""How many assignments are followed."""
_SLEEP = re.compile(r"(^|\.)sleep$")
_CLOCK = re.compile(r"(^|\.)(monotonic|perf_counter|time|clock_gettime|now)(_ns)?$")


def keeps_pace(case: Case, sleeps: IntArray, where: Where) -> bool:
    """Whether some sleeps at one line last until a time that the program computes from a clock.

    The source says so. Without it, sleeps keep a pace if they are shorter exactly when the work before them is longer.
    """
    line = case.once(source_files).line(where.file, where.line, where.function)
    if line is not None:
        return any(
            _SLEEP.search(name) and any(_reads_clock(line, argument) for argument in call.args)
            for name, call in line.calls
        )
    segments = case.segments
    own = sleeps[segments.actor[sleeps] == segments.actor[sleeps[0]]]
    if len(own) < _FEWEST:
        return False
    periods = np.diff(segments.stop[own])
    return bool(periods.std() < _REGULAR * segments.length[own].std())


def _reads_clock(line: SourceLine, value: ast.expr, depth: int = 0) -> bool:
    """Whether an expression, or what is assigned to its names, reads a clock."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and _CLOCK.search(dotted(node.func)):
            return True
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or depth >= _DEEPEST:
            continue
        if any(_reads_clock(line, assigned, depth + 1) for assigned in line.assigned(node)):
            return True
    return False
