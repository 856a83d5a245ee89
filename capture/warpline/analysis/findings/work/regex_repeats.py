"""Tells regular expressions whose matching can take exponential time: an unlimited repeat inside another one."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

_ALPHABET = frozenset(map(chr, range(128)))
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")


def nests_repeats(pattern: str) -> bool:
    """Whether the same text fits an unlimited repeat inside another one in many ways, as ``(a+)+`` does.

    It does not where something stands between the inner repeats that they cannot match: ``(,a+)+``.
    """
    parser: Any = importlib.import_module("re._parser")
    try:
        return any(_is_ambiguous(items, parser) for items in _repeated(list(parser.parse(pattern)), parser))
    except (re.error, OverflowError, RecursionError):
        return False


def _repeated(items: Sequence[Any], parser: Any) -> Iterator[list[Any]]:
    """What each unlimited repeat repeats, one sequence for each alternative."""
    for item in items:
        for body in _bodies(item):
            if _is_unlimited(item, parser):
                yield from _alternatives(body)
            yield from _repeated(body, parser)


def _is_unlimited(item: Any, parser: Any) -> bool:
    return str(item[0]) in _REPEATS and bool(item[1][1] == parser.MAXREPEAT)


def _bodies(item: Any) -> list[list[Any]]:
    """The sequences that an item contains; none of those that give nothing back (atomic groups, ``a++``)."""
    name, given = str(item[0]), item[1]
    if name in _REPEATS:
        return [list(given[2])]
    if name == "SUBPATTERN":
        return [list(given[3])]
    if name == "BRANCH":
        return [list(part) for part in given[1]]
    return []


def _alternatives(items: Sequence[Any]) -> list[list[Any]]:
    """A sequence with its groups opened; several where it is nothing but alternatives."""
    flat: list[Any] = []
    for item in items:
        flat += (
            _alternatives(list(item[1][3]))[0] if str(item[0]) == "SUBPATTERN" and _is_plain(item) else [item]
        )
    if len(flat) == 1 and str(flat[0][0]) in ("BRANCH", "SUBPATTERN"):
        return [part for body in _bodies(flat[0]) for part in _alternatives(body)]
    return [flat]


def _is_plain(item: Any) -> bool:
    return all(str(inner[0]) != "BRANCH" for inner in item[1][3])


def _is_ambiguous(items: Sequence[Any], parser: Any) -> bool:
    for index, item in enumerate(items):
        if not _is_unlimited(item, parser):
            continue
        own = _chars([item])
        others = [other for number, other in enumerate(items) if number != index and not _may_be_empty(other)]
        if not any(_chars([other]).isdisjoint(own) for other in others):
            return True
    return False


def _may_be_empty(item: Any) -> bool:
    name = str(item[0])
    if name in (*_REPEATS, "POSSESSIVE_REPEAT"):
        return bool(item[1][0] == 0) or all(map(_may_be_empty, item[1][2]))
    if name == "BRANCH":
        return any(all(map(_may_be_empty, part)) for part in item[1][1])
    if name == "SUBPATTERN":
        return all(map(_may_be_empty, item[1][3]))
    return name not in ("LITERAL", "NOT_LITERAL", "ANY", "IN", "ATOMIC_GROUP")


def _chars(items: Sequence[Any]) -> frozenset[str]:
    """The ASCII characters that can be part of what some items match."""
    found: frozenset[str] = frozenset()
    for item in items:
        name, given = str(item[0]), item[1]
        if name in ("LITERAL", "NOT_LITERAL"):
            found |= {chr(given)} if name == "LITERAL" else _ALPHABET - {chr(given)}
        elif name == "ANY":
            found |= _ALPHABET
        elif name == "IN":
            found |= _set(given)
        elif name in ("POSSESSIVE_REPEAT", "ATOMIC_GROUP"):
            found |= _chars(list(given[2] if name == "POSSESSIVE_REPEAT" else given))
        for body in _bodies(item):
            found |= _chars(body)
    return found


def _set(parts: Sequence[Any]) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for kind, given in ((str(part[0]), part[1]) for part in parts):
        if kind == "LITERAL":
            found |= {chr(given)}
        elif kind == "RANGE":
            found |= _ALPHABET & set(map(chr, range(given[0], min(given[1], 127) + 1)))
        elif kind == "CATEGORY":
            known = _CATEGORIES.get(str(given))
            found |= (
                _ALPHABET if known is None else {letter for letter in _ALPHABET if re.match(known, letter)}
            )
    return _ALPHABET - found if str(parts[0][0]) == "NEGATE" else found
