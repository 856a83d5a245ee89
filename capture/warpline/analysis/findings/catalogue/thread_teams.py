"""Rule: native libraries (OpenMP, BLAS, PyTorch) that compute with more threads than there are cores."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    NOTE,
    claim,
    cost,
    make_finding,
    pieces_of,
    place_of,
    unclaimed,
    where_of,
)
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import one_of
from warpline.analysis.findings.work.running_work import own_files, source_files
from warpline.analysis.findings.work.source_lines import dotted
from warpline.i18n import english, english_n
from warpline.model.intervals import merge_intervals
from warpline.model.times import format_duration

_FEWEST_RUNS = 20
"""How often a thread must get to run to belong to a team: teams meet at a barrier after each small piece of work."""
_WANTS = (int(Cause.RUNNING), int(Cause.RUNNABLE))
_OURS = "warpline-agent"
_SETTERS = (
    "set_num_threads", "set_num_interop_threads", "setNumThreads", "threadpool_limits", "set_threads", "set_cpu_count",
)  # fmt: skip
_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip
_WRITERS = ("setdefault", "putenv", "update")


def find_teams(case: Case) -> Iterator[Finding]:
    """Find teams of library threads that want more cores than there are, and the time lost by waiting for them."""
    if not any(track.role == "core" for track in case.view.capture.tracks):
        return  # how many there are was not recorded
    teams = _teams(case)
    segments, threads = case.segments, case.view.capture.threads
    members = sorted(member for team in teams.values() for member in team)
    count = len(members) + len(teams)
    if count <= case.cores or _wanted(case, members) + 1 <= case.cores:
        return
    in_team = np.isin(
        np.array([thread.process for thread in threads], np.int64), sorted(teams)
    )  # the thread that calls the library computes, too
    waits = (segments.cause == Cause.BLOCKED) & (segments.actor < len(threads))
    waits[waits] = in_team[segments.actor[waits]]
    pieces = unclaimed(case, waits[case.pieces.leaf])
    blocked = int(case.pieces.length[pieces].sum())
    # Of the waits for a core, those in which the program's own threads had the cores.
    ready = pieces_of(case, "runnable")
    ready = ready[np.cumsum(case.pieces.length[ready]) <= case.core_waits_ns - case.outside_ns]
    own_waits = int(case.pieces.length[ready].sum())
    gain = min(case.gain_ns(waits), blocked) + own_waits
    pieces = np.union1d(pieces, ready)
    if not len(pieces):
        return
    where = where_of(case, pieces)
    place = _setting(case, where)
    text = english_n(
        "{threads} threads of native libraries share {count} core: {blocked} of {whole} ({percent:.0f} %) is spent "
        "waiting for threads that have no core, at {place}.",
        "{threads} threads of native libraries share {count} cores: {blocked} of {whole} ({percent:.0f} %) is spent "
        "waiting for threads that have no core, at {place}.",
        case.cores, threads=count, blocked=cost(case, blocked + own_waits)["time"], place=place_of(where),
        **cost(case, blocked + own_waits),
    )  # fmt: skip
    if case.outside_ns >= NOTE * case.whole_ns:
        text = english(
            "{sentence} Other programs used the cores for another {foreign}.",
            sentence=text, foreign=format_duration(case.outside_ns),
        )  # fmt: skip
    if place is not None:
        text = english(
            "{sentence} The number of threads is set at {place}.", sentence=text, place=place_of(place)
        )
    yield from claim(case, pieces, make_finding(
        case, name="too_many_threads", title=english("More threads of a library than cores"), text=text, pieces=pieces,
        gain_ns=gain, where=place or where, time_ns=blocked + own_waits,
        remedy=english(
            "Limit the threads of each process to its share of the free cores: torch.set_num_threads, OMP_NUM_THREADS "
            "(OpenMP), OPENBLAS_NUM_THREADS, MKL_NUM_THREADS, cv2.setNumThreads or threadpoolctl."
        ),
    ))  # fmt: skip


def _teams(case: Case) -> dict[int, list[int]]:
    """Threads without any stack of Python that run again and again, by process; such processes run Python, too."""
    segments, threads = case.segments, case.view.capture.threads
    sampled = set(np.unique(case.threads.samples[0]).tolist())
    runs = (segments.cause == Cause.RUNNING) & (segments.actor < len(threads))
    times = np.bincount(segments.actor[runs].astype(np.int64), minlength=len(threads))
    teams: dict[int, list[int]] = {}
    for actor in np.flatnonzero(times >= _FEWEST_RUNS).tolist():
        if actor not in sampled and not case.threads.name(actor).startswith(_OURS):
            teams.setdefault(threads[actor].process, []).append(actor)
    with_python = {threads[actor].process for actor in sampled}
    return {process: team for process, team in teams.items() if process in with_python}


def _wanted(case: Case, members: list[int]) -> float:
    """How many of some threads want a core at the same time, on average while any of them does."""
    segments = case.segments
    own = np.flatnonzero(one_of(segments.actor, np.array(members)) & one_of(segments.cause, _WANTS))
    if not len(own):
        return 0.0
    start, stop = segments.start[own], segments.stop[own]
    order = np.argsort(start, kind="stable")
    first, last = merge_intervals(start[order], stop[order])
    return float((stop - start).sum() / max(int((last - first).sum()), 1))


def _setting(case: Case, where: Where) -> Where | None:
    """The line that sets the number of threads, in the program's files that were sampled; None if there is none."""
    sources = case.once(source_files)
    for file in dict.fromkeys([where.file, *own_files(case, np.unique(case.segments.place).tolist())]):
        source = sources.file(file) if file else None
        for node in ast.walk(source.tree) if source is not None else ():
            if isinstance(node, (ast.Call, ast.Assign)) and sets_threads(node):
                line = source.line(node.lineno) if source is not None else None
                owner = line.function if line is not None else None
                return replace(
                    where, file=file, line=node.lineno, function=owner.name if owner else "<module>"
                )
    return None


def sets_threads(node: ast.Call | ast.Assign) -> bool:
    """Whether a call or assignment sets how many threads a native library uses."""
    if isinstance(node, ast.Call):
        name = dotted(node.func).rpartition(".")[2]
        parts = [part for argument in node.args[:1] for part in ast.walk(argument)]
        given = {part.value for part in parts if isinstance(part, ast.Constant)}
        given.update(word.arg for word in node.keywords)
        return name in _SETTERS or (name in _WRITERS and not given.isdisjoint(_VARIABLES))
    return any(
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value in _VARIABLES
        for target in node.targets
    )


rules = (Rule("thread_teams", "locks", find_teams, order=50),)
