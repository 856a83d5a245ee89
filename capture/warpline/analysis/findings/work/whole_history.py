"""Recognizes statistics that each step computes again over a collection that the program only adds to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from warpline.analysis.findings.work.source_lines import Function, Loop, SourceFile, SourceLine, dotted
from warpline.analysis.findings.work.value_flow import ValueFlow, with_scopes

_STATISTICS = re.compile(
    r"(^|\.)(\w*sort|sorted|\w*partition|(nan)?(percentile|quantile|median|mean|std|var)|quantiles|fmean|average|p?stdev"
    r"|p?variance|histogram\w*|bincount|unique|value_counts|describe|corr(coef)?|cov|rankdata|\w+_score|auc|roc_curve"
    r"|confusion_matrix|classification_report|precision_recall_curve|spearmanr|pearsonr|kendalltau|ks_2samp|cumsum|sum"
    r"|min|max|Counter|topk|norm)$"
)
"""Functions that go through all of a collection for one result."""
_CONVERTS = re.compile(
    r"(^|\.)(list|tuple|array|asarray|as_tensor|tensor|from_numpy|stack|concatenate|cat|[vh]stack|Series|DataFrame"
    r"|copy|astype|numpy|to_numpy|cpu|float|double|flatten|ravel)$"
)
"""Functions that hand on all of a collection in another form."""
_ADDS = frozenset(("append", "extend", "appendleft"))
_JOINS = re.compile(r"(^|\.)(concatenate|concat|cat|append|[vh]stack)$")
_SHRINKS = re.compile(r"(^|\.)(pop|popleft|clear|remove|popitem|heappop|heapreplace|heappushpop|truncate)$")
_LIMITED = re.compile(r"maxlen")


def computes_over_history(line: SourceLine) -> bool:
    """Whether a line that each step repeats computes a statistic, or converts, all that was collected so far."""
    flow = line.source.once(_history)
    if flow is None or (isinstance(line.statement, ast.Assign) and _joins_itself(line.statement)):
        return False
    scope = line.function.name if line.function is not None else ""
    return any(
        (_STATISTICS.search(name) or _CONVERTS.search(name))
        and any(flow.holds(scope, value) for value in _operands(call))
        for name, call in line.calls
    )


def computes_statistic_each_step(line: SourceLine) -> bool:
    """Whether a loop, here or around a call of the function, computes a score, a median, a histogram or the like."""
    return (line.is_repeated or line.is_called_in_loop) and any(
        _METRICS.search(name) for name, _ in line.calls
    )


_METRICS = re.compile(
    r"(^|\.)((nan)?(percentile|quantile|median)|quantiles|histogram\w*|\w+_score|auc|roc_curve|confusion_matrix"
    r"|classification_report|precision_recall_curve|spearmanr|kendalltau)$"
)


def _operands(call: ast.Call) -> Iterator[ast.expr]:
    """What a call works on: its arguments, what goes through a comprehension in it, and the object of a method."""
    for argument in (*call.args, *(word.value for word in call.keywords)):
        yield argument
        if isinstance(argument, (ast.GeneratorExp, ast.ListComp)):
            yield argument.generators[0].iter
        elif isinstance(argument, (ast.List, ast.Tuple)):
            yield from argument.elts
    if isinstance(call.func, ast.Attribute):
        yield call.func.value


def _handed_on(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.Call) and (
        _CONVERTS.search(dotted(value.func)) or dotted(value.func).endswith(("sort", "sorted"))
    ):
        return [*_operands(value)]
    return []


def _history(source: SourceFile) -> ValueFlow | None:
    """Where the collections go that grow from step to step; None without any."""
    uses = {id(use) for use in _uses(source)}
    if not uses:
        return None
    return ValueFlow(starts=lambda value: id(value) in uses, passes=_handed_on).follow(source)


def _uses(source: SourceFile) -> Iterator[ast.expr]:
    """The uses, in each step, of the collections that steps add to and never shorten or begin anew."""
    shrunk = set(_shrunk(source.tree))
    repeated = _repeated_functions(source)
    for loop in (node for node in ast.walk(source.tree) if isinstance(node, Loop)):
        grown = set(_grown(loop)) - set(_renewed(loop)) - shrunk
        yield from (node for node in ast.walk(loop) if isinstance(node, ast.expr) and dotted(node) in grown)
    functions = [node for node in ast.walk(source.tree) if isinstance(node, Function)]
    lasting = {name for function in functions for name in _grown(function)} - shrunk
    for function in functions:
        if function.name != "__init__":
            lasting -= set(_renewed(function))
    for scope, node in with_scopes(source.tree):
        if scope in repeated and isinstance(node, (ast.Name, ast.Attribute)) and dotted(node) in lasting:
            yield node


def _repeated_functions(source: SourceFile) -> set[str]:
    """The functions that a loop calls, that such functions call, or that nothing in the file calls."""
    calls: dict[str, set[str]] = {}
    called: set[str] = set()
    for scope, node in with_scopes(source.tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func).rpartition(".")[2]
            calls.setdefault(scope, set()).add(name)
            called.add(name)
    names = {node.name for node in ast.walk(source.tree) if isinstance(node, Function)}
    repeated, waiting = (
        set[str](),
        [name for name in names if name in source.called_in_loops or name not in called],
    )
    while waiting:
        name = waiting.pop()
        if name not in repeated:
            repeated.add(name)
            waiting += names & calls.get(name, set())
    return repeated


def _grown(node: ast.AST) -> Iterator[str]:
    """The names of the collections to which something inside a node adds."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in _ADDS:
            yield dotted(inner.func.value)
        elif isinstance(inner, ast.Assign) and _joins_itself(inner):
            yield dotted(inner.targets[0])


def _joins_itself(assignment: ast.Assign) -> bool:
    """``items = np.concatenate([items, more])``."""
    value, name = assignment.value, dotted(assignment.targets[0])
    return (
        bool(name)
        and isinstance(value, ast.Call)
        and _JOINS.search(dotted(value.func)) is not None
        and any(dotted(operand) == name for operand in _operands(value))
    )


def _renewed(node: ast.AST) -> Iterator[str]:
    """The names to which something inside a node gives another value."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign) and not _joins_itself(inner):
            for target in inner.targets:
                yield from (dotted(part) for part in ast.walk(target) if isinstance(part, ast.expr))
        elif isinstance(inner, (ast.For, ast.AnnAssign, ast.comprehension)):
            yield from (dotted(part) for part in ast.walk(inner.target) if isinstance(part, ast.expr))


def _shrunk(tree: ast.AST) -> Iterator[str]:
    """The names of the collections that are shortened somewhere, or limited in length, or cut."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _SHRINKS.search(dotted(node.func)):
            yield from (dotted(operand) for operand in _operands(node))
        elif isinstance(node, ast.Delete):
            yield from (dotted(part) for target in node.targets for part in ast.walk(target))
        elif isinstance(node, ast.Assign) and (
            _LIMITED.search(ast.unparse(node.value)) or isinstance(node.value, ast.Subscript)
        ):
            yield from (dotted(target) for target in node.targets)
        elif (
            isinstance(node, ast.AnnAssign)
            and node.value is not None
            and _LIMITED.search(ast.unparse(node.value))
        ):
            yield dotted(node.target)
