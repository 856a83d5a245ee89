"""What finds findings: a rule, and the registry of all there are.

Rules are the ``rules`` of the modules in ``catalogue``; installed distributions add theirs by the entry-point group
``warpline.findings``: a name and a `Rule`.
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
from warpline.i18n import english

ENTRY_POINT_GROUP = "warpline.findings"


@dataclass(frozen=True)
class Rule:
    """``name`` is what it is known by, ``group`` the part of the catalogue; ``find`` gives findings of a case. Rules of
    one budget's causes never claim the same time: each takes pieces of its own categories.
    """

    name: str
    group: str
    find: Callable[[Case], Iterable[Finding]]


@lru_cache(maxsize=1)
def builtin_rules() -> tuple[Rule, ...]:
    """Those of the catalogue, by name."""
    package = importlib.import_module("warpline.analysis.findings.catalogue")
    found: list[Rule] = []
    for module in pkgutil.iter_modules(package.__path__):
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        found += [rule for rule in getattr(loaded, "rules", ()) if isinstance(rule, Rule)]
    return tuple(sorted(found, key=lambda rule: rule.name))


def all_rules() -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Every rule, built-in ones first, and a sentence for each that is installed and cannot be had.

    One that is installed never replaces a built-in one.
    """
    found = list(builtin_rules())
    names = {rule.name for rule in found}
    said: list[str] = []
    for point in plugins.entry_points(ENTRY_POINT_GROUP):
        try:
            rule = point.load()
            reason = "" if isinstance(rule, Rule) else english("it is no Rule")
        # Whatever somebody else's module does when it is imported, the other rules are there.
        except Exception as error:
            reason = str(error) or type(error).__name__
        if reason:
            said.append(
                english(
                    "rule {name} cannot be loaded from {value}: {reason}",
                    name=point.name,
                    value=point.value,
                    reason=reason,
                )
            )
        elif rule.name not in names:
            names.add(rule.name)
            found.append(rule)
    return tuple(found), tuple(said)
