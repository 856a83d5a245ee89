"""Recognizes kinds of work of native code: by the library function it calls, and by its loops and subscripts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from warpline.analysis.findings.finding import Severity
from warpline.analysis.findings.work.kind import WorkKind
from warpline.i18n import english

NATIVE_FRAME = re.compile(r"^(?P<function>.*) \[(?P<file>[^\]]+)\]$")
NATIVE_FILE = re.compile(r"\.(c|cc|cpp|cxx|h|hh|hpp|hxx|inl|cu|cuh|rs|f90|f|go|zig|d|m|mm)$", re.IGNORECASE)
_LOOP = re.compile(r"\bfor\s*\(")
_STEPPED = re.compile(r";[^;]*?(?:\+\+\s*(\w+)|(\w+)\s*(?:\+\+|\+=))[^;]*\)")
_FUNCTION_START = re.compile(r"^\w[^;]*\)\s*\{?\s*$")
_MOST_LINES = 80
"""How far above a line its loops are searched for."""


def _calls(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(^|:)(__|_IO_|_)?({pattern})")


_KINDS = (
    WorkKind(
        key="allocated",
        doing=english("allocating and freeing memory"),
        frames=_calls(
            r"(libc_)?(malloc|calloc|realloc|free|munmap|mmap|brk|cfree)\b|int_(malloc|free)|operator (new|delete)"
            r"|malloc_consolidate|sysmalloc|systrim|unlink_chunk"
        ),
        remedy=english(
            "Allocate once and reuse the memory, or use a pool; reserve the final size before growing."
        ),
        refutation=english("Refuted if the program is as slow with another allocator and reused buffers."),
        worst=Severity.WARNING,
    ),
    WorkKind(
        key="text_scanned",
        doing=english("measuring, comparing or joining texts (strlen, strcmp, strcat)"),
        frames=_calls(r"(str(n?len|n?cmp|n?casecmp|n?cat|n?cpy|chr|rchr|str|spn|cspn|tok)|wcslen)(_|\b)"),
        remedy=english(
            "Keep the length or the end of the text instead of searching for it again. Look texts up in a hash table "
            "instead of comparing one after another."
        ),
        refutation=english("Refuted if the texts are short."),
        worst=Severity.WARNING,
    ),
    WorkKind(
        key="memory_copied",
        doing=english("copying or clearing memory"),
        frames=_calls(r"mem(cpy|move|set|pcpy)(_|\b)|bzero"),
        remedy=english("Pass pointers or views instead of copies, and clear only what is used."),
        refutation=english("Refuted if every copied byte is used."),
        worst=Severity.NOTE,
    ),
    WorkKind(
        key="formatted",
        doing=english("formatting or parsing text (printf, scanf, streams)"),
        frames=_calls(
            r"(v?s?n?f?d?printf|v?f?s?scanf|printf_fp|vfprintf_internal|strto(d|l|ul|ll|f)|ato(i|f|l)|fputs?|puts|fflush)"
            r"|std::(ostream|istream|basic_ostream|basic_istream|endl|flush)"
        ),
        remedy=english(
            "Format less often and into a large buffer, do not flush per line (std::endl), or write binary."
        ),
        refutation=english("Refuted if the program is as slow with its output sent to /dev/null."),
        worst=Severity.NOTE,
    ),
    WorkKind(
        key="mathematical",
        doing=english("mathematical functions (pow, exp, log, sin)"),
        frames=_calls(r"(ieee754_)?(pow|exp|log|sin|cos|tan|atan|sqrt|fmod|cbrt|hypot)\d*f?(_|\b)"),
        remedy=english(
            "Multiply instead of calling pow, move what does not change out of the loop, or use a table."
        ),
        refutation=english("Refuted if every call has a new argument."),
        worst=Severity.NOTE,
    ),
    WorkKind(
        key="locked",
        doing=english("taking and releasing locks for small pieces of work"),
        frames=_calls(
            r"(pthread_)?(mutex_(un)?lock|spin_(un)?lock|rwlock_\w+)|lll_lock|sched_yield|pthread_yield"
        ),
        remedy=english(
            "Lock once for many items, or give each thread its own data and join the results at the end."
        ),
        refutation=english("Refuted if the program is as slow with one thread and no lock."),
        worst=Severity.WARNING,
    ),
    WorkKind(
        key="sorted_natively",
        doing=english("sorting"),
        frames=_calls(
            r"(qsort(_r)?|msort_with_tmp|quicksort)\b|std::__(introsort|insertion_sort|adjust_heap)"
        ),
        remedy=english(
            "Sort once, or keep order with a heap or a tree; use std::sort or an inlined comparison."
        ),
        refutation=english("Refuted if the data changes between sorts."),
        worst=Severity.NOTE,
    ),
    WorkKind(
        key="trees_searched",
        doing=english("searching trees or regular expressions of the standard library"),
        frames=_calls(r"std::(_Rb_tree|map|set|__detail::_(Executor|Compiler|NFA|Scanner))"),
        remedy=english("Use a hash table or a sorted array, and construct regular expressions once."),
        refutation=english("Refuted if the container has only a few items."),
        worst=Severity.NOTE,
    ),
)
STRIDES = WorkKind(
    key="strides",
    doing=english(
        "reading memory in large strides: the inner loop steps over rows, so each access misses the cache"
    ),
    remedy=english(
        "Swap the loops, so that the inner one goes through memory in order, or work in small blocks."
    ),
    refutation=english("Refuted if the rows fit into the cache together."),
)


def native_kind(callees: Sequence[str], lines: Sequence[str], number: int) -> WorkKind | None:
    """The kind of a line of native code: by functions it calls (``library:function``), else by its source."""
    for kind in _KINDS:
        if kind.frames is not None and any(kind.frames.search(callee) for callee in callees):
            return kind
    return STRIDES if 0 < number <= len(lines) and strides(lines, number) else None


def strides(lines: Sequence[str], number: int) -> bool:
    """Whether a line of C or C++ indexes rows with the variable of the innermost loop: ``a[y * WIDTH + x]`` in a loop
    over ``y`` inside one over ``x``, or ``a[y][x]``.
    """
    variables = _loop_variables(lines, number)
    if len(variables) < 2:
        return False
    inner, outer = variables[0], variables[1]
    text = lines[number - 1]
    for inside in re.findall(r"\[([^\[\]]*(?:\[[^\]]*\][^\[\]]*)*)\]", text):
        steps_rows = re.search(rf"\b{inner}\b\)?\s*\*\s*[\w(]|[\w)]\s*\*\s*\(?(\w+\))?\b{inner}\b", inside)
        in_order = re.search(rf"(^|[+\s(])\b{outer}\b\s*($|[+\-)\]])", inside)
        if steps_rows and in_order:
            return True
    return bool(re.search(rf"\[\s*{inner}\s*\]\s*\[\s*{outer}\s*\]", text))


def _loop_variables(lines: Sequence[str], number: int) -> list[str]:
    """The variables of the ``for`` loops around a line, innermost first, judged by indentation."""
    variables: list[str] = []
    depth = _indent(lines[number - 1]) + (1 if _LOOP.search(lines[number - 1]) else 0)
    for text in reversed(lines[max(number - _MOST_LINES, 0) : number]):
        if not text.strip():
            continue
        if _FUNCTION_START.match(text) and _indent(text) == 0 and not _LOOP.search(text):
            break
        if _LOOP.search(text) and _indent(text) < depth:
            step = _STEPPED.search(text)
            if step is not None:
                variables.append(step[1] or step[2])
            depth = _indent(text)
    return variables


def _indent(text: str) -> int:
    expanded = text.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())
