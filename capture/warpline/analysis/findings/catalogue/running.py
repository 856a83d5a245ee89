"""Time on a core: imports, collecting garbage, work of others that is waited for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.launching import host_place
from warpline.analysis.findings.draft import (
    CRITICAL,
    cost,
    groups,
    leaves_like,
    make_finding,
    pieces_of,
    place_known,
    told,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding, Severity
from warpline.analysis.findings.rule import Rule
from warpline.i18n import english, english_n
from warpline.model.intervals import merge_intervals

Int64Array = npt.NDArray[np.int64]


def of_imports(case: Case) -> Iterator[Finding]:
    """Modules that are imported in the range."""
    pieces = pieces_of(case, "imports")
    if not len(pieces):
        return
    where = where_of(case, pieces)
    gain = case.gain_of_pieces(pieces)
    text = english(
        "Importing modules takes {time} of {whole} ({percent:.0f} %), most of it asked for at {place}.",
        place=place_known(where),
        **cost(case, int(case.pieces.length[pieces].sum())),
    )
    remedy = english("Import less, later, or in processes that stay; see python -X importtime.")
    title = english("Importing modules")
    worst = Severity.WARNING if gain >= CRITICAL * case.fair_ns else Severity.NOTE
    found = make_finding(case, "imports", title, text, pieces, gain, where, remedy, worst)
    if found is not None:
        yield found


def of_garbage(case: Case) -> Iterator[Finding]:
    """Python's garbage collector at work."""
    pieces = pieces_of(case, "gc")
    if not len(pieces):
        return
    where = where_of(case, pieces) if case.gpu is None else host_place(case, pieces)
    text = english_n(
        "Collecting garbage takes {time} of {whole} ({percent:.0f} %), once.",
        "Collecting garbage takes {time} of {whole} ({percent:.0f} %), in {count:,} stretches.",
        len(merge_intervals(case.pieces.start[pieces], case.pieces.stop[pieces])[0]),
        **cost(case, int(case.pieces.length[pieces].sum())),
    )
    remedy = english(
        "gc.freeze() before the loop, gc.disable() in it, and collect between steps; make fewer cycles."
    )
    found = make_finding(
        case,
        "garbage",
        english("Collecting garbage"),
        text,
        pieces,
        case.gain_of_pieces(pieces),
        where,
        remedy,
    )
    if found is not None:
        yield found


def of_others(case: Case) -> Iterator[Finding]:
    """Work of other threads and processes that is waited for."""
    pieces = pieces_of(case, "other_threads")
    leaf = case.pieces.leaf[pieces]
    for group in groups(case, pieces, case.segments.actor[leaf] * 0):
        path = usual_path(case, group.pieces)
        where = where_of(case, group.pieces)
        text = english(
            "{who} waits for work of other threads for {time} of {whole} ({percent:.0f} %), most of it at {place}.",
            who=case.target.title,
            place=place_known(where),
            **cost(case, group.time_ns),
        )
        gain = case.gain_ns(leaves_like(case, group.pieces))
        found = make_finding(
            case, "waits_for_work", english("Waiting for others' work"), text, group.pieces, gain, where,
            english("Give it to more threads or processes, or do something else meanwhile."), Severity.NOTE,
            path=path, meanwhile=told(case, path),
        )  # fmt: skip
        if found is not None:
            yield found


rules = (
    Rule("imports", "host", of_imports),
    Rule("garbage", "host", of_garbage),
    Rule("others", "locks", of_others),
)
