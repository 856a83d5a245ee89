"""The tables that a query names, read from its text. What it really reads, DuckDB's plan says (`query.binding`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from warpline.query.macros import EVENT_MACROS
from warpline.query.session import TableInfo

KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP", "BY", "ORDER", "LIMIT", "JOIN", "LEFT", "USING", "ON", "AS",
    "AND", "OR", "NOT", "IN", "LIKE", "ILIKE", "IS", "NULL", "BETWEEN", "CASE", "WHEN", "THEN",
    "ELSE", "END", "HAVING", "DISTINCT", "UNION", "ALL", "WITH", "OVER", "PARTITION", "FILTER", "DESC", "ASC",
    "ASOF", "CROSS", "EXISTS",
)  # fmt: skip
"""Words of SQL that queries about captures use; they are highlighted and completed."""
SKIPPED = re.compile(r"'(?:[^']|'')*+'?|--[^\n]*|/\*.*?\*/", re.DOTALL)
"""Texts and comments."""
_NAMED_TABLE = re.compile(
    r"\b(?:from|join)\s+([\w$.]+(?:\([^()]*\))?)(?:\s+(?:as\s+)?([^\W\d][\w$]*))?", re.IGNORECASE
)
_NEXT_TABLE = re.compile(r"\s*,\s*([\w$.]+(?:\([^()]*\))?)(?:\s+(?:as\s+)?([^\W\d][\w$]*))?", re.IGNORECASE)
_AFTER_NO_ALIAS = frozenset(word.casefold() for word in KEYWORDS)
_EVENT_TABLES = EVENT_MACROS | {"launches"}


def aliases(sql: str) -> dict[str, str]:
    """The tables that a query names, by their aliases and names, in lower case."""
    found: dict[str, str] = {}
    for table, alias in _named(sql):
        found[table.rpartition(".")[2]] = table
        if alias and alias not in _AFTER_NO_ALIAS:
            found[alias] = table
    return found


def reads_events(sql: str, tables: Sequence[TableInfo]) -> bool:
    """Whether a query names a table whose ``id`` is the row of an event."""
    events = {
        table.name.casefold()
        for table in tables
        if {"id", "ts", "dur"} <= {column.name for column in table.columns}
    }
    return not (events | _EVENT_TABLES).isdisjoint(aliases(SKIPPED.sub(" ", sql)).values())


def bare_name(name: str) -> str:
    """A table's name in lower case, a macro's without its parameters."""
    return name.partition("(")[0].casefold()


def _named(sql: str) -> Iterator[tuple[str, str]]:
    for first in _NAMED_TABLE.finditer(sql):
        match: re.Match[str] | None = first
        while match is not None:
            yield bare_name(match[1]), (match[2] or "").casefold()
            match = _NEXT_TABLE.match(sql, match.end())
