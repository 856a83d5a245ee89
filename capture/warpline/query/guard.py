"""What keeps a query inside: settings of DuckDB that cannot be taken back, and the check for a single SELECT.

They keep queries from files, networks, extensions and settings. They do not hold time and memory: `interrupt` waits
for a function to return (``repeat('x', 900000000)`` took 136 s in DuckDB 2.0.1), and ``memory_limit`` does not count
texts. The process is limited for that (`warpline.query.worker`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from warpline.i18n import tr
from warpline.model import UsageError
from warpline.query.dialects import NSYS, PERFETTO
from warpline.query.macros import MACRO_NAMES

if TYPE_CHECKING:
    import duckdb


def connect(memory_bytes: int, threads: int) -> duckdb.DuckDBPyConnection:
    """A database in memory that reaches nothing outside it. Raises ModuleNotFoundError without DuckDB."""
    import duckdb

    connection = duckdb.connect(":memory:")
    for schema in (PERFETTO, NSYS):
        connection.execute(f"CREATE SCHEMA {schema}")
    for setting in (
        f"memory_limit = '{memory_bytes >> 20}MiB'",
        f"threads = {threads}",
        "temp_directory = ''",
        "autoload_known_extensions = false",
        "autoinstall_known_extensions = false",
        "allow_community_extensions = false",
        "python_enable_replacements = false",
        "errors_as_json = true",
        "search_path = 'main,perfetto,nsys'",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    return connection


def single_select(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """The text of the only statement, without what ends it.

    Raises UsageError when it is not one SELECT; duckdb.Error when it does not parse.
    """
    import duckdb

    statements = connection.extract_statements(sql)
    if not statements:
        raise UsageError(tr("the query is empty; try: SELECT name, count(*) FROM events GROUP BY name"))
    if len(statements) > 1:
        raise UsageError(tr("one statement at a time; {count} were given", count=len(statements)))
    kind = statements[0].type
    if kind == duckdb.StatementType.MULTI:
        raise UsageError(tr("PIVOT is not supported; use sum(…) FILTER (WHERE …) for each column"))
    if kind == duckdb.StatementType.EXPLAIN:
        raise UsageError(tr("EXPLAIN shows the database's own tables; only SELECT is supported"))
    if kind != duckdb.StatementType.SELECT:
        raise UsageError(tr("only SELECT is supported: a query reads the capture and changes nothing"))
    if _IS_SHOW.match(sql):
        raise UsageError(tr("to list tables and columns: warpline query --schema FILE"))
    _check_functions(connection, sql)
    return without_end(sql)


TABLE_FUNCTIONS = frozenset(
    (
        "range",
        "generate_series",
        "unnest",
        "repeat",
        "repeat_row",
        "json_each",
        "json_tree",
        "histogram",
        "summary",
    )
)
"""Functions of DuckDB that a query may read from; the others reach for files, settings or the database itself."""


def _check_functions(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse functions that are tables, but for `TABLE_FUNCTIONS` and our own macros.

    The settings keep them from harm today; a new version of DuckDB may bring a function that they do not know.
    """
    rows = connection.execute("SELECT json_serialize_sql($sql)", {"sql": sql}).fetchall()
    try:
        waiting = [msgspec.json.decode(row[0]) for row in rows]
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(tr("the query is nested too deeply")) from error
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if node.get("type") == "TABLE_FUNCTION":
                name = str(node["function"].get("function_name", "")).casefold()
                if name not in TABLE_FUNCTIONS and name not in MACRO_NAMES:
                    raise UsageError(
                        tr("{name}() is not available: a query reads the capture and nothing else", name=name)
                    )
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


_IS_SHOW = re.compile(r"(\s|--[^\n]*\n)*(show|describe|desc|summarize)\b", re.IGNORECASE)
_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|;|\s+|[^'\";\s]",
    re.DOTALL,
)


def without_end(sql: str) -> str:
    """A statement without the semicolon after it; comments stay."""
    end = None
    for match in _TOKEN.finditer(sql):
        token = match[0]
        if token == ";":
            end = match.start() if end is None else end
        elif not token.isspace() and not token.startswith(("--", "/*")):
            end = None
    return sql if end is None else sql[:end]


_WORD = re.compile(r'"(?:[^"]|"")+"|[^\W\d][\w$]*')


def words_of(sql: str) -> set[str]:
    """Every word of a query that may name something, in lower case; also those in texts and comments."""
    found = set()
    for word in _WORD.findall(sql):
        inner = word[1:-1].replace('""', '"') if word[0] == '"' else word
        found.add(inner.casefold())
        if word[0] == '"':
            found.update(part.casefold() for part in re.findall(r"[^\W\d][\w$]*", inner))
    return found
