"""Parses the program's source files, where they are unchanged since the recording, to judge single lines."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

Result = TypeVar("Result")
_LARGEST = 2_000_000
"""Bytes of the largest file that is parsed."""
_SHOWN = 60
"""Characters of a line that are quoted."""
_NODES_OF_FRAMES: Mapping[str, type[ast.AST]] = {
    "<listcomp>": ast.ListComp,
    "<setcomp>": ast.SetComp,
    "<dictcomp>": ast.DictComp,
    "<genexpr>": ast.GeneratorExp,
    "<lambda>": ast.Lambda,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
_REPEATS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, eq=False)
class SourceLine:
    """A line of a parsed file: its innermost statement, and the nodes around that, outermost first.

    ``frame`` is the name of the function that ran, such as ``<listcomp>``; empty when unknown.
    """

    source: SourceFile
    number: int
    statement: ast.stmt
    around: tuple[ast.AST, ...]
    frame: str = ""

    @property
    def text(self) -> str:
        """The line, without indentation, short enough for a sentence."""
        text = self.source.lines[self.number - 1].strip()
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"

    @property
    def function(self) -> Function | None:
        """The innermost function around the line."""
        return next((node for node in reversed(self.around) if isinstance(node, Function)), None)

    @property
    def scope(self) -> ast.AST:
        """The innermost function around the line, else the module."""
        return self.function or self.source.tree

    @cached_property
    def loop(self) -> Loop | None:
        """The innermost loop around the line in the same function, or the loop whose first line it is."""
        for node in reversed((*self.around, self.statement)):
            if isinstance(node, Loop):
                return node
            if isinstance(node, Function):
                return None
        return None

    @property
    def is_repeated(self) -> bool:
        """Whether a loop or comprehension in the same function repeats the line."""
        inside = self.frame in _NODES_OF_FRAMES and self.frame != "<lambda>"
        return self.loop is not None or inside

    @cached_property
    def is_called_in_loop(self) -> bool:
        """Whether the file calls the line's function, by its name, in a loop or comprehension."""
        return self.function is not None and self.function.name in self.source.called_in_loops

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """The nodes of the statement itself, without those inside it; in a comprehension or lambda, its own."""
        nodes = tuple(own_nodes(self.statement))
        kinds = _NODES_OF_FRAMES.get(self.frame)
        if kinds is None:
            return nodes
        return tuple(inner for node in nodes if isinstance(node, kinds) for inner in own_nodes(node))

    @cached_property
    def calls(self) -> tuple[tuple[str, ast.Call], ...]:
        """The calls in the statement, by dotted name (``json.dumps``, ``.append`` of an expression)."""
        return tuple((dotted(node.func), node) for node in self.nodes if isinstance(node, ast.Call))

    def assigned(self, target: ast.expr) -> list[ast.expr]:
        """What the program assigns to a name or attribute: in the function, else in the module or class."""
        name = dotted(target)
        for scope in (self.scope, self.source.tree):
            values = self.source.assignments(scope).get(name, [])
            if values:
                return values
        return []


class SourceFile:
    """A parsed Python file."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.tree = ast.parse(text)
        self._assignments: dict[ast.AST, dict[str, list[ast.expr]]] = {}
        self._results: dict[Callable[[SourceFile], object], object] = {}

    def once(self, compute: Callable[[SourceFile], Result]) -> Result:
        """What a function returns for this file, computed on first use."""
        if compute not in self._results:
            self._results[compute] = compute(self)
        return cast("Result", self._results[compute])

    @cached_property
    def called_in_loops(self) -> frozenset[str]:
        """The names of functions and methods that a loop or comprehension calls."""
        return frozenset(
            dotted(inner.func).rpartition(".")[2]
            for node in ast.walk(self.tree)
            if isinstance(node, _REPEATS)
            for inner in ast.walk(node)
            if isinstance(inner, ast.Call)
        )

    def line(self, number: int) -> SourceLine | None:
        """The line with a number from 1; None without a statement there."""
        around: list[ast.AST] = [self.tree]
        while True:
            inner = next((node for node in _inner(around[-1]) if _covers(node, number)), None)
            if inner is None:
                break
            around.append(inner)
        statement = around[-1]
        if isinstance(statement, ast.ExceptHandler) and len(around) > 2:
            statement = around[-2]
        if not isinstance(statement, ast.stmt):
            return None
        return SourceLine(self, number, statement, tuple(around[:-1]))

    def assignments(self, scope: ast.AST) -> dict[str, list[ast.expr]]:
        """Values and annotations by the name or attribute they are assigned to, anywhere inside a node."""
        known = self._assignments.get(scope)
        if known is None:
            known = self._assignments[scope] = {}
            for node in ast.walk(scope):
                for target, value in targets(node):
                    known.setdefault(dotted(target), []).append(value)
        return known


class SourceFiles:
    """Source files, read once each; a file changed after ``recorded_ns`` (UTC) counts as unreadable."""

    def __init__(self, recorded_ns: int | None) -> None:
        self._recorded_ns = recorded_ns
        self._files: dict[str, SourceFile | None] = {}
        self._texts: dict[str, list[str]] = {}

    def line(self, file: str, number: int | None, function: str = "") -> SourceLine | None:
        """A line of a file; None when the file is unreadable or the line is not in ``function``."""
        source = None if number is None else self.file(file)
        if source is None or number is None or not 0 < number <= len(source.lines):
            return None
        found = source.line(number)
        if found is None:
            return None
        name = function.rpartition(".")[2]
        own = found.function.name if found.function is not None else "<module>"
        matches = not name or own == name or name.startswith("<") or isinstance(found.statement, Function)
        return replace(found, frame=name) if matches else None

    def file(self, file: str) -> SourceFile | None:
        """A parsed Python file; None when it is unreadable."""
        if not file.endswith(".py"):
            return None
        if file not in self._files:
            self._files[file] = self._read(file)
        return self._files[file]

    def texts(self, file: str) -> list[str]:
        """The lines of a file in any language; none when it is unreadable."""
        if file not in self._texts:
            self._texts[file] = (self._text(file) or "").splitlines()
        return self._texts[file]

    def _read(self, file: str) -> SourceFile | None:
        try:
            text = self._text(file)
            return SourceFile(text) if text is not None else None
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None

    def _text(self, file: str) -> str | None:
        if self._recorded_ns is None or not os.path.isabs(file):
            return None
        try:
            status = Path(file).stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                return None
            return Path(file).read_text("utf-8") if status.st_mtime_ns <= self._recorded_ns else None
        except (OSError, ValueError):
            return None


def dotted(node: ast.AST) -> str:
    """``json.dumps`` for names and attributes; the part after an expression begins with a dot."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "", *reversed(parts)])


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes inside a statement, without the statements inside it."""
    # An explicit stack: a long sum nests deeper than Python may recurse.
    waiting = [*ast.iter_child_nodes(node)][::-1]
    while waiting:
        child = waiting.pop()
        if not isinstance(child, (ast.stmt, ast.ExceptHandler)):
            yield child
            waiting += [*ast.iter_child_nodes(child)][::-1]


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    """The statements and handlers directly inside a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.ExceptHandler)):
            yield child


def _covers(node: ast.AST, number: int) -> bool:
    return bool(getattr(node, "lineno", 0) <= number <= (getattr(node, "end_lineno", 0) or 0))


def targets(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a node assigns, as (target, value or annotation)."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _pairs(target, node.value)
    elif isinstance(node, ast.AnnAssign):
        yield node.target, node.annotation
    elif isinstance(node, ast.NamedExpr):
        yield node.target, node.value
    elif isinstance(node, Function):
        arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        for argument in arguments:
            if argument.annotation is not None:
                yield ast.Name(argument.arg), argument.annotation


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """``a, b = 1, 2`` as two assignments."""
    sides = target, value
    if all(isinstance(side, (ast.Tuple, ast.List)) for side in sides):
        inner = [side.elts for side in sides if isinstance(side, (ast.Tuple, ast.List))]
        if len(inner[0]) == len(inner[1]) and not any(
            isinstance(element, ast.Starred) for element in (*inner[0], *inner[1])
        ):
            yield from zip(*inner, strict=True)
            return
    yield target, value
