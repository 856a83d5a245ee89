"""Rule: threads that sleep in SQLite until another connection ends its transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    claim,
    cost,
    count_calls,
    groups,
    make_finding,
    place_known,
    stacks_like,
    unclaimed,
)
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.wait_kinds import FRAME, is_library
from warpline.analysis.findings.work.calls import LibraryCalls, named, read_calls
from warpline.analysis.findings.work.running_work import source_files
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
_BESIDE = re.compile(r"-(wal|journal|shm)$")
"""Files that SQLite keeps beside a database."""
_WRITES = ("write", "pwrite", "pwrite64", "fsync", "fdatasync")
_ADAPTERS = re.compile(r"/(sqlalchemy|sqlite3|django/db|peewee|aiosqlite|apsw|dataset|pony)\b")
_SLEEPS = re.compile(r"(^|\.)(sleep|wait)$")
_FEWEST = 5


def find_busy_databases(case: Case) -> Iterator[Finding]:
    """Find sleeps inside SQLite calls, by line: its busy handler sleeps while the database is locked."""
    calls = case.once(read_calls)
    strings = case.view.capture.strings
    beside = [
        code for code in np.unique(calls.object).tolist() if code >= 0 and _BESIDE.search(strings[code])
    ]
    used = calls.take(np.isin(calls.object, beside))
    if not len(used):
        return
    process = np.array([thread.process for thread in case.view.capture.threads], np.int64)
    users = np.flatnonzero(np.isin(process, process[np.unique(used.thread)]))
    segments = case.segments
    asleep = (segments.cause == Cause.SLEEP) & np.isin(segments.actor, users)
    asleep &= stacks_like(case, lambda frames: _calls_database(case, frames))
    pieces = unclaimed(case, asleep[case.pieces.leaf])
    writes = used.take(named(case, used, _WRITES))
    for group in groups(case, pieces, case.group_of_segment[case.pieces.leaf[pieces]]):
        leaves = np.unique(case.pieces.leaf[group.pieces]).astype(np.int64)
        count = count_calls(case, leaves)
        if count < _FEWEST:
            continue
        where, holder = case.where(int(leaves[0])), _usual_holder(case, leaves, writes, asleep)
        text = english(
            "Waiting for a locked database takes {time} of {whole} ({percent:.0f} %): at {place}, SQLite sleeps "
            "{count:,} times and tries again, because another connection has the write lock.",
            count=count, place=place_known(where), **cost(case, group.time_ns),
        )  # fmt: skip
        if holder.file:
            text = english(
                "{sentence} Meanwhile the thread that writes next is at {holder}.",
                sentence=text, holder=place_known(holder),
            )  # fmt: skip
        yield from claim(case, group.pieces, make_finding(
            case, name="waits_for_lock", title=english("Waiting for a locked database"), text=text,
            pieces=group.pieces, gain_ns=min(case.gain_ns(asleep), group.time_ns), where=where,
            remedy=english(
                "Begin the transaction after slow work such as requests, keep it short, and commit at once; or let one "
                "thread write for all."
            ),
            refutation=english("Refuted if no other connection writes to the database meanwhile."),
        ))  # fmt: skip


def _calls_database(case: Case, frames: list[str]) -> bool:
    """Whether a sleep with this stack (leaf first) is not one that the program or a library calls itself."""
    inner = next(filter(None, map(FRAME.match, frames)), None)
    if inner is None:
        return False
    if is_library(inner["file"]):
        return bool(_ADAPTERS.search(inner["file"]))
    line = case.once(source_files).line(inner["file"], int(inner["line"]), inner["function"])
    return line is not None and bool(line.calls) and not any(_SLEEPS.search(name) for name, _ in line.calls)


def _usual_holder(
    case: Case, sleeps: Int64Array, writes: LibraryCalls, asleep: npt.NDArray[np.bool_]
) -> Where:
    """Where the thread that writes to the database next spends most of the time of some sleeps.

    Only one connection at a time may write, so the next one to write has the lock, unless it sleeps itself.
    """
    order = np.argsort(writes.start, kind="stable")
    thread, start = writes.thread[order], writes.start[order]
    middle = (case.segments.start[sleeps] + case.segments.stop[sleeps]) // 2
    at = np.searchsorted(start, middle)
    inside = np.flatnonzero(at < len(start))
    if not len(inside):
        return Where()
    holder = case.graph.index.at(thread[at[inside]], middle[inside])
    length = case.segments.length[sleeps[inside]]
    known = (
        (holder >= 0) & ~asleep[np.maximum(holder, 0)] & (case.group_of_segment[np.maximum(holder, 0)] > 0)
    )
    if not known.any():
        return Where()
    holder, length = holder[known], length[known]
    places = case.group_of_segment[holder]
    best = int(np.argmax(np.bincount(places, length)))
    return case.where(int(holder[np.flatnonzero(places == best)[0]]))


rules = (Rule("busy_databases", "locks", find_busy_databases, order=30),)
