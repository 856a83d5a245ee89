"""Views: what SQL calls the tables and columns of a capture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpline.query.raw_tables import RawTable

REPORT = "report_"
"""How tables of reports begin: ``report_`` and the name that ``warpline stats`` has for it."""


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class TextJoin:
    """The texts of a column of ids: a table with ``id`` and ``text`` that is used here and nowhere else."""

    table: RawTable
    source: str
    """The column of ids in the view's own table, as SQL calls it."""
    is_complete: bool
    """Whether every row has a text: an inner join is faster, and wrong where ids are missing."""

    @property
    def sql(self) -> str:
        kind = "" if self.is_complete else "LEFT "
        return f"{kind}JOIN {self.table.key} ON {self.table.sql('id')} = {self.source}"


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view: an expression over raw columns, or a text by its id."""

    name: str
    type: str
    about: str
    sql: str = ""
    text: TextJoin | None = None


@dataclass(frozen=True)
class TableView:
    """A view over one raw table and the texts of its columns."""

    name: str
    about: str
    source: RawTable
    columns: tuple[ViewColumn, ...]

    @property
    def joins(self) -> list[TextJoin]:
        """Joins to texts."""
        return [column.text for column in self.columns if column.text is not None]

    @property
    def tables(self) -> list[RawTable]:
        """Every raw table it reads."""
        return [self.source, *(join.table for join in self.joins)]

    def sql(self, schema: str, without: frozenset[str] = frozenset()) -> str:
        """The statement that makes the view; texts of the tables in ``without`` are left out.

        DuckDB keeps a join that nobody reads.
        """
        items, joins = [], []
        for column in self.columns:
            expression = column.sql
            if column.text is not None:
                is_left_out = column.text.table.key in without
                expression = "NULL::VARCHAR" if is_left_out else column.text.table.sql("text")
                joins += [] if is_left_out else [column.text.sql]
            items.append(f"{expression} AS {quoted(column.name)}")
        place = f"{quoted(schema)}.{quoted(self.name)}"
        return f"CREATE OR REPLACE VIEW {place} AS SELECT {', '.join(items)} FROM {self.source.key} {' '.join(joins)}"


@dataclass(frozen=True)
class Definition:
    """A view or macro that is written in SQL over other views; ``{s}`` in ``sql`` is the schema of the capture."""

    name: str
    about: str
    sql: str
    uses: tuple[str, ...]
    columns: tuple[ViewColumn, ...] = ()
    schema: str = ""
    """``perfetto`` or ``nsys``; empty for those that stand beside the capture's own views."""
    call: str = ""
    """How a macro is called; empty for views."""


def plain(name: str, type_: str, about: str, table: RawTable) -> ViewColumn:
    """A column that is a raw column of the same name."""
    return ViewColumn(name, type_, about, table.sql(name))


def enumeration(sql: str, names: Sequence[tuple[int, str]]) -> str:
    """Codes as their names; a code without a name as digits, a missing one as NULL."""
    cases = " ".join(f"WHEN {code} THEN {literal(name)}" for code, name in names)
    return f"CASE {sql} {cases} ELSE {sql}::VARCHAR END" if names else f"{sql}::VARCHAR"
