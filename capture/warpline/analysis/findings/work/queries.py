"""Recognizes database queries, and those that compare columns for which the program makes no index."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from warpline.analysis.findings.work.source_lines import SourceLine, dotted

_QUERIES = re.compile(r"\.(execute|executemany|fetchone|fetchall|fetchmany)$")
_TABLE = re.compile(
    r"^\s*(?:select\b.*?\bfrom|delete\s+from|update)\s+[\"`\[]?(\w+)", re.IGNORECASE | re.DOTALL
)
_INSERT = re.compile(r"\s*(?:insert|replace)\b", re.IGNORECASE)
_WHERE = re.compile(r"\bwhere\b(.*?)(?:\border\s+by\b|\bgroup\s+by\b|\blimit\b|$)", re.IGNORECASE | re.DOTALL)
_COMPARED = re.compile(r"[\"`\[]?(\w+)[\"`\]]?\s*(?:=|<|>|\bin\b|\bbetween\b)", re.IGNORECASE)
_CREATED = re.compile(
    r"\bcreate\s+(?:temp(?:orary)?\s+)?table\s+(?:if\s+not\s+exists\s+)?[\"`\[]?(\w+)[\"`\]]?\s*\(([^;]*)",
    re.IGNORECASE,
)
_INDEX = re.compile(
    r"\bcreate\s+(?:unique\s+)?index\s+[^;]*?\bon\s+[\"`\[]?(\w+)[\"`\]]?\s*\(\s*[\"`\[]?(\w+)", re.IGNORECASE
)
_KEY_OF_COLUMN = re.compile(
    r"(?:^|,)\s*[\"`\[]?(\w+)[\"`\]]?\s[^,]*?\b(?:primary\s+key|unique)\b", re.IGNORECASE
)
_KEY_OF_TABLE = re.compile(r"\b(?:primary\s+key|unique)\s*\(\s*[\"`\[]?(\w+)", re.IGNORECASE)
_ROW_IDS = {"rowid", "oid", "_rowid_"}


def queries(line: SourceLine) -> bool:
    """A call of a database cursor."""
    return any(_QUERIES.search(name) for name, _ in line.calls)


def inserts_batches(line: SourceLine) -> bool:
    """A call of a cursor that inserts many rows at once; the statement is written in the line or assigned to a name."""
    return any(
        name.endswith(".executemany")
        and bool(call.args)
        and any(_INSERT.match(text) for text in _texts(line, call.args[0]))
        for name, call in line.calls
    )


def scans_a_table(line: SourceLine) -> bool:
    """A query, written in the line, that compares columns of a table for none of which the file that creates the table
    makes an index or a key: the database reads every row.
    """
    for name, call in line.calls:
        if not _QUERIES.search(name) or not call.args or (not line.is_repeated and line.function is None):
            continue
        for query in _texts(line, call.args[0]):
            table, where = _TABLE.search(query), _WHERE.search(query)
            if table is None or where is None:
                continue
            compared = {column.lower() for column in _COMPARED.findall(where[1])}
            indexed = _indexed(line.source.tree, table[1].lower())
            if compared and indexed is not None and not compared & (indexed | _ROW_IDS):
                return True
    return False


def _texts(line: SourceLine, value: ast.expr) -> Iterator[str]:
    """The text of an expression, or those assigned to a name."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, (ast.Name, ast.Attribute)) and dotted(value):
        for assigned in line.assigned(value):
            if isinstance(assigned, ast.Constant) and isinstance(assigned.value, str):
                yield assigned.value


def _indexed(tree: ast.AST, table: str) -> set[str] | None:
    """The columns that lead an index or key of a table; None when the file does not create the table."""
    known = None
    columns: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        for name, body in _CREATED.findall(node.value):
            if name.lower() == table:
                known = columns
                columns |= {column.lower() for column in _KEY_OF_COLUMN.findall(body)}
                columns |= {column.lower() for column in _KEY_OF_TABLE.findall(body)}
        columns |= {column.lower() for owner, column in _INDEX.findall(node.value) if owner.lower() == table}
    return known
