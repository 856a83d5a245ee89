"""Recognizes array operations that are slow because of how the array is stored: strided columns, Python objects."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from warpline.analysis.findings.work.source_lines import SourceFile, SourceLine, dotted, targets
from warpline.analysis.findings.work.value_flow import ValueFlow, with_scopes

_ARRAYS = re.compile(r"^(np|numpy)\.")
_MAKES = re.compile(r"^(np|numpy)\.(array|asarray|asanyarray|empty|zeros|ones|full|fromiter|frompyfunc)$")
_FROM_VALUES = re.compile(r"^(np|numpy)\.(array|asarray|asanyarray)$")
_FETCHES = frozenset(("fetchall", "fetchmany"))
_OBJECTS = {"object", "O", "object_"}
_OBJECT_TYPES = re.compile(r"(^|\.)(Decimal|Fraction|mpf)$")
_METHODS = frozenset(
    ("sum", "mean", "std", "var", "min", "max", "prod", "cumsum", "cumprod", "dot", "clip", "round", "copy",
     "reshape", "ravel", "flatten", "transpose", "take", "repeat")
)  # fmt: skip
_VIEWS = frozenset(("T", "flat", "real"))
_INDICES = re.compile(
    r"^(np|numpy)\.(flatnonzero|nonzero|argwhere|isnan|isin|arg\w+|count_nonzero|shape|size|ndim|isnat)$"
)
_FORTRAN = re.compile(r"(^|\.)(asfortranarray|T|transpose|swapaxes|from_dict|DataFrame)$")
_NARROW = 4
"""Columns of 8-byte numbers from which on a column uses less than half of each cache line that it reads."""


def object_arrays(source: SourceFile) -> tuple[int, ValueFlow] | None:
    """The first line of a file that makes an array of Python objects, and where its values go; None for none."""
    scoped = list(with_scopes(source.tree))
    objects = _objects_in(scoped)
    made = frozenset(
        node for scope, node in scoped if isinstance(node, ast.Call) and _makes_objects(node, scope, objects)
    )
    if made:
        return min(node.lineno for node in made), _flow_of(source, made)
    made = frozenset(node for scope, node in scoped if _makes_from_rows(node, scope, scoped))
    if not made:
        return None
    flow = _flow_of(source, made)
    return (min(node.lineno for node in made), flow) if _expects_none(scoped, flow) else None


def _flow_of(source: SourceFile, made: frozenset[ast.Call]) -> ValueFlow:
    return ValueFlow(made.__contains__, _operands, frees=True).follow(source)


def _makes_from_rows(node: ast.AST, scope: str, scoped: Sequence[tuple[str, ast.AST]]) -> TypeGuard[ast.Call]:
    """``np.array(rows)`` without a type, where ``rows`` come from a database, whose NULL is ``None``."""
    if not isinstance(node, ast.Call) or not _FROM_VALUES.search(dotted(node.func)):
        return False
    if len(node.args) != 1 or any(word.arg == "dtype" for word in node.keywords):
        return False
    values, name = [node.args[0]], dotted(node.args[0])
    values += [
        value
        for other, assignment in scoped
        if name and other == scope
        for target, value in targets(assignment)
        if dotted(target) == name
    ]
    return any(
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _FETCHES
        for value in values
    )


def _expects_none(scoped: Sequence[tuple[str, ast.AST]], flow: ValueFlow) -> bool:
    """Whether a loop over values of such an array compares one with ``None``, which no array of numbers holds."""
    for scope, loop in scoped:
        if not isinstance(loop, ast.For):
            continue
        taken = loop.iter.args if isinstance(loop.iter, ast.Call) else [loop.iter]
        names = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
        if any(flow.holds(scope, value) for value in taken) and any(
            isinstance(node, ast.Compare)
            and dotted(node.left) in names
            and any(isinstance(right, ast.Constant) and right.value is None for right in node.comparators)
            for node in ast.walk(loop)
        ):
            return True
    return False


def _makes_objects(node: ast.Call, scope: str, objects: _Objects) -> bool:
    """``np.array(rows, dtype=object)``, ``x.astype(object)``, or ``np.array`` of a list with ``None`` or decimals."""
    name = dotted(node.func)
    types = [word.value for word in node.keywords if word.arg == "dtype"]
    if name.endswith(".astype"):
        return any(map(_is_object_type, (*node.args[:1], *types)))
    if not _MAKES.search(name):
        return False
    if types or len(node.args) > 1:
        return any(map(_is_object_type, types or node.args[1:2]))
    return bool(_FROM_VALUES.search(name)) and bool(node.args) and objects.are_in(scope, node.args[0])


def _is_object_type(node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and node.value in _OBJECTS) or dotted(node).rpartition(".")[
        2
    ] in _OBJECTS


def _is_object(item: ast.expr) -> bool:
    """Whether NumPy keeps an item of a list as an object."""
    if isinstance(item, ast.IfExp):
        return _is_object(item.body) or _is_object(item.orelse)
    if isinstance(item, ast.Call):
        return bool(_OBJECT_TYPES.search(dotted(item.func)))
    return isinstance(item, ast.Constant) and item.value is None


@dataclass(frozen=True)
class _Objects:
    """The lists with ``None`` or decimals among their items, by function and name, and functions that make them."""

    lists: set[tuple[str, str]] = field(default_factory=set)
    makers: set[str] = field(default_factory=set)

    def are_in(self, scope: str, value: ast.expr) -> bool:
        """Whether the value of an expression is such a list."""
        if isinstance(value, ast.Call):
            return dotted(value.func).rpartition(".")[2] in self.makers
        if isinstance(value, (ast.Name, ast.Attribute)):
            return not self.lists.isdisjoint(((scope, dotted(value)), ("", dotted(value))))
        if isinstance(value, (ast.List, ast.Tuple)):
            return any(map(_is_object, value.elts))
        return isinstance(value, (ast.ListComp, ast.GeneratorExp)) and _is_object(value.elt)

    def add(self, scope: str, target: ast.expr) -> None:
        """A list of a function; attributes count for the whole file."""
        if name := dotted(target):
            self.lists.add(("" if isinstance(target, ast.Attribute) else scope, name))


def _objects_in(scoped: Sequence[tuple[str, ast.AST]]) -> _Objects:
    """``scoped`` are the nodes of a file with the names of their functions."""
    objects = _Objects()
    for scope, node in scoped:
        if isinstance(node, ast.Call):
            if (
                isinstance(node.func, ast.Attribute)
                and node.func.attr == "append"
                and any(map(_is_object, node.args))
            ):
                objects.add(scope, node.func.value)
        elif isinstance(node, ast.Yield):
            if node.value is not None and _is_object(node.value):
                objects.makers.add(scope)
        else:
            for target, value in targets(node):
                if not isinstance(value, ast.Call) and objects.are_in(scope, value):
                    objects.add(scope, target)
    for scope, node in scoped:
        if (
            isinstance(node, ast.Return)
            and node.value is not None
            and not isinstance(node.value, ast.Call)
            and objects.are_in(scope, node.value)
        ):
            objects.makers.add(scope)
    return objects


def _operands(value: ast.expr) -> list[ast.expr]:
    """The operands whose objects are in the result of an operation."""
    if isinstance(value, ast.BinOp):
        return [value.left, value.right]
    if isinstance(value, (ast.UnaryOp, ast.Starred)):
        return [value.operand if isinstance(value, ast.UnaryOp) else value.value]
    if isinstance(value, ast.Subscript) or (isinstance(value, ast.Attribute) and value.attr in _VIEWS):
        return [value.value]
    if isinstance(value, ast.Call):
        name = dotted(value.func)
        if _ARRAYS.match(name):
            has_type = any(word.arg == "dtype" for word in value.keywords)
            return [] if has_type or _INDICES.match(name) else list(value.args)
        if isinstance(value.func, ast.Attribute) and value.func.attr in _METHODS:
            return [value.func.value]
    return []


def computes_with(line: SourceLine, flow: ValueFlow) -> bool:
    """Whether a line computes with whole arrays that a flow has found."""
    scope = line.function.name if line.function is not None else ""
    statement = line.statement
    # Replacing such an array frees its objects one by one.
    if isinstance(statement, ast.Assign) and flow.frees and flow.holds(scope, statement.value):
        return True
    return any(
        isinstance(node, (ast.BinOp, ast.Call, ast.Compare))
        and any(flow.holds(scope, operand) for operand in _computed(node))
        for node in line.nodes
    )


def _computed(node: ast.BinOp | ast.Call | ast.Compare) -> list[ast.expr]:
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    name = dotted(node.func)
    if isinstance(node.func, ast.Attribute) and not _ARRAYS.match(name):
        return [node.func.value]
    return list(node.args) if _ARRAYS.match(name) else []


def column_views(source: SourceFile) -> tuple[int, ValueFlow] | None:
    """The line that makes the first array whose columns a file reads one by one, and where these go.

    A column ``table[:, j]`` of a row-major array uses one value of each row, and so a cache line for each value.
    """
    if not _imports_numpy(source):
        return None
    made = {
        node: line for node in ast.walk(source.tree) if (line := _column_made_at(source, node)) is not None
    }
    if not made:
        return None
    return next(iter(made.values())), ValueFlow(made.__contains__, lambda _value: []).follow(source)


def _column_made_at(source: SourceFile, node: ast.AST) -> int | None:
    """The line that makes the array of ``table[:, j]`` with a variable index; None for anything else.

    An array that other code makes may be stored by columns.
    """
    if not (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.slice, ast.Tuple)
        and node.slice.elts  # not ``scalar[()]``
    ):
        return None
    *before, last = node.slice.elts
    is_whole = [
        isinstance(item, ast.Slice) and item.lower is item.upper is item.step is None for item in before
    ]
    if not before or not all(is_whole) or not isinstance(last, (ast.Name, ast.BinOp, ast.Attribute)):
        return None
    values = _values_of(source, node.value)
    if any(_is_by_columns(value) or _is_narrow(source, value) for value in values):
        return None
    made = (call.lineno for call in values if isinstance(call, ast.Call) and _ARRAYS.match(dotted(call.func)))
    return next(made, None)


def _is_narrow(source: SourceFile, value: ast.expr) -> bool:
    """Whether an array is made with so few columns that a cache line holds several rows."""
    if not isinstance(value, ast.Call) or not value.args or not isinstance(value.args[0], ast.Tuple):
        return False
    last = value.args[0].elts[-1]
    widths = [last, *_values_of(source, last)]
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value < _NARROW
        for node in widths
    )


def _is_by_columns(value: ast.expr) -> bool:
    if isinstance(value, ast.Attribute) and value.attr == "T":
        return True
    return isinstance(value, ast.Call) and (
        bool(_FORTRAN.search(dotted(value.func)))
        or any(
            word.arg == "order" and isinstance(word.value, ast.Constant) and word.value.value == "F"
            for word in value.keywords
        )
    )


def _values_of(source: SourceFile, value: ast.expr) -> list[ast.expr]:
    """What is assigned to a name or attribute anywhere in the file, also by way of other names."""
    assignments = source.assignments(source.tree)
    values: list[ast.expr] = []
    waiting, seen = [dotted(value)], {""}
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        for assigned in assignments.get(name, ()):
            values.append(assigned)
            if isinstance(assigned, (ast.Name, ast.Attribute)):
                waiting.append(dotted(assigned))
            if isinstance(assigned, ast.Tuple):
                values += assigned.elts
    return values


def _imports_numpy(source: SourceFile) -> bool:
    return any(
        alias.name.partition(".")[0] == "numpy"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    )
