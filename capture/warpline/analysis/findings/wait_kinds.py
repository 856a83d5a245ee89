"""What a wait of a Python thread is for, as told by the functions of the standard library it is in."""

from __future__ import annotations

import re
from collections.abc import Iterable

from warpline.analysis.findings.causes import Cause

FRAME = re.compile(r"^(?P<function>.*) \((?P<file>.*):(?P<line>\d+)\)$")
_TOLD_BY: tuple[tuple[str, re.Pattern[str], Cause], ...] = (
    # Of several functions that are on a stack, the first of these tells.
    ("queue.py", re.compile(r"\.get$|^get$"), Cause.QUEUE_EMPTY),
    ("queue.py", re.compile(r"\.put$|^put$"), Cause.QUEUE_FULL),
    ("queues.py", re.compile(r"\.get$|^get$"), Cause.QUEUE_EMPTY),
    ("queues.py", re.compile(r"\.put$|^put$"), Cause.QUEUE_FULL),
    ("futures/_base.py", re.compile(r"result|exception|wait"), Cause.RESULT),
    ("futures/_base.py", re.compile(r"result_iterator"), Cause.RESULT),
    ("futures/thread.py", re.compile(r"shutdown"), Cause.JOIN),
    ("multiprocessing/pool.py", re.compile(r"ApplyResult\.(wait|get)$|IMapIterator\.next$"), Cause.RESULT),
    ("multiprocessing/popen_fork.py", re.compile(r"wait|poll"), Cause.CHILD),
    ("multiprocessing/process.py", re.compile(r"join"), Cause.CHILD),
    ("subprocess.py", re.compile(r"wait|communicate|_execute_child"), Cause.CHILD),
    ("threading.py", re.compile(r"Barrier\.|_wait$"), Cause.BARRIER),
    ("threading.py", re.compile(r"join|_wait_for_tstate_lock|_shutdown"), Cause.JOIN),
    ("threading.py", re.compile(r"Semaphore\."), Cause.LOCK),
    ("threading.py", re.compile(r"wait$|wait_for$"), Cause.CONDITION),
)  # fmt: skip
_LIKELY = (Cause.BLOCKED, Cause.LOCK, Cause.CONDITION, Cause.PIPE, Cause.POLL, Cause.OTHER)
"""Kinds that are only how such a function waits."""


def refine(cause: int, frames: Iterable[str]) -> int:
    """The kind of wait on a stack (leaf first) of which the blocking call told ``cause``."""
    if cause not in _LIKELY:
        return cause
    parsed = [found for found in map(FRAME.match, frames) if found is not None]
    library: list[re.Match[str]] = []
    for frame in parsed:
        if not is_library(frame["file"]):
            break
        library.append(frame)
    for file, function, kind in _TOLD_BY:
        if any(frame["file"].endswith(file) and function.search(frame["function"]) for frame in library):
            return kind
    return cause


def is_importing(frames: Iterable[str]) -> bool:
    """Whether a stack is one of an import."""
    return any("<frozen importlib._bootstrap" in frame for frame in frames)


_LIBRARY = re.compile(r"^<frozen |/lib(64)?/python3[^/]*/|/site-packages/|/dist-packages/")


def is_library(file: str) -> bool:
    """Whether a file belongs to Python or to what is installed, not to the user's own code."""
    return bool(_LIBRARY.search(file))
