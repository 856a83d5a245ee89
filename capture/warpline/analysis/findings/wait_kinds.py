"""Refines the kind of a Python thread's wait by the standard-library functions on its stack."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from warpline.analysis.findings.causes import Cause

FRAME = re.compile(r"^(?P<function>.*) \((?P<file>.*):(?P<line>\d+)\)$")
_LIBRARY_WAITS: tuple[tuple[str, re.Pattern[str], Cause], ...] = (
    # The first match counts.
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
    ("threading.py", re.compile(r"Semaphore\."), Cause.SEMAPHORE),
    ("threading.py", re.compile(r"Thread\.start$"), Cause.START),
    ("threading.py", re.compile(r"Event\.wait$"), Cause.EVENT),
    ("threading.py", re.compile(r"wait$|wait_for$"), Cause.CONDITION),
)  # fmt: skip
_UNSPECIFIC = (Cause.BLOCKED, Cause.LOCK, Cause.CONDITION, Cause.PIPE, Cause.POLL, Cause.OTHER)
"""Kinds that say only how a function blocks, not what it waits for."""


def refine(cause: int, frames: Iterable[str]) -> int:
    """The cause of a wait: ``cause`` by the blocking call, refined by the stack (leaf first)."""
    if cause not in _UNSPECIFIC:
        return cause
    parsed = [match for match in map(FRAME.match, frames) if match is not None]
    library: list[re.Match[str]] = []
    for frame in parsed:
        if not is_library(frame["file"]):
            break
        library.append(frame)
    if library and _IDLE_WORKER.search(library[0]["file"]) and library[0]["function"] == "_worker":
        return Cause.QUEUE_EMPTY
    for file, function, kind in _LIBRARY_WAITS:
        if any(frame["file"].endswith(file) and function.search(frame["function"]) for frame in library):
            return kind
    return cause


_IDLE_WORKER = re.compile(r"concurrent/futures/thread\.py$")
_LOOPS = (
    ("asyncio/base_events.py", "BaseEventLoop._run_once"),
    ("asyncio/events.py", "Handle._run"),
    ("asyncio/runners.py", "Runner.run"),
    ("trio/_core/_run.py", "unrolled_run"),
)
"""Frames that run the steps of an event loop; uvloop runs below the last frame of asyncio."""
_OF_A_LOOP = re.compile(r"/(asyncio|trio|uvloop|anyio|tornado)/|/selectors\.py$|^<frozen ")

_NOTEBOOK = re.compile(r"/(ipykernel|IPython|marimo)/")
"""Programs that run the cells of a notebook, in a loop of their own that may be blocked."""


def is_loop_step(frames: Iterable[str]) -> bool:
    """Whether a stack (leaf first) is inside a step of an event loop, rather than in the loop's own wait."""
    is_step = False
    for match in map(FRAME.match, frames):
        if match is None:
            continue
        if any(match["file"].endswith(file) and match["function"].endswith(name) for file, name in _LOOPS):
            return is_step
        if _NOTEBOOK.search(match["file"]):
            return False
        is_step |= not _OF_A_LOOP.search(match["file"])
    return False


def is_importing(frames: Iterable[str]) -> bool:
    """Whether a stack imports a module."""
    return any("<frozen importlib._bootstrap" in frame for frame in frames)


def sampled_wait(frames: Sequence[str]) -> int | None:
    """The cause of the wait in which a stack (leaf first) was sampled; None for a stack of running code.

    Samplers of wall-clock time, such as pyinstrument, name the built-in function in which Python waits.
    """
    match = _BUILT_IN.match(frames[0]) if frames else None
    cause = None if match is None else _BUILT_IN_WAITS.get(match["name"])
    return None if cause is None else refine(cause, frames[1:])


_BUILT_IN = re.compile(r"(?:\w+\.)*(?P<name>\w+) \(<built-in>")
_BUILT_IN_WAITS = {
    "sleep": Cause.SLEEP,
    "acquire": Cause.LOCK,
    **dict.fromkeys(("select", "poll"), Cause.POLL),
    **dict.fromkeys(("accept", "connect", "getaddrinfo", "recv", "recv_into", "recvfrom"), Cause.NETWORK),
    **dict.fromkeys(("wait3", "wait4", "waitid", "waitpid"), Cause.CHILD),
    **dict.fromkeys(("sigtimedwait", "sigwait", "sigwaitinfo"), Cause.SIGNAL),
}


def is_idle(frames: Sequence[str]) -> bool:
    """Whether a stack (leaf first) is that of an idle thread, which V8 samples, too."""
    return bool(frames) and frames[0].startswith("(idle)")


_LIBRARY = re.compile(r"^<built-in>|^<frozen |/lib(64)?/python3[^/]*/|/site-packages/|/dist-packages/")


def is_library(file: str) -> bool:
    """Whether a file belongs to Python or an installed package rather than the user's code."""
    return bool(_LIBRARY.search(file))


def own_frame(parsed: Sequence[re.Match[str]]) -> re.Match[str] | None:
    """The innermost frame of the user's code among frames (leaf first), rather than of code generated from a string."""
    own = [match for match in parsed if not is_library(match["file"])]
    return next((match for match in own if match["file"] != "<string>"), own[0] if own else None)
