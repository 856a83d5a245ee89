"""Rules, which produce findings, and their registry.

Built-in rules are the ``rules`` of the modules in ``catalogue``. Installed distributions add theirs as entry points of
the group ``warpline.findings``, each a name and a `Rule`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from warpline import plugins
from warpline.analysis.findings.case import Case
from warpline.analysis.findings.finding import Finding

ENTRY_POINT_GROUP = "warpline.findings"
LAST = 100
"""The order of rules that take whatever no shape has claimed."""


@dataclass(frozen=True)
class Rule:
    """A named rule in a ``group`` of the catalogue; ``find`` yields the findings of a case.

    Two rules never claim the same time of the budget: each takes the pieces of its own categories. Rules that recognise
    the shape of a program have a lower ``order``: they run first, and others leave the time that they claim alone.
    """

    name: str
    group: str
    find: Callable[[Case], Iterable[Finding]]
    order: int = LAST


@lru_cache(maxsize=1)
def builtin_rules() -> tuple[Rule, ...]:
    """The rules of the catalogue, in the order in which they run."""
    package = importlib.import_module("warpline.analysis.findings.catalogue")
    rules: list[Rule] = []
    for module in pkgutil.iter_modules(package.__path__):
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        rules += [rule for rule in getattr(loaded, "rules", ()) if isinstance(rule, Rule)]
    return tuple(sorted(rules, key=lambda rule: (rule.order, rule.name)))


def all_rules() -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Every rule, built-in ones first, and a sentence for each installed one that cannot be loaded.

    An installed rule never replaces a built-in one.
    """
    rules = {rule.name: rule for rule in builtin_rules()}
    problems = []
    for plugin in plugins.load_plugins(ENTRY_POINT_GROUP, Rule):
        if plugin.value is None:
            problems.append(plugin.problem)
        else:
            rules.setdefault(plugin.value.name, plugin.value)
    return tuple(rules.values()), tuple(problems)
