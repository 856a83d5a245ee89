"""Where most of the time of a category is spent."""

from __future__ import annotations

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.draft import where_of
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.work.running_work import running_work


def usual_place(case: Case, key: str) -> Where:
    """The place with most time of a category: for running code its hottest line, else that of the wait."""
    if key in ("running", "active", "sampled"):
        work = case.once(running_work)
        groups = sorted((*work.known, *work.lines), key=lambda group: -group.time_ns)
        if groups:
            hot = groups[0].hot
            return Where(file=hot.file, line=hot.number, function=hot.function)
    return where_of(case, case.pieces_of_category(NUMBER[key]))
