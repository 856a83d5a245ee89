"""Rules about running code: imports, garbage collection, work of other threads that is waited for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.launching import host_place
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.draft import (
    CRITICAL,
    cost,
    doings,
    groups,
    leaves_like,
    make_finding,
    pieces_of,
    place_known,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding, Severity
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.work.running_work import running_work
from warpline.i18n import english, english_n
from warpline.model.intervals import merge_intervals

Int64Array = npt.NDArray[np.int64]
_NOTHING = np.empty(0, np.int64)
_LONG_IMPORTS_NS = 250_000_000
"""Shorter imports matter only in short programs."""
_MOSTLY, _NEARLY_ALL = 0.5, 0.9
"""Imports at the start of a program are paid once: they are a problem only where they take most of the range."""


def find_imports(case: Case) -> Iterator[Finding]:
    """Find imports of modules."""
    pieces = pieces_of(case, "imports")
    if not len(pieces):
        return
    where = where_of(case, pieces)
    # Waits for a core during imports must not raise their severity.
    gain = min(case.gain_of_pieces(pieces), int(case.pieces.length[pieces].sum()))
    text = english(
        "Importing modules takes {time} of {whole} ({percent:.0f} %), mostly imported at {place}.",
        place=place_known(where),
        **cost(case, int(case.pieces.length[pieces].sum())),
    )
    remedy = english(
        "Import less or later, or keep processes alive; python -X importtime shows the cost of each module."
    )
    title = english("Importing modules")
    least = _MOSTLY if _is_at_start(case, pieces) else CRITICAL
    worst = Severity.WARNING if gain >= max(least * case.whole_ns, _LONG_IMPORTS_NS) else Severity.NOTE
    yield from make_finding(
        case, name="imports", title=title, text=text, pieces=pieces, gain_ns=gain, where=where, remedy=remedy,
        worst=worst,
    )  # fmt: skip


def _is_at_start(case: Case, imports: Int64Array) -> bool:
    """Whether little else ran or was waited for, cores apart, until nearly all of the imports were done."""
    pieces = case.pieces
    done = np.cumsum(pieces.length[imports])
    end = int(pieces.stop[imports[np.searchsorted(done, _NEARLY_ALL * done[-1])]])
    is_before = pieces.stop <= end
    is_before[case.pieces_of_category(NUMBER["runnable"])] = False
    return bool(done[-1] >= _MOSTLY * pieces.length[is_before].sum())


def find_garbage(case: Case) -> Iterator[Finding]:
    """Find Python's garbage collection."""
    pieces = pieces_of(case, "gc")
    if not len(pieces):
        return
    where = where_of(case, pieces) if case.gpu is None else host_place(case, pieces)
    text = english_n(
        "Garbage collection takes {time} of {whole} ({percent:.0f} %) in one collection.",
        "Garbage collection takes {time} of {whole} ({percent:.0f} %) in {count:,} collections.",
        len(merge_intervals(case.pieces.start[pieces], case.pieces.stop[pieces])[0]),
        **cost(case, int(case.pieces.length[pieces].sum())),
    )
    remedy = english(
        "Call gc.freeze() before the loop, gc.disable() in it, and collect between steps; create fewer reference "
        "cycles."
    )
    yield from make_finding(
        case, name="garbage", title=english("Garbage collection"), text=text, pieces=pieces,
        gain_ns=case.gain_of_pieces(pieces), where=where, remedy=remedy,
    )  # fmt: skip


def find_others(case: Case) -> Iterator[Finding]:
    """Find waits for work of other threads and processes."""
    # Kinds of work that a rule knows have findings of their own (`hot_spots`), also in other threads.
    known = [group.pieces for group in case.once(running_work).known]
    pieces = np.setdiff1d(pieces_of(case, "other_threads"), np.concatenate(known or [_NOTHING]))
    leaf = case.pieces.leaf[pieces]
    for group in groups(case, pieces, case.segments.actor[leaf] * 0):
        path = usual_path(case, group.pieces)
        where = where_of(case, group.pieces)
        text = english(
            "{subject} waits {time} of {whole} ({percent:.0f} %) for work in other threads, mostly at {place}.",
            subject=case.target.title,
            place=place_known(where),
            **cost(case, group.time_ns),
        )
        gain = case.gain_ns(leaves_like(case, group.pieces))
        yield from make_finding(
            case, name="waits_for_work", title=english("Waiting for other threads' work"), text=text,
            pieces=group.pieces, gain_ns=gain, where=where,
            remedy=english("Spread the work over more threads or processes, or do something else meanwhile."),
            worst=Severity.NOTE, path=path, meanwhile=doings(case, path),
        )  # fmt: skip


rules = (
    Rule("imports", "host", find_imports),
    Rule("garbage", "host", find_garbage),
    Rule("others", "locks", find_others),
)
