"""Rule: memory that grows with each step, where a line keeps the autograd graph of every loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.draft import place_of
from warpline.analysis.findings.finding import Evidence, Finding, Severity, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.work.kept_graphs import keeping_line, training_functions
from warpline.analysis.findings.work.running_work import own_files, source_files
from warpline.i18n import english
from warpline.model.sizes import format_bytes
from warpline.model.track_titles import RESIDENT_MEMORY

_PARTS = 5
"""Parts of the range whose mean sizes must rise one after the other."""
_GROWN, _GROWN_BYTES = 1.1, 20 << 20
"""Memory grows if its last part is larger than the first by this factor and by so many bytes."""


def find_kept_graphs(case: Case) -> Iterator[Finding]:
    """Find lines that keep graphs in a program whose memory grows over the whole range."""
    grown = _growth(case)
    if grown is None:
        return
    early, late = grown
    for where in _keeping_lines(case):
        yield Finding(
            id="kept_graphs", severity=Severity.WARNING, title=english("Kept autograd graphs"),
            text=english(
                "The memory of {subject} grows over the whole range, from {early} to {late}: {place} keeps the graph "
                "of each loss, with all its intermediate results.",
                subject=case.target.title, early=format_bytes(early), late=format_bytes(late), place=place_of(where),
            ),
            where=where,
            remedy=english(
                "Add loss.item() or loss.detach() instead of the loss itself, or call backward on each loss and keep "
                "nothing else of it."
            ),
            evidence=Evidence(tracks=case.target.tracks[:1]),
        )  # fmt: skip
        return


def _growth(case: Case) -> tuple[float, float] | None:
    """The target's memory in the first and the last part of the range, bytes; None unless it grows in each part."""
    capture, thread = case.view.capture, case.target.thread
    if thread is None:
        return None
    for counter in capture.counters:
        if (
            counter.name != RESIDENT_MEMORY
            or capture.tracks[counter.track].process != capture.threads[thread].process
        ):
            continue
        times, values = np.asarray(counter.times), np.asarray(counter.values, np.float64)
        edges = np.linspace(case.view.start_ns, case.view.stop_ns, _PARTS + 1)
        part = np.searchsorted(edges, times, "right") - 1
        inside = (part >= 0) & (part < _PARTS) & np.isfinite(values)
        count = np.bincount(part[inside], minlength=_PARTS)
        if not count.all():
            return None
        means = np.bincount(part[inside], values[inside], _PARTS) / count
        # The start of a program grows as well, so the rest must, too. (Means of a damaged counter may be huge.)
        rises = np.diff(means) > 0.02 * (means[-1] - means[0])
        enough = means[-1] / _GROWN >= means[0] and means[-1] - means[0] >= _GROWN_BYTES
        return (float(means[0]), float(means[-1])) if enough and rises.all() else None
    return None


def _keeping_lines(case: Case) -> Iterator[Where]:
    """The lines that keep graphs, in the functions of the program that were sampled while they ran."""
    pieces = case.pieces_of_category(NUMBER["running"])
    sources = case.once(source_files)
    for file in own_files(case, np.unique(case.segments.place[case.pieces.leaf[pieces]]).tolist()):
        source = sources.file(file)
        for function in training_functions(source) if source is not None else ():
            number = keeping_line(function)
            if number is not None:
                yield Where(file=file, line=number, function=getattr(function, "name", "<module>"))


rules = (Rule("kept_graphs", "host", find_kept_graphs),)
