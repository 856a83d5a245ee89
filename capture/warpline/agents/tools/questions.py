"""Tools for questions in SQL."""

from __future__ import annotations

import math
import re
from difflib import get_close_matches
from typing import Any

from warpline.agents.session import ToolCall
from warpline.agents.texts import NAME_WIDTH, joined, number, table
from warpline.agents.tool import CAPTURE, Tool, ToolArgument
from warpline.analysis.framework.fitting import fit_names
from warpline.model.errors import UsageError

_SECONDS = 20
_IS_LISTING = re.compile(r"\s*(show|describe|desc|summarize)\b", re.IGNORECASE)


def _schema(call: ToolCall, given: dict[str, Any]) -> str:
    session = call.queries(given["capture"])
    tables = session.schema()
    if given["table"] is None:
        lines = ["times are ns since the start of the capture; name a table for its columns"]
        return joined([*lines, *(f"{found.name}\t{found.about}" for found in tables)])
    found = next((found for found in tables if found.name == given["table"]), None)
    if found is None:
        known = [one.name for one in tables]
        near = get_close_matches(given["table"], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
        raise UsageError(f"no table {given['table'][:80]!r}; {hint}")
    return joined([f"{found.name}: {found.about}", *(f"{c.name} {c.type}\t{c.about}" for c in found.columns)])


def _query(call: ToolCall, given: dict[str, Any]) -> str:
    from warpline.query.watched_run import run_query

    if _IS_LISTING.match(given["sql"]):
        raise UsageError("the tool schema lists tables and columns; query answers one SELECT")
    session = call.queries(given["capture"])
    result = run_query(session, given["sql"], given["rows"], call.cancelled.is_set, _SECONDS)
    columns, is_shortened = [], False
    for column in result.columns:
        cells = [_cell(value) for value in column.python_values()]
        shown = fit_names(cells, NAME_WIDTH)
        is_shortened |= shown != cells
        columns.append([column.name, *shown])
    lines = table(columns)
    if is_shortened:
        lines.append("long names are shown shortened: filter by name_id or LIKE")
    if result.has_more:
        lines.append(f"first {len(result)} rows; there are more: rows=…, or add up in SQL")
    return joined(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return number(value) if math.isfinite(value) else str(value)
    return str(value).replace("\t", " ").replace("\n", " ")


TOOLS = (
    Tool(
        name="schema",
        description="Tables for query; with table its columns.",
        run=_schema,
        arguments={"capture": CAPTURE, "table": ToolArgument("string")},
    ),
    Tool(
        name="query",
        description="One SELECT (DuckDB) over the tables of schema: SELECT name, sum(dur) FROM kernel GROUP BY 1.",
        run=_query,
        arguments={
            "capture": CAPTURE,
            "sql": ToolArgument("string"),
            "rows": ToolArgument("integer", default=20, least=1, most=500),
        },
        required=("sql",),
    ),
)
