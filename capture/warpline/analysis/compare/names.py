"""Matches names of two captures: exactly, then ignoring what changes between builds and runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from warpline.i18n import english

Key = tuple[str, ...]
"""The texts of a row's key columns."""


@dataclass(frozen=True)
class NameRule:
    """A part of a name to ignore when the other side has no equal name; ``title`` is for people."""

    id: str
    title: str
    apply: Callable[[str], str]


def _pattern(expression: str, replacement: str) -> Callable[[str], str]:
    compiled = re.compile(expression)
    return lambda text: compiled.sub(replacement, text)


def _without_template_arguments(text: str) -> str:
    """``f<a<b>, c>(int)`` as ``f<…>(int)``; unpaired angle brackets (``operator<``, ``->``) stay."""
    parts: list[str] = []
    depth, start = 0, 0
    for index, sign in enumerate(text):
        if sign == "<" and (depth or (index and (text[index - 1].isalnum() or text[index - 1] in "_>}"))):
            if not depth:
                parts.append(text[start:index])
                start = index
            depth += 1
        elif sign == ">" and depth and text[index - 1] != "-":
            depth -= 1
            if not depth:
                parts.append("<…>")
                start = index + 1
    return "".join(parts) + text[start:]


_LINE = re.compile(r"(?<=[^\s():]):(\d+)\)$")
"""The line in ``load (dataset.py:41)``, as functions are called."""

RULES: tuple[NameRule, ...] = (
    NameRule("line", english("line numbers"), lambda text: _LINE.sub(")", text)),
    NameRule(
        "folder", english("folders of source files"), _pattern(r" \([^()]*/([^/()]+\.\w+)\)$", r" (…/\1)")
    ),
    NameRule("file", english("names of source files"), _pattern(r"(?<=\S) \(…/[^/()]+\.\w+\)$", " (…)")),
    NameRule("number", english("thread and process ids"), _pattern(r" \(\d+\)$", "")),
    NameRule("address", english("addresses"), _pattern(r"0x[0-9a-fA-F]{5,}", "0x…")),
    NameRule("template", english("template arguments"), _without_template_arguments),
    NameRule(
        "compiler",
        english("compiler suffixes"),
        _pattern(r"\.(constprop|isra|part|cold|llvm)(\.\d+)*", ""),
    ),
    NameRule(
        "hash", english("hashes"), _pattern(r"(?<![0-9a-zA-Z])(?=[a-f]*\d)[0-9a-f]{12,}(?![0-9a-zA-Z])", "…")
    ),
    NameRule("tile", english("tile sizes"), _pattern(r"(?<![0-9])\d+(x\d+)+(?![0-9])", "…x…")),
    NameRule(
        "stages",
        english("stages, splits and warps of tuned kernels"),
        _pattern(r"(?<=_)(stages?|splitK?|ldg|stg|warps?|align)_?\d+(?=_|$)", r"\1…"),
    ),
    NameRule(
        "autotuned",
        english("autotuning and code-generation suffixes"),
        _pattern(r"(?<=[a-z])(_\d[0-9dec]*)+$", "_…"),
    ),
    NameRule("step", english("step numbers"), _pattern(r"(?<=\w#)\d+$", "…")),
)
"""Applied in this order, each to the result of the previous one."""


@lru_cache(1 << 16)
def stable_name(text: str) -> str:
    """A name without the parts that change between builds and runs."""
    for rule in RULES:
        text = rule.apply(text)
    return text


def rules_between(a: str, b: str) -> tuple[str, ...]:
    """The ids of the rules that change either name on the way to being equal."""
    used = []
    for rule in RULES:
        changed = rule.apply(a), rule.apply(b)
        if changed != (a, b):
            used.append(rule.id)
        a, b = changed
    return tuple(used)


@dataclass(frozen=True)
class MatchedName:
    """A line with its keys in A and B (none: new or gone), and the rules that matched them."""

    key: Key
    a: tuple[Key, ...]
    b: tuple[Key, ...]
    rules: tuple[str, ...] = ()


def match_names(a: Iterable[Key], b: Iterable[Key], *, is_exact: bool = False) -> list[MatchedName]:
    """Every key of both sides once: moved functions, equal keys, then those equal by `RULES` (not if ``is_exact``).

    All names that the rules make equal share one line, so a kernel that became two is one line. Swapping the sides
    swaps ``a`` and ``b`` and changes nothing else.
    """
    in_a, in_b = dict.fromkeys(a), dict.fromkeys(b)
    moved = [] if is_exact else _moved(in_a, in_b)
    for match in moved:
        for own, keys in ((in_a, match.a), (in_b, match.b)):
            for key in keys:
                del own[key]
    matches = moved + [MatchedName(key, (key,), (key,)) for key in in_a if key in in_b]
    only_a = [key for key in in_a if key not in in_b]
    only_b = [key for key in in_b if key not in in_a]
    if is_exact:
        return (
            matches + [MatchedName(k, (k,), ()) for k in only_a] + [MatchedName(k, (), (k,)) for k in only_b]
        )
    forms_a, forms_b = _by_form(only_a), _by_form(only_b)
    for form in dict.fromkeys([*forms_a, *forms_b]):
        keys_a, keys_b = forms_a.get(form, []), forms_b.get(form, [])
        if keys_a and keys_b:
            rules = dict.fromkeys(
                rule for parts in zip(keys_a[0], keys_b[0], strict=True) for rule in rules_between(*parts)
            )
            matches.append(MatchedName(form, tuple(sorted(keys_a)), tuple(sorted(keys_b)), tuple(rules)))
        else:
            matches += [MatchedName(k, (k,), ()) for k in keys_a] + [MatchedName(k, (), (k,)) for k in keys_b]
    return matches


def _moved(a: Iterable[Key], b: Iterable[Key]) -> list[MatchedName]:
    """The functions of which each side has lines that the other lacks, each with all its lines.

    All, because a line number that both sides have may be a different statement on each.
    """
    lines_a, lines_b = _by_function(a), _by_function(b)
    return [
        MatchedName(function, tuple(sorted(keys)), tuple(sorted(lines_b[function])), ("line",))
        for function, keys in lines_a.items()
        if function in lines_b and keys - lines_b[function] and lines_b[function] - keys
    ]


def _by_function(keys: Iterable[Key]) -> dict[Key, set[Key]]:
    """Keys with a line, by what they are without it."""
    functions: dict[Key, set[Key]] = {}
    for key in keys:
        function = tuple(_LINE.sub(")", text) for text in key)
        if function != key:
            functions.setdefault(function, set()).add(key)
    return functions


def lines_of(keys: Iterable[Key]) -> list[int]:
    """The distinct lines in names of functions, ascending."""
    return sorted({int(found[1]) for key in keys for text in key if (found := _LINE.search(text))})


def _by_form(keys: Sequence[Key]) -> Mapping[Key, list[Key]]:
    forms: dict[Key, list[Key]] = {}
    for key in keys:
        forms.setdefault(tuple(map(stable_name, key)), []).append(key)
    return forms


def rule_titles(ids: Iterable[str]) -> list[str]:
    """The titles of rules, in their order."""
    wanted = set(ids)
    return [rule.title for rule in RULES if rule.id in wanted]
