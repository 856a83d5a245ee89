"""Recognizes lines that keep the autograd graphs of PyTorch alive, so that backward passes or memory grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from warpline.analysis.findings.work.source_lines import SourceFile, SourceLine, dotted, targets

_FREES = (
    "item", "detach", "data", "tolist", "numpy", "float", "int", "str", "len", "shape", "size",
)  # fmt: skip
_UNRECORDED = ("no_grad", "inference_mode")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)


def goes_back_through_old_graphs(line: SourceLine) -> bool:
    """A ``backward`` in a loop from a sum that the loop adds to and never begins anew, or, with ``retain_graph``,
    through a state that it carries over.
    """
    loop = line.loop
    if loop is None:
        return False
    for name, call in line.calls:
        if not name.endswith(".backward") and not name.endswith("autograd.grad"):
            continue
        value = name.rpartition(".")[0]
        if value not in _set_anew(loop) and any(value == grown for grown, _, _ in _growths(loop)):
            return True
        if any(word.arg == "retain_graph" and _is_true(word.value) for word in call.keywords) and _carries(
            loop
        ):
            return True
    return False


def _carries(loop: ast.AST) -> bool:
    """Whether a loop computes a value from its own value of the round before, as in ``h = cell(x, h)``."""
    nodes = list(ast.walk(loop))
    if any(isinstance(node, ast.Attribute) and node.attr in ("detach", "detach_") for node in nodes):
        return False
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = {
                inner.id
                for target in node.targets
                for inner in ast.walk(target)
                if isinstance(inner, ast.Name)
            }
            if made & {inner.id for inner in ast.walk(node.value) if isinstance(inner, ast.Name)}:
                return True
    return False


def keeping_line(scope: ast.AST) -> int | None:
    """The number of a line of a function that adds losses to a sum or list without ``item`` or ``detach``."""
    nodes = list(ast.walk(scope))
    losses = {
        dotted(node.func.value)
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "backward"
    } - {""}
    for _name, value, number in _growths(scope):
        if any(dotted(part) in losses for part in _kept_parts(value)):
            return number
    return None


def training_functions(source: SourceFile) -> Iterator[ast.AST]:
    """The functions of a file, or the module itself, that go backward."""
    for node in (*(n for n in ast.walk(source.tree) if isinstance(n, _SCOPES)), source.tree):
        if any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in ast.walk(node)):
            yield node


def _set_anew(loop: ast.AST) -> set[str]:
    """The names that a loop sets to a value that does not contain them."""
    return {
        dotted(name)
        for node in ast.walk(loop)
        for target, value in targets(node)
        for name in ast.walk(target)
        if dotted(name) not in map(dotted, ast.walk(value))
    }


def _recorded(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes that autograd records: not the bodies of ``with no_grad()`` and of functions decorated with it."""
    waiting = [scope]
    for node in waiting:
        around = getattr(node, "decorator_list", [])
        if isinstance(node, (ast.With, ast.AsyncWith)):
            around = [item.context_expr for item in node.items]
        if not any(_last_name(part) in _UNRECORDED for expression in around for part in ast.walk(expression)):
            yield node
            waiting += ast.iter_child_nodes(node)


def _last_name(node: ast.AST) -> str:
    return dotted(node).rpartition(".")[2]


def _growths(scope: ast.AST) -> Iterator[tuple[str, ast.expr, int]]:
    """(what grows, by which value, line) of each ``x += value``, ``x = x + value`` and ``x.append(value)``."""
    for node in _recorded(scope):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            yield dotted(node.target), node.value, node.lineno
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.BinOp)
            and isinstance(node.value.op, ast.Add)
        ):
            for target, _ in targets(node):
                if dotted(target) and dotted(node.value.left) == dotted(target):
                    yield dotted(target), node.value.right, node.lineno
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "append"
            and node.args
        ):
            yield dotted(node.func.value), node.args[0], node.lineno


def _kept_parts(value: ast.expr) -> Iterator[ast.AST]:
    """The parts of an added value whose graph is kept: not below ``item``, ``detach``, ``len`` and the like."""
    if _last_name(value.func if isinstance(value, ast.Call) else value) in _FREES:
        return
    yield value
    for child in ast.iter_child_nodes(value):
        if isinstance(child, ast.expr):
            yield from _kept_parts(child)


def _is_true(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True
