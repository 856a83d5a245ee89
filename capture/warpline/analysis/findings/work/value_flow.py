"""Follows values through a parsed file: which expressions may hold what some expressions produce."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from warpline.analysis.findings.work.source_lines import Function, SourceFile, dotted

_ROUNDS = 20
"""How many assignments, calls and returns a value is followed through."""


@dataclass(frozen=True, eq=False)
class ValueFlow:
    """Where values go in a file, without regard to the order of statements.

    ``starts`` tells the expressions that produce a value, ``passes`` those that hand on the value of an operand:
    its result is the operands that count. Names are known by function; attributes count for the whole file.
    """

    starts: Callable[[ast.expr], bool]
    passes: Callable[[ast.expr], list[ast.expr]]
    frees: bool = False
    """Whether it also takes time to let go of such a value."""
    _names: set[tuple[str, str]] = field(default_factory=set)
    _returns: dict[str, list[bool]] = field(default_factory=dict)
    """For each function, whether its result is such a value; several for a tuple."""

    def follow(self, source: SourceFile) -> ValueFlow:
        """This flow, followed through a file until nothing changes."""
        functions = {node.name: node for node in ast.walk(source.tree) if isinstance(node, Function)}
        scoped = list(with_scopes(source.tree))
        for _ in range(_ROUNDS):
            before = len(self._names), sum(map(sum, self._returns.values()))
            for scope, node in scoped:
                self._follow(scope, node, functions)
            if before == (len(self._names), sum(map(sum, self._returns.values()))):
                break
        return self

    def holds(self, scope: str, value: ast.expr) -> bool:
        """Whether an expression in a function may be such a value."""
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if self._is_one(scope, value):
                return True
            waiting += self.passes(value)
        return False

    def _is_one(self, scope: str, value: ast.expr) -> bool:
        if isinstance(value, (ast.Name, ast.Attribute)) and not self._names.isdisjoint(
            ((scope, dotted(value)), ("", dotted(value)))
        ):
            return True
        if isinstance(value, ast.Call) and self._returns.get(_last(value)) == [True]:
            return True
        return self.starts(value)

    def _follow(self, scope: str, node: ast.AST, functions: dict[str, Function]) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(scope, target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            self._assign(scope, node.target, node.value)
        elif isinstance(node, ast.Return) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            held = [self.holds(scope, value) for value in values]
            known = self._returns.get(scope, held)
            self._returns[scope] = [a or b for a, b in zip(known, held, strict=False)]
        elif isinstance(node, ast.Call) and _last(node) in functions:
            function = functions[_last(node)]
            names = [argument.arg for argument in function.args.args]
            if names[:1] in (["self"], ["cls"]):
                names = names[1:]
            pairs = [
                *zip(names, node.args, strict=False),
                *((word.arg, word.value) for word in node.keywords),
            ]
            self._names.update(
                (function.name, name) for name, value in pairs if name and self.holds(scope, value)
            )

    def _assign(self, scope: str, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts: list[bool] = []
            if isinstance(value, (ast.Tuple, ast.List)):
                parts = [self.holds(scope, part) for part in value.elts]
            elif isinstance(value, ast.Call):
                parts = self._returns.get(_last(value), [])
            targets = [element for element, is_held in zip(target.elts, parts, strict=False) if is_held]
        else:
            targets = [target] if self.holds(scope, value) else []
        for holder in targets:
            if isinstance(holder, ast.Name):
                self._names.add((scope, holder.id))
            elif isinstance(holder, ast.Attribute):
                self._names.add(("", dotted(holder)))


def _last(call: ast.Call) -> str:
    return dotted(call.func).rpartition(".")[2]


def with_scopes(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """All nodes with the name of the function around them, empty for the module."""
    waiting = [("", child) for child in ast.iter_child_nodes(tree)]
    while waiting:
        scope, node = waiting.pop()
        yield scope, node
        inner = node.name if isinstance(node, Function) else scope
        waiting += [(inner, child) for child in ast.iter_child_nodes(node)]
