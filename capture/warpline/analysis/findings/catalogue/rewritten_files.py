"""Rule: a file that is opened and written again for each change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.draft import claim, cost, make_finding, place_known, stacks_like, unclaimed
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.wait_kinds import FRAME
from warpline.analysis.findings.work.calls import (
    LibraryCalls,
    named,
    read_calls,
    usual_call_place,
    usual_object,
)
from warpline.analysis.findings.work.running_work import source_files
from warpline.analysis.findings.work.shapes import serializes
from warpline.i18n import english

_WRITES = ("write", "writev", "pwrite")
_SYNCS = ("fsync", "fdatasync")
_OFTEN = 50
_EACH_TIME = 0.8
"""Least share of the openings that must be followed by a write; the others only read."""


def find_rewritten_files(case: Case) -> Iterator[Finding]:
    """Find the file that is opened most often and written each time, with all time of the function that does it."""
    calls = case.once(read_calls)
    writes = calls.take(named(case, calls, _WRITES) & (calls.object >= 0) & (calls.result > 0))
    opens = calls.take(named(case, calls, ("open",)) & np.isin(calls.object, np.unique(writes.object)))
    path, count = usual_object(case, opens)
    if count < _OFTEN:
        return
    # A database that syncs for each transaction also opens its journal each time: `waits_for_file` reports that.
    if 2 * int(named(case, calls, _SYNCS).sum()) > count:
        return
    strings = case.view.capture.strings
    code = next(code for code in np.unique(opens.object).tolist() if strings[code] == path)
    where = usual_call_place(case, opens.take(opens.object == code))
    if not where.file:
        where = usual_call_place(case, writes.take(writes.object == code))
    if not where.file:
        return
    own = writes.object == code
    written = int(writes.result[own].sum())
    if own.sum() < _EACH_TIME * count:
        return
    # Not each opening is for writing: some programs read back what they wrote.
    times = _openings_to_write(case, calls, code)
    inside = stacks_like(case, lambda frames: _is_inside(frames, where))
    pieces = unclaimed(case, inside[case.pieces.leaf])
    where = _producing_line(case, where)
    text = english(
        "{path} is opened and written again {count:,} times, {size:,.0f} bytes each time. The function does that for "
        "{time} of {whole} ({percent:.0f} %), at {place}.",
        path=path, count=times, size=written / max(times, 1), place=place_known(where),
        **cost(case, int(case.pieces.length[pieces].sum())),
    )  # fmt: skip
    yield from claim(case, pieces, make_finding(
        case, name="rewritten_file", title=english("A file written again and again"), text=text, pieces=pieces,
        gain_ns=case.gain_of_pieces(pieces), where=where,
        remedy=english(
            "Do not encode and write the whole content for each change: keep the file open and append what is new, "
            "write it once at the end or at intervals, or use a database."
        ),
    ))  # fmt: skip


def _openings_to_write(case: Case, calls: LibraryCalls, path: int) -> int:
    """How many openings of a file are followed by a write before it is opened again."""
    of_file = calls.take((calls.object == path) & named(case, calls, ("open", *_WRITES)))
    is_open = named(case, of_file, ("open",))
    goes_on = of_file.thread[1:] == of_file.thread[:-1]
    return int(np.count_nonzero(is_open[:-1] & ~is_open[1:] & goes_on))


def _is_inside(frames: list[str], where: Where) -> bool:
    return any(
        match is not None
        and match["file"] == where.file
        and match["function"].rpartition(".")[2] == where.function
        for match in map(FRAME.match, frames)
    )


def _producing_line(case: Case, where: Where) -> Where:
    """The line of the function that encodes the content, if there is one, else the place itself."""
    sources = case.once(source_files)
    line = sources.line(where.file, where.line, where.function)
    function = line.function if line is not None else None
    if function is None:
        return where
    for number in range(function.lineno, (function.end_lineno or function.lineno) + 1):
        own = sources.line(where.file, number, where.function)
        if own is not None and own.number == own.statement.lineno and serializes(own):
            return Where(
                file=where.file,
                line=number,
                function=where.function,
                process=where.process,
                thread=where.thread,
            )
    return where


rules = (Rule("rewritten_files", "outside", find_rewritten_files, order=35),)
