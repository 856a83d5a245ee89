"""Kinds of work that a frame further out on the stack shows: arguments of log messages, caches that drop results."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from warpline.analysis.findings.finding import Severity
from warpline.analysis.findings.wait_kinds import FRAME, is_library
from warpline.analysis.findings.work.array_shapes import column_views, computes_with, object_arrays
from warpline.analysis.findings.work.hot_lines import HotLine
from warpline.analysis.findings.work.kind import (
    COLUMNS,
    DROPPED_RESULTS,
    LOG_ARGUMENTS,
    OBJECT_ARRAYS,
    WorkKind,
)
from warpline.analysis.findings.work.source_lines import Function, SourceFile, SourceFiles, SourceLine, dotted
from warpline.analysis.findings.work.value_flow import ValueFlow

_Value = TypeVar("_Value")
_Judge = Callable[[re.Match[str]], _Value | None]
_LOGS = re.compile(r"(?i)(^|\.)_?log(ger|ging)?\.(debug|info|trace|log|verbose|warning)$|^(debug|trace)$")
_WRITES = re.compile(
    r"/logging/\w+\.py:.*\b(_log|makeRecord|handle|emit|callHandlers|format|flush)$|/loguru/|/structlog/"
)
_EVICTS = re.compile(r"\.(popitem|pop|clear|popleft)$")


def name_outer_lines(
    hots: dict[int, HotLine],
    frames: Mapping[int, list[str]],
    calls: Iterable[list[str]],
    sources: SourceFiles,
) -> dict[int, str]:
    """Mark the stacks with such a kind. ``frames`` are the stacks (leaf first) by the same number.

    ``calls`` are the stacks of recorded library calls: a message that is written takes one, but seldom a sample.
    Returns the functions (``file:function``) whose results a cache drops, by the number of the stack.
    """
    cached: dict[int, str] = {}
    _name_log_arguments(hots, frames, calls, sources)
    limit_of = _judged_once(bounded_cache, sources)
    for number, hot in hots.items():
        if not _is_open(hot):
            continue
        for match, _ in _own_frames(frames[number]):
            limit = limit_of(match)
            if limit is not None:
                hots[number] = replace(hot, kind=DROPPED_RESULTS, origin=limit)
                cached[number] = f"{match['file']}:{match['function'].rpartition('.')[2]}"
                break
    return cached


def name_arrays(hots: dict[int, HotLine]) -> None:
    """Mark the lines that compute with columns of row-major arrays, or with arrays of Python objects."""
    flows: dict[SourceFile, list[tuple[WorkKind, int, ValueFlow]]] = {}
    for number, hot in hots.items():
        if hot.line is None or not _is_open(hot):
            continue
        if hot.line.source not in flows:
            flows[hot.line.source] = list(_array_flows(hot.line.source))
        for kind, made, flow in flows[hot.line.source]:
            if computes_with(hot.line, flow):
                hots[number] = replace(hot, kind=kind, origin=made)
                break


def _array_flows(source: SourceFile) -> Iterator[tuple[WorkKind, int, ValueFlow]]:
    for kind, found in ((OBJECT_ARRAYS, object_arrays(source)), (COLUMNS, column_views(source))):
        if found is not None:
            yield kind, *found


def _is_open(hot: HotLine) -> bool:
    """Whether no kind that is more than a note explains a line."""
    return hot.kind is None or hot.kind.worst is Severity.NOTE


def _name_log_arguments(
    hots: dict[int, HotLine],
    frames: Mapping[int, list[str]],
    calls: Iterable[list[str]],
    sources: SourceFiles,
) -> None:
    computed: dict[int, HotLine] = {}
    written: set[tuple[str, int | None]] = set()
    log_line = _judged_once(lambda line: line if computes_log_arguments(line) else None, sources)
    for number, hot in hots.items():
        found = _logging_frame(frames[number], log_line)
        if found is None:
            continue
        match, line, is_written = found
        if is_written:
            written.add((match["file"], line.number))
        else:
            function = match["function"].rpartition(".")[2]
            computed[number] = replace(
                hot, file=match["file"], number=line.number, function=function, line=line, kind=LOG_ARGUMENTS
            )
    if not computed:
        return
    for stack in calls:
        found = _logging_frame(stack, log_line) if any("log" in frame for frame in stack) else None
        if found is not None and found[2]:
            written.add((found[0]["file"], found[1].number))
    hots.update(
        (number, outer) for number, outer in computed.items() if (outer.file, outer.number) not in written
    )


def _logging_frame(
    frames: list[str], log_line: _Judge[SourceLine]
) -> tuple[re.Match[str], SourceLine, bool] | None:
    """The innermost line of the user's code on a stack that logs what it computes, and whether it is being written."""
    for match, inner in _own_frames(frames):
        line = log_line(match)
        if line is not None:
            is_written = any(_WRITES.search(f"{frame['file']}:{frame['function']}") for frame in inner)
            return match, line, is_written
    return None


def _judged_once(judge: Callable[[SourceLine], _Value | None], sources: SourceFiles) -> _Judge[_Value]:
    """A function that judges the lines of frames: many stacks have the same ones."""
    known: dict[tuple[str, ...], _Value | None] = {}

    def of_frame(match: re.Match[str]) -> _Value | None:
        place = match["file"], match["line"], match["function"]
        if place not in known:
            line = sources.line(match["file"], int(match["line"]), match["function"])
            known[place] = judge(line) if line is not None else None
        return known[place]

    return of_frame


def _own_frames(frames: list[str]) -> Iterator[tuple[re.Match[str], list[re.Match[str]]]]:
    """The frames of the user's code, innermost first, each with the frames further in."""
    inner: list[re.Match[str]] = []
    for match in filter(None, map(FRAME.match, frames)):
        if not is_library(match["file"]):
            yield match, inner
        inner.append(match)


def computes_log_arguments(line: SourceLine) -> bool:
    """Whether a line logs a message whose text or arguments it computes first: calls, f-strings, concatenations."""
    computed = (ast.Call, ast.JoinedStr, ast.BinOp, ast.ListComp, ast.DictComp, ast.SetComp)
    return any(
        _LOGS.search(name)
        and any(isinstance(node, computed) for value in _values(call) for node in ast.walk(value))
        for name, call in line.calls
    )


def _values(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def bounded_cache(line: SourceLine) -> int | None:
    """The line that limits the size of the cache that a line fills; None when it fills none.

    The line is in a function with a bounded ``lru_cache``, or computes a value for a container from which the file
    removes items when it has too many.
    """
    function = line.function
    if function is None:
        return None
    for decorator in function.decorator_list:
        if _bounds_cache(decorator):
            return decorator.lineno
    if not any(isinstance(node, ast.Call) for node in line.nodes):
        return None
    for name in _filled(function):
        limit = _limit_of(line.source, name)
        if limit is not None:
            return limit
    return None


def _bounds_cache(decorator: ast.expr) -> bool:
    if not isinstance(decorator, ast.Call):
        return dotted(decorator).rpartition(".")[2] == "lru_cache"
    if dotted(decorator.func).rpartition(".")[2] != "lru_cache":
        return False
    sizes = [*decorator.args[:1], *(word.value for word in decorator.keywords if word.arg == "maxsize")]
    return not any(isinstance(size, ast.Constant) and size.value is None for size in sizes)


def _filled(function: Function) -> Iterator[str]:
    """The containers from outside a function that it looks into and stores its results in."""
    nodes = list(ast.walk(function))
    stored = {
        dotted(node.value)
        for node in nodes
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    }
    own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    looked = {
        dotted(node.value)
        for node in nodes
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
    }
    for node in nodes:
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            looked.add(dotted(node.comparators[0]))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            looked.add(dotted(node.func.value))
    return (name for name in sorted(stored & looked - {""}) if name.partition(".")[0] not in own)


def _limit_of(source: SourceFile, container: str) -> int | None:
    """The line of a test of a container's length, in a file that removes items from it; None without one."""
    nodes = list(ast.walk(source.tree))
    if not any(_removes_from(node, container) for node in nodes):
        return None
    return next(
        (node.lineno for node in nodes if isinstance(node, ast.Compare) and _tests_length(node, container)),
        None,
    )


def _removes_from(node: ast.AST, container: str) -> bool:
    if isinstance(node, ast.Delete):
        return any(
            isinstance(target, ast.Subscript) and dotted(target.value) == container for target in node.targets
        )
    if not isinstance(node, ast.Call):
        return False
    name = dotted(node.func)
    return bool(_EVICTS.search(name)) and name.startswith(f"{container}.")


def _tests_length(test: ast.Compare, container: str) -> bool:
    return any(
        isinstance(side, ast.Call) and dotted(side.func) == "len" and dotted(side.args[0]) == container
        for side in (test.left, *test.comparators)
        if isinstance(side, ast.Call) and side.args
    )
