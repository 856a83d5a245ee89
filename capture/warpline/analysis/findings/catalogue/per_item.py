"""Rules: a thread or a process that is started for each item."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import (
    NOTE,
    claim,
    cost,
    make_finding,
    place_known,
    rate_text,
    stacks_like,
    unclaimed,
    usual_path,
    where_of,
)
from warpline.analysis.findings.finding import Finding
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import one_of
from warpline.i18n import english
from warpline.model.times import format_duration
from warpline.model.waits import OWN_THREAD

BoolArray = npt.NDArray[np.bool_]
_MANY_THREADS, _MANY_PROCESSES = 40, 8
_TINY_NS = 10_000_000
_SHORT = 0.1
"""Threads and processes started for one item live for less than this share of the range."""
_STARTS_THREAD = re.compile(r"^Thread\.start \(.*threading\.py:")
_STARTS_PROCESS = re.compile(
    r"^(BaseProcess\.start|Popen\.\w+|run|call|check_\w+) \(.*/(multiprocessing/\w+|subprocess)\.py:"
)

_SERVES = re.compile(r"(serve_forever|handle_request|process_request\w*) \(.*/socketserver\.py:")


def find_thread_per_item(case: Case) -> Iterator[Finding]:
    """Find the cost of starting and ending many short threads; the work that they do counts elsewhere."""
    threads = case.view.capture.threads
    own = _target_process(case)
    lives = _lives(
        case, [t.process == own and t.tid != case.view.capture.processes[own].pid for t in threads]
    )
    served = _served(case)
    lasting = {
        index: length
        for index, length in lives.items()
        if length < _SHORT * case.whole_ns and index not in served
    }
    if own < 0 or len(lasting) < _MANY_THREADS:
        return
    starts = stacks_like(case, lambda frames: any(_STARTS_THREAD.match(frame) for frame in frames[:4]))
    segments, root = case.segments, case.pieces.root
    waits_for_them = one_of(segments.cause, (int(Cause.JOIN), int(Cause.START)))
    waits_for_them &= np.isin(segments.by, list(lasting))
    place = case.group_of_segment
    is_work = one_of(segments.actor, list(lasting)) & (place > 0) & (segments.cause != Cause.RUNNABLE)
    lines = np.unique(place[root[waits_for_them[root] | starts[root]]])
    chosen = np.isin(place[root], lines[lines > 0]) | starts[root]
    chosen &= ~is_work[case.pieces.leaf] & (case.category != NUMBER["runnable"])
    pieces = unclaimed(case, chosen)
    if not len(pieces):
        return
    where = where_of(case, pieces, deepest=False)
    text = english(
        "{count:,} threads are started for single items ({rate} a second), at {place}: each lives {life} "
        "(median). Starting and ending them takes {time} of {whole} ({percent:.0f} %).",
        count=len(lasting), rate=_per_second(case, list(lasting)), place=place_known(where),
        life=format_duration(int(np.median(list(lasting.values())))),
        **cost(case, int(case.pieces.length[pieces].sum())),
    )  # fmt: skip
    # Threads that live for so short a time would gain nothing from running at once.
    serial = np.isin(place[root], lines[lines > 0]) & (case.category == NUMBER["one_at_a_time"])
    is_tiny = float(np.median(list(lasting.values()))) < _TINY_NS
    covered = np.union1d(pieces, unclaimed(case, serial)) if is_tiny else pieces
    yield from claim(case, covered, make_finding(
        case, name="thread_per_item", title=english("A new thread for each item"), text=text, pieces=pieces,
        gain_ns=case.gain_of_pieces(pieces), where=where, path=usual_path(case, pieces),
        remedy=english("Keep a few threads running and give them items through a queue: ThreadPoolExecutor."),
    ))  # fmt: skip


def find_process_per_item(case: Case) -> Iterator[Finding]:
    """Find the cost of starting, running and ending many short child processes."""
    capture, own = case.view.capture, _target_process(case)
    if own < 0:
        return
    pid = capture.processes[own].pid
    children = {
        number
        for number, process in enumerate(capture.processes)
        if process.parent_pid == pid and process.pid != pid
    }
    mains = [t.process in children and t.tid == capture.processes[t.process].pid for t in capture.threads]
    lasting = {index: life for index, life in _lives(case, mains).items() if life < _SHORT * case.whole_ns}
    if len(lasting) < _MANY_PROCESSES:
        return
    segments, pieces_all = case.segments, case.pieces
    processes = {capture.threads[index].process for index in lasting}
    theirs = np.array([t.process in processes for t in capture.threads], bool)
    in_child = np.zeros(max(int(segments.actor.max(initial=0)) + 1, len(theirs)), bool)
    in_child[: len(theirs)] = theirs
    starts = stacks_like(case, lambda frames: any(_STARTS_PROCESS.match(frame) for frame in frames[:8]))
    passes = starts[pieces_all.root] | (segments.cause[pieces_all.root] == Cause.CHILD)
    for column in range(1, pieces_all.path.shape[1]):
        at = pieces_all.path[:, column]
        passes |= (at >= 0) & in_child[segments.actor[at]]
    lines = np.unique(case.group_of_segment[pieces_all.root[passes]])
    same_line = np.isin(case.group_of_segment[pieces_all.root], lines[lines > 0])
    chosen = (passes | same_line) & (case.category != NUMBER["runnable"])
    pieces = unclaimed(case, chosen)
    if pieces_all.length[pieces].sum() < NOTE * case.fair_ns:
        return
    where = where_of(case, pieces, deepest=False)
    text = english(
        "{count:,} child processes are started for single items ({rate} a second), at {place}: each lives {life} "
        "(median). Starting, running and ending them takes {time} of {whole} ({percent:.0f} %), as recorded: the "
        "recorder lengthens the start of each.",
        count=len(lasting), rate=_per_second(case, list(lasting)), place=place_known(where),
        life=format_duration(int(np.median(list(lasting.values())))),
        **cost(case, int(pieces_all.length[pieces].sum())),
    )  # fmt: skip
    yield from claim(case, pieces, make_finding(
        case, name="process_per_item", title=english("A new process for each item"), text=text, pieces=pieces,
        gain_ns=case.gain_of_pieces(pieces), where=where, path=usual_path(case, pieces),
        remedy=english("Keep one process running, or a pool of them, instead of starting one for each item."),
    ))  # fmt: skip


def _served(case: Case) -> frozenset[int]:
    """The threads that a server starts for its connections, unless the target is the server.

    Where there is one, threads whose work was too short to be seen are taken for its own.
    """
    segments = case.segments
    in_server = stacks_like(case, lambda frames: any(_SERVES.search(frame) for frame in frames))
    servers = set(segments.actor[in_server].tolist())
    if not servers or case.actor in servers:
        return frozenset()
    others = set(segments.actor[~in_server & (case.group_of_segment > 0)].tolist()) - servers
    return frozenset(range(len(case.view.capture.threads))) - others


def _per_second(case: Case, threads: list[int]) -> str:
    """How many of some threads start per second, from the first to the last start, as text."""
    known = case.view.capture.threads
    starts = [start for index in threads if (start := known[index].start_ns) is not None]
    return rate_text((len(starts) - 1) * 1e9 / max(max(starts) - min(starts), 1))


def _target_process(case: Case) -> int:
    thread = case.target.thread
    return -1 if thread is None else case.view.capture.threads[thread].process


def _lives(case: Case, wanted: list[bool]) -> dict[int, int]:
    """How long each wanted thread that began inside the range lived in it, ns by index."""
    view, lives = case.view, {}
    for index, thread in enumerate(view.capture.threads):
        if not wanted[index] or thread.name == OWN_THREAD or thread.start_ns is None:
            continue
        stop = view.stop_ns if thread.stop_ns is None else min(thread.stop_ns, view.stop_ns)
        if view.start_ns <= thread.start_ns < stop:
            lives[index] = stop - thread.start_ns
    return lives


rules = (
    Rule("process_per_item", "outside", find_process_per_item, order=20),
    Rule("thread_per_item", "locks", find_thread_per_item, order=20),
)
