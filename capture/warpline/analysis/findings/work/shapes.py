"""Recognizes costly shapes in a source line: scans of lists, texts that grow, busy loops and others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from warpline.analysis.findings.work.regex_repeats import nests_repeats
from warpline.analysis.findings.work.source_lines import Function, SourceLine, dotted

_LIST_CALLS = {"list", "sorted"}
_LIST_METHODS = re.compile(r"\.(split|rsplit|splitlines|readlines|tolist)$")
_ANNOTATED_LIST = re.compile(r"^(typing\.)?([Ll]ist|Sequence)\b")
_SCANS = re.compile(r"\.(index|count|remove)$")
_SERIAL = re.compile(
    r"^(json|orjson|ujson|simplejson|pickle|cPickle|dill|cloudpickle|marshal|yaml)\."
    r"(dumps?|loads?|safe_load|safe_dump)$"
)
_CONVERSIONS = re.compile(
    r"\.(astype|tolist|item|cpu|numpy|cuda|half|bfloat16|float|double|int|long|to)$|^(np|numpy)\.(array|asarray|fromiter)$"
    r"|^(torch|paddle)\.(tensor|as_tensor|to_tensor|from_numpy)$"
)
_JOINING = re.compile(
    r"^(np|numpy)\.(append|concatenate|vstack|hstack|insert)$|^(pd|pandas)\.concat$|^torch\.cat$"
)
_MATCHES = re.compile(r"\.(match|search|fullmatch|findall|finditer|sub|subn|split)$")
_WAITING_CALLS = re.compile(r"(^|\.)(sleep|wait|join|select|poll|recv|read|get|acquire|result|accept)$")
_CLOCKS = re.compile(r"(^|\.)(monotonic|perf_counter|process_time|clock_gettime|time|now)(_ns)?$")
_AWAITS = (ast.Await, ast.Yield, ast.YieldFrom)


def is_list(line: SourceLine, value: ast.expr) -> bool:
    """Whether an expression is known to be a list: every assignment to it makes one."""
    if isinstance(value, (ast.Name, ast.Attribute)):
        values = line.assigned(value)
        return bool(values) and all(map(_makes_list, values))
    return _makes_list(value)


def _makes_list(value: ast.expr) -> bool:
    if isinstance(value, (ast.List, ast.ListComp)):
        return True
    if isinstance(value, ast.Call):
        return dotted(value.func) in _LIST_CALLS or bool(_LIST_METHODS.search(dotted(value.func)))
    if isinstance(value, ast.BinOp):
        return _makes_list(value.left) or _makes_list(value.right)
    return isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)) and bool(
        _ANNOTATED_LIST.match(ast.unparse(value))
    )


def scans_list(line: SourceLine) -> bool:
    """``x in items``, ``items.index(x)`` or ``items.remove(x)`` on a list that is not a short literal."""
    for node in line.nodes:
        if isinstance(node, ast.Compare):
            for operator, right in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, (ast.In, ast.NotIn)) and _is_long(right) and is_list(line, right):
                    return True
    return any(
        _SCANS.search(name) and isinstance(call.func, ast.Attribute) and is_list(line, call.func.value)
        for name, call in line.calls
    )


def _is_long(value: ast.expr) -> bool:
    return not isinstance(value, (ast.List, ast.Tuple, ast.Constant))


def tests_membership(line: SourceLine) -> bool:
    """Whether the line tests membership in something that is not a short literal."""
    return any(
        isinstance(node, ast.Compare)
        and any(
            isinstance(operator, (ast.In, ast.NotIn)) and _is_long(right)
            for operator, right in zip(node.ops, node.comparators, strict=True)
        )
        for node in line.nodes
    )


def shifts_list(line: SourceLine) -> bool:
    """``items.pop(0)`` or ``items.insert(0, x)``, which move every other item; or ``items = items[1:]``."""
    for name, call in line.calls:
        first = call.args[0] if call.args else None
        if name.endswith((".pop", ".insert")) and isinstance(first, ast.Constant) and first.value == 0:
            return not (name.endswith(".pop") and len(call.args) > 1)
    statement = line.statement
    if isinstance(statement, ast.Assign) and line.loop is not None:
        value = statement.value
        return (
            isinstance(value, ast.Subscript)
            and isinstance(value.slice, ast.Slice)
            and value.slice.lower is not None
            and value.slice.upper is None
            and dotted(value.value) in {dotted(target) for target in statement.targets} - {""}
        )
    return False


def grows_text(line: SourceLine) -> bool:
    """``text += piece`` in a loop, where the text is known to be ``str`` or ``bytes``."""
    statement = line.statement
    if line.loop is None:
        return False
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        if _is_text(statement.value):
            return True
        values = line.assigned(statement.target)
        return bool(values) and all(_is_text(value) for value in values)
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        left = leftmost(statement.value)
        same = dotted(left) in {dotted(target) for target in statement.targets} - {""}
        return same and (_is_text(statement.value) or any(map(_is_text, line.assigned(left))))
    return False


def leftmost(value: ast.expr) -> ast.expr:
    """The first operand of a chain of ``+``."""
    while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        value = value.left
    return value


def _is_text(value: ast.expr) -> bool:
    if isinstance(value, ast.JoinedStr):
        return True
    if isinstance(value, ast.Constant):
        return isinstance(value.value, (str, bytes))
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Mod)):
        return _is_text(value.left) or (isinstance(value.op, ast.Add) and _is_text(value.right))
    if isinstance(value, ast.Call):
        func = value.func
        if isinstance(func, ast.Attribute) and func.attr in ("join", "format"):
            return isinstance(func.value, ast.Constant)
        return dotted(func) in ("str", "bytes", "repr")
    return False


def grows_copy(line: SourceLine) -> bool:
    """``items = items + [x]`` or ``array = np.append(array, x)`` in a loop: everything is copied each time.

    So is it by ``sum(lists, [])``.
    """
    statement = line.statement
    if any(name == "sum" and len(call.args) > 1 and _makes_list(call.args[1]) for name, call in line.calls):
        return True
    if not isinstance(statement, ast.Assign):
        return False
    targets = {dotted(target) for target in statement.targets} - {""}
    if line.loop is None:
        # Only an attribute is the same one in each call of a function.
        targets = {name for name in targets if "." in name and line.is_called_in_loop}
    value = statement.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return dotted(leftmost(value)) in targets and _makes_list(value)
    if isinstance(value, ast.Call) and _JOINING.search(dotted(value.func)):
        return any(dotted(node) in targets for node in ast.walk(value))
    return False


def serializes_constant(line: SourceLine) -> bool:
    """A JSON or pickle call on a value, not a file, that the loop around it never assigns."""
    loop = line.loop
    if loop is None:
        return False
    changed = _changed_in(loop)
    return any(
        _SERIAL.search(name)
        and not name.endswith((".load", ".dump"))  # a file may hold something else each time
        and call.args
        and not ({node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)} & changed)
        and any(isinstance(node, ast.Name) for node in ast.walk(call.args[0]))
        for name, call in line.calls
    )


def copies_by_serializing(line: SourceLine) -> bool:
    """``json.loads(json.dumps(x))`` and its like."""
    return any(
        _SERIAL.search(name)
        and any(
            isinstance(argument, ast.Call) and _SERIAL.search(dotted(argument.func)) for argument in call.args
        )
        for name, call in line.calls
    )


def serializes(line: SourceLine) -> bool:
    """A JSON, pickle or YAML call."""
    return any(_SERIAL.search(name) for name, _ in line.calls)


def converts(line: SourceLine) -> bool:
    """A conversion between arrays, tensors, lists, dtypes or devices, repeated by a loop here or around a call.

    In a function that a loop calls, the line must do nothing else.
    """
    if not any(_CONVERSIONS.search(name) for name, _ in line.calls):
        return False
    value = line.statement.value if isinstance(line.statement, (ast.Assign, ast.Return, ast.Expr)) else None
    return line.is_repeated or (line.is_called_in_loop and value is not None and _only_converts(value))


def _only_converts(value: ast.expr) -> bool:
    """Whether an expression only converts values that have a name."""
    if isinstance(value, ast.Tuple):
        return all(map(_only_converts, value.elts))
    if not isinstance(value, ast.Call) or not _CONVERSIONS.search(dotted(value.func)):
        return False
    is_function = dotted(value.func).partition(".")[0] in ("np", "numpy", "torch", "paddle")
    operand = value.args[0] if is_function and value.args else getattr(value.func, "value", None)
    return isinstance(operand, (ast.Name, ast.Attribute, ast.Subscript)) or (
        isinstance(operand, ast.Call) and _only_converts(operand)
    )


def sorts_in_loop(line: SourceLine) -> bool:
    """A sort, minimum, maximum or sum over a collection that the loop around it only grows or leaves alone.

    Or over one to which the function around it adds items each time.
    """
    loop = line.loop
    names = {name for name in _whole_collections(line) if name}
    if loop is not None and line.statement is not loop:
        changed = _changed_in(loop)
        if any(name.partition(".")[0] not in changed for name in names):
            return True
    return line.function is not None and bool(names & _grown_in(line.function))


def _whole_collections(line: SourceLine) -> Iterator[str]:
    """The names of collections that calls of a line sort or reduce as a whole."""
    for name, call in line.calls:
        if name in ("sorted", "min", "max", "sum") and len(call.args) == 1:
            yield _collection_name(call.args[0])
        elif name.endswith(".sort") and isinstance(call.func, ast.Attribute):
            yield _collection_name(call.func.value)


def _collection_name(value: ast.expr) -> str:
    """The name of a collection, also behind ``.items()`` or ``list(…)``; empty when unknown."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr in _VIEWS and not value.args:
            return dotted(value.func.value)
        if dotted(value.func) in ("list", "tuple") and len(value.args) == 1:
            return _collection_name(value.args[0])
    return dotted(value) if isinstance(value, (ast.Name, ast.Attribute)) else ""


_VIEWS = frozenset(("items", "values", "keys"))
_ADDS = frozenset(("append", "add", "appendleft", "setdefault"))


def _grown_in(function: Function) -> set[str]:
    """The names of the collections from outside to which a function adds items."""
    nodes = list(ast.walk(function))
    own = _changed_in(function)
    added = {
        dotted(node.func.value)
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDS
    }
    return {name for name in added if name and name.partition(".")[0] not in own}


def _changed_in(loop: ast.AST) -> set[str]:
    """The names that a loop assigns, with its own variables."""
    return {
        node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def collects_garbage(line: SourceLine) -> bool:
    """A call of ``gc.collect``."""
    return any(name == "gc.collect" for name, _ in line.calls)


def prints(line: SourceLine) -> bool:
    """A call of ``print``, or a write to the standard output."""
    return any(
        name == "print" or name in ("sys.stdout.write", "sys.stderr.write", "sys.stdout.flush")
        for name, _ in line.calls
    )


def flushes(line: SourceLine) -> bool:
    """A print that flushes, or a flush inside a loop."""
    return any(
        (name == "print" and any(keyword.arg == "flush" for keyword in call.keywords))
        or (name.endswith(".flush") and line.is_repeated)
        for name, call in line.calls
    )


def spins(line: SourceLine) -> bool:
    """A loop that only tests whether something has happened, without any call that waits."""
    loop = line.loop
    if not isinstance(loop, ast.While):
        return False
    inside = list(ast.walk(loop))
    if any(isinstance(node, _AWAITS) for node in inside):
        return False
    calls = [dotted(node.func) for node in inside if isinstance(node, ast.Call)]
    if any(_WAITING_CALLS.search(name) for name in calls):
        return False
    return all(_does_nothing(statement, loop) for statement in loop.body)


def spins_on_a_clock(line: SourceLine) -> bool:
    """A loop that `spins` until a clock says so."""
    loop = line.loop
    if not isinstance(loop, ast.While) or not spins(line):
        return False
    asked = (node for node in ast.walk(loop) if isinstance(node, ast.Call))
    return any(_CLOCKS.search(dotted(node.func)) for node in asked)


def _does_nothing(statement: ast.stmt, loop: ast.While) -> bool:
    if isinstance(statement, (ast.Pass, ast.Continue, ast.Break)):
        return True
    if isinstance(statement, ast.If):
        # ``if ready: break`` under ``while True``.
        leaves = [*statement.body, *statement.orelse]
        endless = isinstance(loop.test, ast.Constant)
        return endless and all(
            isinstance(leaf, (ast.Break, ast.Return, ast.Pass, ast.Continue)) for leaf in leaves
        )
    return False


def backtracks(line: SourceLine) -> bool:
    """A match with a pattern of the file that nests unlimited repeats, such as ``(a+)+``."""
    if not any(_MATCHES.search(name) or name in _RE_CALLS for name, _ in line.calls):
        return False
    names = {dotted(node) for node in line.nodes if isinstance(node, (ast.Name, ast.Attribute))}
    literals = [node for node in line.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for node in ast.walk(line.source.tree):
        if isinstance(node, ast.Assign) and {dotted(target) for target in node.targets} & names:
            literals += [
                inner
                for inner in ast.walk(node.value)
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
            ]
    return any(nests_repeats(str(literal.value)) for literal in literals)


_RE_CALLS = frozenset(f"re.{name}" for name in ("match", "search", "fullmatch", "findall", "finditer", "sub"))


def recurses_twice(line: SourceLine) -> bool:
    """A line on which a function without a cache calls itself at least twice."""
    function = line.function
    if function is None or any("cache" in ast.unparse(item) for item in function.decorator_list):
        return False
    return sum(name.rpartition(".")[2] == function.name for name, _ in line.calls) > 1


def handlers(line: SourceLine) -> list[ast.Try]:
    """The ``try`` statements around a line, innermost first."""
    nodes: list[ast.Try] = []
    for node in reversed((*line.around, line.statement)):
        if isinstance(node, Function):
            break
        if isinstance(node, ast.Try) and node.handlers:
            nodes.append(node)
    return nodes


def is_in_handler(line: SourceLine, statement: ast.Try) -> bool:
    """Whether the line belongs to an ``except`` clause of a ``try`` statement."""
    return any(
        handler.lineno <= line.number <= (handler.end_lineno or handler.lineno)
        for handler in statement.handlers
    )


_OPENS = re.compile(r"(^|\.)(open|fdopen|read_\w+|load|loadtxt|genfromtxt|fromfile|imread|parse)$")


def opening_line(line: SourceLine) -> int | None:
    """The number of the line that opens the file: this one, or the head of the ``with`` block around it."""
    if any(_OPENS.search(name) for name, _ in line.calls):
        return line.number
    for node in reversed(line.around):
        if isinstance(node, Function):
            return None
        if isinstance(node, (ast.With, ast.AsyncWith)) and any(
            isinstance(part, ast.Call) and _OPENS.search(dotted(part.func))
            for item in node.items
            for part in ast.walk(item.context_expr)
        ):
            return node.lineno
    return None
