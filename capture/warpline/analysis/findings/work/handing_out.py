"""Finds the tasks of threads, processes and pools, the line that hands them out, and the line that makes the pool."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.segments import IntArray
from warpline.analysis.findings.wait_kinds import FRAME, is_library
from warpline.analysis.findings.work.running_work import source_files
from warpline.analysis.findings.work.source_lines import Function, SourceFile, dotted

_HANDS_OUT = re.compile(
    r"(^|\.)(Process|Thread|Timer|submit|i?map(_unordered|_async)?|starmap(_async)?|apply(_async)?|run_in_executor"
    r"|to_thread|start_new_thread|delayed)$"
)
_POOL = re.compile(
    r"(^|\.)(ThreadPoolExecutor|ProcessPoolExecutor|InterpreterPoolExecutor|Pool|ThreadPool|Parallel)$"
)

_STARTS = re.compile(
    r"/concurrent/futures/\w+\.py|/multiprocessing/(pool|process)\.py|/threading\.py|/joblib/|/billiard/pool\.py"
)
_SERVES = re.compile(r"/socketserver\.py|/asyncio/|/trio/|/uvloop/|/selectors\.py")


def tasks_of_segments(case: Case) -> tuple[IntArray, list[tuple[str, str]]]:
    """A number for the task that each segment belongs to, 0 for none; and (function, file) of tasks 1, 2, …"""
    place = case.segments.place
    numbers: dict[tuple[str, str], int] = {}
    stacks = np.unique(place)
    table = np.zeros(int(stacks.max(initial=0)) + 2, np.int64)
    for code in stacks.tolist():
        task = _task(case.view.capture.stack_frames(code)) if code >= 0 else None
        if task is not None:
            table[code] = numbers.setdefault(task, len(numbers) + 1)
    return table[place], list(numbers)


def _task(frames: list[str]) -> tuple[str, str] | None:
    """(name, file) of the outermost function of the user's code below the start of a thread, process or pool."""
    starts = False
    for frame in reversed(frames):
        match = FRAME.match(frame)
        if match is None or _SERVES.search(frame):
            return None
        if not is_library(match["file"]):
            if starts:
                return match["function"], match["file"]
            continue
        starts |= bool(_STARTS.search(frame))
    return None


def line_that_hands_out(case: Case, task: str, file: str) -> Where | None:
    """The line that gives a task to a thread, process or pool: the creation of a ``Thread`` or ``Process``, or a
    call such as ``submit`` or ``map``. ``task`` is the qualified name of the function that the workers run.

    None when no line, or none but several in different functions, does.
    """
    source = case.once(source_files).file(file)
    if source is None:
        return None
    calls = list(_calls_with(source, task))
    owners = {function for _, function in calls}
    if len(owners) != 1:
        return None
    return _where(file, *calls[0])


def line_of_pool(case: Case, files: Iterable[str]) -> Where | None:
    """The only line of some files that makes a pool; None when there is none, or more than one."""
    places = [
        _where(file, call, function)
        for file in dict.fromkeys(files)
        if (source := case.once(source_files).file(file)) is not None
        for call, function in _calls(source.tree)
        if _POOL.search(dotted(call.func))
    ]
    return places[0] if len(places) == 1 else None


def _calls_with(source: SourceFile, task: str) -> Iterator[tuple[ast.Call, str]]:
    owner, _, name = task.replace(".<locals>", "").rpartition(".")
    for call, function in _calls(source.tree):
        called = dotted(call.func)
        is_subclass = name == "run" and bool(owner) and _last(called) == _last(owner)
        if is_subclass or (_HANDS_OUT.search(called) and name in _names_of(call)):
            yield call, function


def _names_of(call: ast.Call) -> set[str]:
    """The last parts of all names among a call's arguments."""
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return {_last(dotted(node)) for value in values for node in ast.walk(value)} - {""}


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _calls(node: ast.AST, function: str = "<module>") -> Iterator[tuple[ast.Call, str]]:
    """All calls inside a node with the function that they are in, in the order of the file."""
    # An explicit stack: a long chain of elif nests deeper than Python may recurse.
    waiting = [(child, function) for child in ast.iter_child_nodes(node)][::-1]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.Call):
            yield node, function
        inside = node.name if isinstance(node, Function) else function
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)][::-1]


def _where(file: str, call: ast.Call, function: str) -> Where:
    return Where(file=file, line=call.lineno, function=function)
