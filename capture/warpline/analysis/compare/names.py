"""Names of two captures matched: as they are, then by what does not change from build to build and run to run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from warpline.i18n import english

Key = tuple[str, ...]
"""What a row is known by: the texts of its key columns."""


@dataclass(frozen=True)
class NameRule:
    """What is left out of a name when it has no equal on the other side; ``title`` is what a person reads."""

    id: str
    title: str
    apply: Callable[[str], str]


def _pattern(expression: str, put: str) -> Callable[[str], str]:
    compiled = re.compile(expression)
    return lambda text: compiled.sub(put, text)


def _without_template_arguments(text: str) -> str:
    """``f<a<b>, c>(int)`` as ``f<…>(int)``; angles that do not pair (``operator<``, ``->``) stay."""
    parts: list[str] = []
    depth, start = 0, 0
    for place, sign in enumerate(text):
        if sign == "<" and (depth or (place and (text[place - 1].isalnum() or text[place - 1] in "_>}"))):
            if not depth:
                parts.append(text[start:place])
                start = place
            depth += 1
        elif sign == ">" and depth and text[place - 1] != "-":
            depth -= 1
            if not depth:
                parts.append("<…>")
                start = place + 1
    return "".join(parts) + text[start:]


RULES: tuple[NameRule, ...] = (
    NameRule("number", english("numbers of threads and processes"), _pattern(r" \(\d+\)$", "")),
    NameRule("address", english("addresses"), _pattern(r"0x[0-9a-fA-F]{5,}", "0x…")),
    NameRule("template", english("template arguments"), _without_template_arguments),
    NameRule(
        "compiler",
        english("suffixes of compilers"),
        _pattern(r"\.(constprop|isra|part|cold|llvm)(\.\d+)*", ""),
    ),
    NameRule(
        "hash", english("hashes"), _pattern(r"(?<![0-9a-zA-Z])(?=[a-f]*\d)[0-9a-f]{12,}(?![0-9a-zA-Z])", "…")
    ),
    NameRule("tile", english("tile sizes"), _pattern(r"(?<![0-9])\d+(x\d+)+(?![0-9])", "…x…")),
    NameRule(
        "stages",
        english("stages, splits and warps of a tuned kernel"),
        _pattern(r"(?<=_)(stages?|splitK?|ldg|stg|warps?|align)_?\d+(?=_|$)", r"\1…"),
    ),
    NameRule(
        "autotuned",
        english("suffixes of autotuning and code generation"),
        _pattern(r"(?<=[a-z])(_\d[0-9dec]*)+$", "_…"),
    ),
    NameRule("step", english("numbers of steps"), _pattern(r"(?<=\w#)\d+$", "…")),
)
"""In the order in which they are applied, each to what the ones before left."""


@lru_cache(1 << 16)
def stable_name(text: str) -> str:
    """A name without what another build or run would call otherwise."""
    for rule in RULES:
        text = rule.apply(text)
    return text


def rules_between(one: str, other: str) -> tuple[str, ...]:
    """The ids of the rules that made two names equal: those that change either."""
    found = []
    for rule in RULES:
        changed = rule.apply(one), rule.apply(other)
        if changed != (one, other):
            found.append(rule.id)
        one, other = changed
    return tuple(found)


@dataclass(frozen=True)
class MatchedName:
    """One line of both sides: the keys that stand in it in A and in B (none: new, or gone), and by which rules."""

    key: Key
    a: tuple[Key, ...]
    b: tuple[Key, ...]
    rules: tuple[str, ...] = ()


def match_names(a: Iterable[Key], b: Iterable[Key], *, is_exact: bool = False) -> list[MatchedName]:
    """Every key of either side once: equal ones first, then those that are equal by `RULES` (unless ``is_exact``).

    Names that the rules make equal stand in one line, so a kernel that became two is still one line. Swapping the
    sides swaps ``a`` and ``b`` and changes nothing else.
    """
    in_a, in_b = dict.fromkeys(a), dict.fromkeys(b)
    found = [MatchedName(key, (key,), (key,)) for key in in_a if key in in_b]
    left_a = [key for key in in_a if key not in in_b]
    left_b = [key for key in in_b if key not in in_a]
    if is_exact:
        return found + [MatchedName(k, (k,), ()) for k in left_a] + [MatchedName(k, (), (k,)) for k in left_b]
    forms_a, forms_b = _by_form(left_a), _by_form(left_b)
    for form in dict.fromkeys([*forms_a, *forms_b]):
        ours, theirs = forms_a.get(form, []), forms_b.get(form, [])
        if ours and theirs:
            rules = dict.fromkeys(
                rule for parts in zip(ours[0], theirs[0], strict=True) for rule in rules_between(*parts)
            )
            found.append(MatchedName(form, tuple(sorted(ours)), tuple(sorted(theirs)), tuple(rules)))
        else:
            found += [MatchedName(k, (k,), ()) for k in ours] + [MatchedName(k, (), (k,)) for k in theirs]
    return found


def _by_form(keys: Sequence[Key]) -> Mapping[Key, list[Key]]:
    found: dict[Key, list[Key]] = {}
    for key in keys:
        found.setdefault(tuple(map(stable_name, key)), []).append(key)
    return found


def rule_titles(ids: Iterable[str]) -> list[str]:
    """What people call rules, in their order."""
    wanted = set(ids)
    return [rule.title for rule in RULES if rule.id in wanted]
