"""Recognizes loops that cost more than they must: linear searches, pairs of items, single elements of arrays."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from warpline.analysis.findings.work.source_lines import Function, SourceLine, dotted, own_nodes

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SEARCHES = {"next", "any", "all", "filter"}
_WRAPS = {"enumerate", "reversed", "sorted", "list", "tuple", "iter"}
_ARRAYS = re.compile(r"^(np|numpy|torch|cp|cupy|jnp|paddle|tf)\.")
_ARRAY_TYPES = re.compile(r"\b(ndarray|NDArray|Tensor)\b")
_ARRAY_MODULES = frozenset(("numpy", "torch", "pandas", "cupy", "jax", "tensorflow", "paddle"))
_REDUCTIONS = {"sum", "min", "max", "any", "all", "sorted"}
_SCALARS = re.compile(r"^(int|float|bool|abs|min|max|round|len|range|zip|enumerate|math\.\w+)$")
_ELEMENTS = re.compile(r"\.(getpixel|putpixel|itemset|item)$")
_COPIES = re.compile(r"\.copy$")
_COPYING = {"list", "dict", "set", "tuple"}


def searches_linearly(line: SourceLine) -> bool:
    """Whether the line looks for an item by comparing one after another with a value.

    ``next(x for x in items if x.id == wanted)``, a loop that returns or breaks at such an item, or the same collection
    filtered in each round of a loop.
    """
    for node in own_nodes(line.statement):
        if isinstance(node, ast.Call) and dotted(node.func) in _SEARCHES and node.args:
            items = node.args[0]
            if isinstance(items, ast.GeneratorExp) and _compares_items(items):
                return True
        if isinstance(node, _COMPREHENSIONS) and _compares_items(node) and _is_filtered_again(line, node):
            return True
    loop = line.loop
    return (isinstance(loop, ast.For) and _stops_at_item(loop)) or looks_up_in_array(line)


def scans_sequence(line: SourceLine) -> bool:
    """``items.index(x)`` in each round of a loop, on what may be a list, a tuple or a long text."""
    return (line.is_repeated or line.is_called_in_loop) and any(
        name.endswith(".index")
        and len(call.args) == 1
        and not call.keywords
        and not isinstance(call.args[0], ast.Constant)
        for name, call in line.calls
    )


def looks_up_in_array(line: SourceLine) -> bool:
    """Whether each round of a loop compares all of an array or column with a value to find one item.

    ``np.where(ids == wanted)[0][0]``, ``(ids == wanted).argmax()`` or ``table[table.id == wanted].iloc[0]``.
    """
    if not (line.is_repeated or line.is_called_in_loop):
        return False
    for node in line.nodes:
        if isinstance(node, ast.Call) and _FIRST.search(dotted(node.func)) and _has_equality(node):
            return True
        if (
            not isinstance(node, ast.Subscript)
            or not isinstance(node.slice, ast.Constant)
            or node.slice.value != 0
        ):
            continue
        if any(
            (isinstance(inner, ast.Call) and _PLACES.search(dotted(inner.func)) and _has_equality(inner))
            or (isinstance(inner, ast.Subscript) and _has_equality(inner.slice))
            for inner in ast.walk(node.value)
        ):
            return True
    return False


_FIRST, _PLACES = re.compile(r"(^|\.)argmax$"), re.compile(r"(^|\.)(where|nonzero|flatnonzero|argwhere)$")


def _has_equality(value: ast.expr) -> bool:
    """Whether an expression compares something with a name, an attribute or an item."""
    return any(
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Eq)
        and isinstance(node.comparators[0], (ast.Name, ast.Attribute, ast.Subscript))
        for node in ast.walk(value)
    )


def _is_filtered_again(
    line: SourceLine, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
) -> bool:
    """Whether a loop filters a collection that it does not assign, or a function does so by one of its parameters."""
    name = _collection(node.generators[0].iter)
    if not name:
        return False
    if line.loop is not None and line.statement is not line.loop:
        return name.partition(".")[0] not in _assigned_in(line.loop)
    if line.function is None:
        return False
    parameters = {argument.arg for argument in line.function.args.args} - {"self", "cls", name}
    tests = ast.walk(ast.Tuple([*node.generators[0].ifs], ast.Load()))
    return any(isinstance(inner, ast.Name) and inner.id in parameters for inner in tests)


def _compares_items(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> bool:
    """Whether a comprehension takes the items of which something equals a value from outside."""
    targets = {inner.id for inner in ast.walk(node.generators[0].target) if isinstance(inner, ast.Name)}
    tests = [*node.generators[0].ifs]
    if isinstance(node, ast.GeneratorExp):
        tests.append(node.elt)
    return any(_is_equality(test, targets) for test in tests)


def _is_equality(test: ast.expr, targets: set[str]) -> bool:
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            sides = (node.left, node.comparators[0])
            used = [{inner.id for inner in ast.walk(side) if isinstance(inner, ast.Name)} for side in sides]
            if any(used[side] & targets and used[1 - side] - targets for side in (0, 1)):
                return True
    return False


def _stops_at_item(loop: ast.For) -> bool:
    targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    return len(loop.body) == 1 and any(
        isinstance(statement, ast.If)
        and _is_equality(statement.test, targets)
        and isinstance(statement.body[-1], (ast.Return, ast.Break))
        for statement in loop.body
    )


def pairs_items(line: SourceLine) -> bool:
    """Whether two loops around the line go through the same collection: each item meets every other one."""
    names = [_collection(loop.iter) for loop in _loops(line)]
    for node in own_nodes(line.statement):
        if isinstance(node, _COMPREHENSIONS):
            names += [_collection(generator.iter) for generator in node.generators]
    known = [name for name in names if name]
    return len(known) != len(set(known))


def _loops(line: SourceLine) -> Iterator[ast.For]:
    """The ``for`` loops around the line in its function, innermost first."""
    for node in reversed((*line.around, line.statement)):
        if isinstance(node, Function):
            return
        if isinstance(node, ast.For):
            yield node


def _collection(value: ast.expr) -> str:
    """The name of what a loop goes through, also by ``enumerate`` or ``range(len(…))``; empty when unknown."""
    if isinstance(value, ast.Call):
        name = dotted(value.func)
        if name in _WRAPS and value.args:
            return _collection(value.args[0])
        if name == "range":
            lengths = [
                _collection(node.args[0])
                for argument in value.args
                for node in ast.walk(argument)
                if isinstance(node, ast.Call) and dotted(node.func) == "len" and node.args
            ]
            return lengths[0] if lengths else ""
        return ""
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        return _collection(value.value)
    return dotted(value)


def loops_over_elements(line: SourceLine) -> bool:
    """Whether a loop reads or writes single elements of a NumPy array or a tensor, or single pixels."""
    if not line.is_repeated:
        return False
    if any(_ELEMENTS.search(name) for name, _ in line.calls):
        return True
    if not all(_SCALARS.match(name) for name, _ in line.calls):
        return False
    return any(_is_array(line, node.value) for node in _element_accesses(line))


def loops_in_python(line: SourceLine) -> bool:
    """Whether nested loops compute with single elements of lists."""
    return len(list(_loops(line))) > 1 and any(
        isinstance(node.value, (ast.Name, ast.Attribute, ast.Subscript)) for node in _element_accesses(line)
    )


def _element_accesses(line: SourceLine) -> Iterator[ast.Subscript]:
    """The subscripts of the line with a loop's variable as index."""
    variables = {
        node.id for loop in _loops(line) for node in ast.walk(loop.target) if isinstance(node, ast.Name)
    }
    for node in line.nodes:
        if isinstance(node, ast.Subscript) and not any(
            isinstance(part, ast.Slice) for part in ast.walk(node.slice)
        ):
            names = {inner.id for inner in ast.walk(node.slice) if isinstance(inner, ast.Name)}
            if names & variables:
                yield node


def _is_array(line: SourceLine, value: ast.expr) -> bool:
    """Whether an expression is known to be a NumPy array or a tensor."""
    if isinstance(value, ast.Subscript):
        return _is_array(line, value.value)
    if isinstance(value, (ast.Name, ast.Attribute)):
        return any(
            bool(_ARRAY_TYPES.search(ast.unparse(assigned)))
            or (isinstance(assigned, ast.Call) and bool(_ARRAYS.match(dotted(assigned.func))))
            for assigned in line.assigned(value)
        )
    return False


def reduces_in_python(line: SourceLine) -> bool:
    """Whether a Python builtin goes through what may be an array: the file imports NumPy or a framework."""
    if not any(
        name in _REDUCTIONS
        and len(call.args) == 1
        and isinstance(call.args[0], (ast.Name, ast.Attribute, ast.BinOp))
        for name, call in line.calls
    ):
        return False
    names = (
        alias.name.partition(".")[0]
        for node in ast.walk(line.source.tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    )
    return not _ARRAY_MODULES.isdisjoint(names)


def slices_rest(line: SourceLine) -> bool:
    """Whether a loop hands on the rest of the same text or list, ``data[position:]``, which copies it each time."""
    loop = line.loop
    if loop is None or line.statement is loop:
        return False
    changed = _assigned_in(loop)
    for node in line.nodes:
        if not (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and isinstance(node.slice, ast.Slice)
        ):
            continue
        lower, upper = node.slice.lower, node.slice.upper
        is_rest = lower is not None and not isinstance(lower, (ast.Constant, ast.UnaryOp)) and upper is None
        name = dotted(node.value)
        if is_rest and name and name.partition(".")[0] not in changed and not _is_array(line, node.value):
            return True
    return False


def copies_in_loop(line: SourceLine) -> bool:
    """Whether a loop copies a whole collection in each round."""
    if not line.is_repeated:
        return False
    for name, call in line.calls:
        if _COPIES.search(name) or (
            name in _COPYING and len(call.args) == 1 and isinstance(call.args[0], ast.Name)
        ):
            return True
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.slice, ast.Slice)
        and node.slice.lower is node.slice.upper is None
        for node in line.nodes
    )


def _assigned_in(loop: ast.AST) -> set[str]:
    return {
        node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
