"""Runs a query: makes the columns that its plan reads, and no others.

A capture has a hundred columns; a query reads a few. Every table is registered with placeholders, and the plan says
which columns the query reads. Those are made, and the plan is checked again, so that no placeholder is read as data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from warpline.model import WarplineError
from warpline.query import job_views
from warpline.query.catalog import Catalog
from warpline.query.definitions import Definition, TableView, quoted
from warpline.query.guard import single_select, words_of
from warpline.query.raw_tables import RawTable
from warpline.query.rewriting import Rewritten, rewritten
from warpline.query.wire import Parameters, ResultColumn

if TYPE_CHECKING:
    import duckdb

_LOOKS = 6
"""Plans that are looked at until one reads only what is there. Two are enough, unless new columns change a plan."""
_SIMPLE = frozenset(
    ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
     "FLOAT", "DOUBLE", "VARCHAR")
)  # fmt: skip


class Binder:
    """Answers queries over the captures of some catalogs, the first of which needs no schema in its names."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, catalogs: Sequence[Catalog]) -> None:
        self._connection = connection
        self.catalogs = catalogs
        self._made: dict[tuple[str, str], frozenset[str]] = {}
        self._tables: dict[str, RawTable] = {}
        self.asked = Rewritten("")
        """The query that runs."""
        self.offset = 0
        """Bytes before the query in what DuckDB was given last: its errors count from there."""
        for schema in (*(catalog.schema for catalog in catalogs), job_views.SCHEMA):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")

    def run(
        self, sql: str, parameters: Parameters = None, limit: int | None = None
    ) -> tuple[list[ResultColumn], bool]:
        """Columns of the result, and whether there are more rows than ``limit``.

        Raises UsageError when it is not one SELECT, duckdb.Error for what is wrong with it.
        """
        self.offset = 0
        self.asked = rewritten(sql)
        sql = self.asked.sql
        statement = single_select(self._connection, sql)
        self._provide(words_of(sql))
        types = self._rows("DESCRIBE ", statement, parameters)
        names = [str(row[0]) for row in types]
        casts = [_as_simple(f"c{place}", str(row[1])) for place, row in enumerate(types)]
        aliases = ", ".join(f"c{place}" for place in range(len(names)))
        most = "" if limit is None else f"\nLIMIT {limit + 1}"
        head = f"SELECT {', '.join(casts)} FROM (\n"
        tail = f"{statement}\n) AS q({aliases}){most}"
        self._bind(head, tail, parameters)
        self.offset = len(head.encode())
        found = self._connection.execute(head + tail, parameters).fetchnumpy()
        columns = [
            ResultColumn.of(name, str(row[1]), values)
            for name, row, values in zip(names, types, found.values(), strict=True)
        ]
        has_more = limit is not None and bool(columns) and len(columns[0]) > limit
        return ([column.first(limit) for column in columns] if has_more else columns), has_more

    def tables(self) -> list[dict[str, Any]]:
        """What a query can name in the first capture, with columns."""
        catalog = self.catalogs[0]
        found: list[dict[str, Any]] = []
        for view in catalog.views().values():
            columns = [(column.name, column.type, column.about) for column in view.columns]
            found.append(
                {"name": view.name, "about": view.about, "rows": view.source.length, "columns": columns}
            )
        for definition in catalog.definitions.values():
            if definition.call:
                found.append(
                    {"name": definition.call, "about": definition.about, "rows": None, "columns": []}
                )
                continue
            about = {column.name: column.about for column in definition.columns}
            self._provide_name(catalog, definition.name.casefold())
            place = f"{quoted(definition.schema or catalog.schema)}.{quoted(definition.name)}"
            rows = self._rows("DESCRIBE ", place, None)
            columns = [(str(row[0]), str(row[1]), about.get(str(row[0]), "")) for row in rows]
            name = f"{definition.schema}.{definition.name}" if definition.schema else definition.name
            found.append({"name": name, "about": definition.about, "rows": None, "columns": columns})
        return found

    # Views in use

    def _provide(self, words: set[str]) -> None:
        """Make everything that a query may name, with all texts."""
        for index, catalog in enumerate(self.catalogs):
            if index == 0 or catalog.schema in words:
                for name in words:
                    self._provide_name(catalog, name)
        if job_views.SCHEMA in words and len(self.catalogs) > 1:
            self._provide_job(words)

    def _provide_job(self, words: set[str]) -> None:
        """Make the tables of all captures together that a query may name."""
        # The first catalog is the first capture once more, without a schema.
        captures = self.catalogs[1:]
        for name in words:
            having = [catalog for catalog in captures if catalog.has_table(name)]
            for catalog in having:
                self._provide_name(catalog, name)
            key = (job_views.SCHEMA, name)
            if having and key not in self._made:
                self._connection.execute(job_views.sql(name, having, captures))
                self._made[key] = frozenset()

    def _provide_name(self, catalog: Catalog, name: str) -> None:
        if catalog.has_view(name):
            self._make_view(catalog, catalog.view(name), frozenset())
        elif name in catalog.definitions:
            definition = catalog.definitions[name]
            for used in definition.uses:
                self._provide_name(catalog, used)
            self._define(catalog, definition)

    def _define(self, catalog: Catalog, definition: Definition) -> None:
        key = (definition.schema or catalog.schema, definition.name)
        if key not in self._made:
            self._connection.execute(definition.sql.replace("{s}", quoted(catalog.schema)))
            self._made[key] = frozenset()

    def _make_view(self, catalog: Catalog, view: TableView, without: frozenset[str]) -> None:
        key = (catalog.schema, view.name)
        if self._made.get(key) == without:
            return
        for table in view.tables:
            self._tables[table.key] = table
            if table.registered is None:
                self._register(table, frozenset())
        self._connection.execute(view.sql(catalog.schema, without))
        self._made[key] = without

    def _register(self, table: RawTable, needed: frozenset[str]) -> None:
        self._connection.register(table.key, table.arrays(needed))
        table.registered = frozenset(table.made)

    # Plans

    def _bind(self, head: str, sql: str, parameters: Parameters) -> None:
        for _ in range(_LOOKS):
            scanned = self._scanned(head, sql, parameters)
            missing = {
                key: needed
                for key, needed in scanned.items()
                if not needed <= (self._tables[key].registered or frozenset())
            }
            if not missing:
                return
            self._leave_out_texts(scanned)
            for key, needed in missing.items():
                self._register(self._tables[key], needed)
        raise WarplineError("the plan of the query does not settle")

    def _scanned(self, head: str, sql: str, parameters: Parameters) -> dict[str, frozenset[str]]:
        """The columns that a query reads, by the keys of their tables."""
        found: dict[str, set[str]] = {}
        for row in self._rows(f"EXPLAIN (FORMAT json) {head}", sql, parameters):
            for scan in _scans(json.loads(row[1])):
                if "Projections" not in scan:
                    raise WarplineError(f"a scan of the query does not say what it reads: {scan}")
                projections = scan["Projections"]
                for name in [projections] if isinstance(projections, str) else projections:
                    if not name:  # rows are counted, and none of their columns is read
                        continue
                    found.setdefault(name.split("_")[0], set()).add(name)
        return {key: self._tables[key].columns_of(names) for key, names in found.items()}

    def _leave_out_texts(self, scanned: Mapping[str, frozenset[str]]) -> None:
        """Make the views in use again without joins to texts that nobody reads."""
        for catalog in self.catalogs:
            for (schema, name), without in list(self._made.items()):
                if schema != catalog.schema or not catalog.has_view(name.casefold()):
                    continue
                view = catalog.view(name.casefold())
                unread = frozenset(
                    join.table.key
                    for join in view.joins
                    if "text" not in scanned.get(join.table.key, frozenset())
                )
                if view.source.key in scanned and unread != without:
                    self._make_view(catalog, view, unread)

    def _rows(self, head: str, sql: str, parameters: Parameters) -> list[tuple[Any, ...]]:
        self.offset = len(head.encode())
        return self._connection.execute(head + sql, parameters).fetchall()


def _scans(plan: Any) -> Iterator[Mapping[str, Any]]:
    """Facts of each scan of a registered table in a plan."""
    waiting = list(plan)
    while waiting:
        node = waiting.pop()
        waiting += node.get("children", ())
        if node.get("name", "").strip() == "PANDAS_SCAN":
            yield node["extra_info"]


def _as_simple(name: str, kind: str) -> str:
    """A column of a result as a number, a truth value or a text."""
    if kind in _SIMPLE:
        return name
    if kind in {"HUGEINT", "UHUGEINT"}:  # sums; as floats they would lose nanoseconds
        return f"CAST({name} AS BIGINT) AS {name}"
    if kind.startswith("DECIMAL"):
        return f"CAST({name} AS DOUBLE) AS {name}"
    return f"CAST({name} AS VARCHAR) AS {name}"
