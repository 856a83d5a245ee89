"""Tells sleeps that keep a pace, such as that of frames, or that answer requests, from sleeps that delay work."""

from __future__ import annotations

import ast
import itertools
import re

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import first_in_chain, usual_path
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.segments import IntArray, one_of
from warpline.analysis.findings.wait_kinds import FRAME, is_library
from warpline.analysis.findings.work.running_work import source_files
from warpline.analysis.findings.work.source_lines import SourceLine, dotted

Int64Array = npt.NDArray[np.int64]
_FEWEST = 10
_REGULAR = 0.3
"""Periods must vary less than this share of how much the sleeps vary."""
_DEEPEST = 3
"""How many assignments are followed."""
_ENOUGH, _ABSOLUTE, _EVEN = 24, -0.35, 0.3
"""From so many periods on, their correlation with the next one tells an absolute pace: at most −0.35 of their variance.
They must vary less than the given share of their mean."""
_ASKS = (int(Cause.NETWORK), int(Cause.POLL))
_ONE_EACH = 1.5
"""With more sleeps per wait than this, the sleeps poll for something."""
_OWN_WORKERS = re.compile(r"/multiprocessing/")
_SERVERS = re.compile(r"/socketserver\.py|/http/server\.py|/xmlrpc/server\.py|/wsgiref/")
_SLEEP = re.compile(r"(^|\.)sleep$")
_ASKS_WITHOUT_WAITING = re.compile(r"\.(get_nowait|empty|qsize|done|is_alive|is_set|locked|ready|poll)$")
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
    periods = np.diff(segments.stop[own]).astype(np.float64)
    return bool(periods.std() < _REGULAR * segments.length[own].std()) or _is_absolute(periods)


def _is_absolute(periods: npt.NDArray[np.float64]) -> bool:
    """Whether a period that ends late is followed by one that is shorter by as much, as when each end is computed from
    the first start: such periods correlate with the next one at −0.5, those of sleeps of a fixed length at 0.
    """
    apart = periods - periods.mean()
    spread = float((apart**2).sum())
    if len(periods) < _ENOUGH or not spread or periods.std() >= _EVEN * periods.mean():
        return False
    return float((apart[1:] * apart[:-1]).sum()) <= _ABSOLUTE * spread


def polls(case: Case, where: Where) -> bool:
    """Whether the loop around a sleep asks each time for what could wake it: an item of a queue, a result."""
    line = case.once(source_files).line(where.file, where.line, where.function)
    if line is None or line.loop is None or not any(_SLEEP.search(name) for name, _ in line.calls):
        return False
    if isinstance(line.loop, ast.While) and not isinstance(line.loop.test, ast.Constant):
        # Nothing in the loop changes what it tests, so somebody else must, unless time does.
        only_sleeps = all(statement is line.statement for statement in line.loop.body)
        if only_sleeps and not _reads_clock(line, line.loop.test):
            return True
    return any(
        isinstance(node, ast.Call) and _ASKS_WITHOUT_WAITING.search(dotted(node.func))
        for node in ast.walk(line.loop)
    )


def answers_requests(case: Case, pieces: Int64Array) -> bool:
    """Whether the sleeps that explain some pieces are the time in which a server answers: a thread waits for its
    network, and the server, which sleeps once for each such wait, is another process or runs below a server library.

    A thread of the same process that the program wrote as a whole is part of it, and so is a worker process that is
    reached through pipes and queues.
    """
    segments, threads = case.segments, case.view.capture.threads
    path = usual_path(case, pieces)
    sleep, asks = path[-1], [segment for segment in path[:-1] if segments.cause[segment] in _ASKS]
    actors = (int(segments.actor[sleep]), int(segments.actor[asks[-1]])) if asks else ()
    if not actors or max(actors) >= len(threads) or actors[0] == actors[1]:
        return False
    called = itertools.takewhile(_is_of_library, _frames(case, asks[-1]))
    if any(_OWN_WORKERS.search(frame) for frame in called):
        return False
    if any(_SERVERS.search(frame) for frame in _frames(case, sleep)):
        return True
    if threads[actors[0]].process == threads[actors[1]].process:
        return False
    marked = one_of(segments.cause, _ASKS)
    waits = first_in_chain(case, marked)[pieces]
    leaves = len(np.unique(case.pieces.leaf[pieces]))
    return bool(leaves <= _ONE_EACH * len(np.unique(waits[waits >= 0])))


def _is_of_library(frame: str) -> bool:
    match = FRAME.match(frame)
    return match is not None and is_library(match["file"])


def _frames(case: Case, segment: int) -> list[str]:
    stack = int(case.segments.place[segment])
    return case.view.capture.stack_frames(stack) if stack >= 0 else []


def _reads_clock(line: SourceLine, value: ast.expr, depth: int = 0) -> bool:
    """Whether an expression, or what is assigned to its names, reads a clock."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and _CLOCK.search(dotted(node.func)):
            return True
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        if depth >= _DEEPEST:
            continue
        if any(_reads_clock(line, assigned, depth + 1) for assigned in line.assigned(node)):
            return True
    return False
