"""Passes over launchers: processes that start a program and do nothing but wait for it."""

from __future__ import annotations

import re

import numpy as np

from warpline.analysis.framework.selection import View
from warpline.analysis.structure.thread_states import STATES, state_codes
from warpline.model.waits import OWN_THREAD, WaitKind

_WAITS = 0.8
"""Least share of its time that a launcher waits for its only child."""
_LASTS = 0.5
"""Least share of the launcher's time that the program it starts lasts."""
_HELPS = 0.05
"""Share of the launcher's time from which another child beside that program counts."""
_AGENTS = re.compile(
    r"\btorchrun\b|torch\.distributed\.(run|launch)\b|\baccelerate(-launch)? |\bdeepspeed\b|paddle\.distributed\.launch"
    r"|\b(mpirun|mpiexec|horovodrun)\b"
)
"""Commands that start and supervise ranks: the diagnosis is about their first rank."""
_DEEPEST = 8
_ENDED = int(WaitKind.CHILD), int(WaitKind.SIGNAL)
"""How a launcher learns that its child ended; timeout(1) waits for SIGCHLD."""
_STARTED = int(WaitKind.UNKNOWN), *_ENDED


def program_behind(view: View, thread: int) -> int:
    """The main thread of the program that a main thread only starts and waits for; the thread itself otherwise."""
    for _ in range(_DEEPEST):
        child = _only_child(view, thread)
        if child is None:
            return thread
        thread = child
    return thread


def _only_child(view: View, thread: int) -> int | None:
    capture = view.capture
    process = capture.processes[capture.threads[thread].process]
    start = process.start_ns or 0
    lasts = (view.stop_ns if process.stop_ns is None else process.stop_ns) - start
    children = []
    helpers = []
    for index, known in enumerate(capture.threads):
        child = capture.processes[known.process]
        if child.parent_pid != process.pid or child.pid != known.tid or known.name == OWN_THREAD:
            continue
        if known.process == capture.threads[thread].process:
            continue
        begin, end = child.start_ns or 0, view.stop_ns if child.stop_ns is None else child.stop_ns
        if end - begin >= _LASTS * lasts:
            children.append((child.rank or 0, index))
        elif end - begin >= _HELPS * lasts:
            helpers.append((begin, end))
    if not children:
        return None
    if _AGENTS.search(process.command):
        return min(children)[1]
    only = children[0][1]
    own = capture.processes[capture.threads[only].process]
    stop = view.stop_ns if own.stop_ns is None else own.stop_ns
    # A program that divides its work among children has several at a time, however short some are.
    divides = any(end > (own.start_ns or 0) and begin < stop for begin, end in helpers)
    return only if len(children) == 1 and not divides and _waits_for_child(view, thread) else None


def _waits_for_child(view: View, thread: int) -> bool:
    """Whether a thread waits for a child, or for something unknown, most of its time."""
    tracks = frozenset(
        t.index for t in view.tracks_of_thread(thread) if t.role == "state" and t.device is None
    )
    if not tracks or not view.has("thread_state"):
        return False
    events = view.events("thread_state", tracks)
    if not len(events):
        return False
    blocked = state_codes(view, events.row, events.name) >= STATES.index("blocked")
    kind = np.ma.filled(view.column("thread_state", "wait", events.index).astype(np.int64), 0)
    length = np.minimum(events.stop, view.stop_ns) - np.maximum(events.start, view.start_ns)
    for_child = blocked & np.isin(kind, _ENDED)
    waits = blocked & np.isin(kind, _STARTED)
    whole = int(length.sum())
    return int(length[waits].sum()) >= _WAITS * whole and bool(for_child.any())
