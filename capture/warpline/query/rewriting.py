"""What DuckDB reads differently in queries written for SQLite, as Perfetto's and Nsight's are."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|(?P<division>(?<!/)/(?=\s*0[xX]))"
    r"|(?P<hexadecimal>\b0[xX][0-9a-fA-F]{1,9}\b)|[^\W\d][\w$]*|\d[\w.]*|\s+|.",
    re.DOTALL,
)
_INCLUDE = re.compile(r"((?:\s|--[^\n]*\n)*)(INCLUDE\s+PERFETTO\s+MODULE\s+[\w.*]+\s*;)", re.IGNORECASE)
_BEFORE_A_VALUE = frozenset(
    ("select", "distinct", "all", "where", "and", "or", "not", "on", "by", "having", "when", "then", "else", "case",
     "in", "like", "ilike", "glob", "between", "is", "as", "using", "over", "limit", "offset", "filter", "from",
     "join", "union", "except", "intersect")
)  # fmt: skip
"""Words after which a value, a name or a query comes: there ``end`` is a column, elsewhere it ends a CASE."""


@dataclass(frozen=True)
class Rewritten:
    """A query as DuckDB gets it; ``inserted`` are the places in it of characters that the user did not write."""

    sql: str
    inserted: tuple[int, ...] = ()

    def place(self, position: int) -> tuple[int, int] | None:
        """Line and column, from 1, in the query that the user wrote, of a byte in this one; None for no such byte."""
        before = self.sql.encode("utf-8", "replace")[: max(position, 0)].decode("utf-8", "ignore")
        if position < 0 or len(before) > len(self.sql):
            return None
        line = before.rfind("\n") + 1
        own = len(before) - line - sum(line <= place < len(before) for place in self.inserted)
        return before.count("\n") + 1, own + 1


def rewritten(sql: str) -> Rewritten:
    """A query with ``end`` quoted where it is a column, whole division by numbers like ``0x1000000``, these as decimal
    ones, and without Perfetto's modules, of which there are none.
    """
    while match := _INCLUDE.match(sql):
        blank = re.sub(r"\S", " ", match[2])
        sql = match[1] + blank + sql[match.end() :]
    parts: list[str] = []
    inserted: list[int] = []
    length, before = 0, ""
    for match in _TOKEN.finditer(sql):
        token = new = match[0]
        if token.casefold() == "end" and not _is_value(before):
            new = f'"{token}"'
            inserted += (length, length + len(new) - 1)
        elif match["division"]:
            new = "//"
            inserted.append(length)
        elif match["hexadecimal"]:
            new = str(int(token, 16)).ljust(len(token))  # never longer, with so few digits
        parts.append(new)
        length += len(new)
        if not (token.isspace() or token.startswith(("--", "/*"))):
            before = token
    return Rewritten("".join(parts), tuple(inserted))


def _is_value(token: str) -> bool:
    """Whether a value can end with a token."""
    if token[-1:] in {")", "]", "}", "?", "'", '"'}:
        return True
    return (token[:1].isidentifier() and token.casefold() not in _BEFORE_A_VALUE) or token[:1].isdigit()
