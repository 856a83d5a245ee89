"""Rows of a query as a table on the terminal, JSON, CSV, Parquet and Arrow."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from warpline.analysis.framework.fitting import fit_names
from warpline.extras import install_command
from warpline.i18n import tr, tr_n, translated
from warpline.i18n.width import padded, text_width
from warpline.interchange.export.output_files import replacing
from warpline.library.sql_frame import SqlFrame
from warpline.model import ExportError
from warpline.query.examples import EXAMPLES
from warpline.query.session import QueryResult, TableInfo
from warpline.untrusted import listing, one_line, spreadsheet_text

_PIPE_WIDTH = 160
_PART_ROWS = 1 << 14
_GAP = "  "
_SHORTEST = 16


def print_table(result: QueryResult, limit: int | None) -> None:
    """Print rows as a table that fits the terminal, and how many there are."""
    width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    frame = SqlFrame(result)
    shortened: set[str] = set()
    if frame.columns:
        print(listing(_grid(frame, width, shortened)))
    count = len(frame)
    if frame.has_more:
        print("\n" + tr("the first {rows:,} rows; --rows N shows more", rows=limit or 0))
    else:
        print("\n" + tr_n("{count:,} row", "{count:,} rows", count))
    if shortened:
        print(tr("Texts are shortened to fit; --format csv prints all of them."))


def _grid(frame: SqlFrame, width: int, shortened: set[str]) -> Iterator[str]:
    """Lines of the table; the columns whose texts are shortened are added to ``shortened``."""
    cells: dict[str, list[str]] = {}
    for name in frame.columns:
        values = [row[name] for row in frame.rows()] if len(frame.columns) == 1 else None
        column = values if values is not None else _values(frame, name)
        cells[name] = [_cell(value) for value in column]
    is_text = {name: frame.column(name).texts is not None for name in frame.columns}
    widths = {
        name: max(text_width(one_line(name)), *map(text_width, texts), 1) for name, texts in cells.items()
    }
    over = sum(widths.values()) + len(_GAP) * (len(widths) - 1) - width
    for name in sorted((name for name in widths if is_text[name]), key=lambda name: -widths[name]):
        if over <= 0:
            break
        room = max(min(widths[name], max(_SHORTEST, text_width(one_line(name)))), widths[name] - over)
        whole, cells[name] = cells[name], fit_names(cells[name], room)
        if cells[name] != whole:
            shortened.add(name)
        fitted = max(text_width(one_line(name)), *map(text_width, cells[name]), 1)
        over -= widths[name] - fitted
        widths[name] = fitted
    yield _line({name: one_line(name) for name in cells}, widths, is_text)
    yield _line({name: "─" * widths[name] for name in cells}, widths, is_text)
    for row in zip(*cells.values(), strict=True):
        yield _line(dict(zip(cells, row, strict=True)), widths, is_text)


def _values(frame: SqlFrame, name: str) -> list[Any]:
    column = frame.column(name)
    values: list[Any] = column.codes.tolist()
    if column.texts is not None:
        values = [column.texts[code] if column.texts else None for code in values]
    if column.valid is not None:
        values = [
            value if valid else None for value, valid in zip(values, column.valid.tolist(), strict=True)
        ]
    return values


def _line(row: dict[str, str], widths: dict[str, int], is_text: dict[str, bool]) -> str:
    parts = []
    for name, text in row.items():
        blank = " " * max(widths[name] - text_width(text), 0)
        parts.append(padded(text, widths[name]) if is_text[name] else blank + text)
    return _GAP.join(parts).rstrip()


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.6g}" if isinstance(value, float) else one_line(value)


def print_schema(tables: Sequence[TableInfo], form: str) -> None:
    """Print tables with their columns: text, or JSON."""
    if form == "json":
        print(orjson.dumps([asdict(table) for table in tables], option=orjson.OPT_INDENT_2).decode())
        return
    lines = []
    for table in tables:
        rows = "" if table.rows is None else ", " + tr_n("{count:,} row", "{count:,} rows", table.rows)
        lines += ["", f"{table.name}  ({table.about}{rows})"]
        name = max((text_width(column.name) for column in table.columns), default=0)
        kind = max((text_width(column.type) for column in table.columns), default=0)
        lines += [
            f"{_GAP}{padded(column.name, name)}{_GAP}{padded(column.type, kind)}{_GAP}{column.about}".rstrip()
            for column in table.columns
        ]
    print(listing(lines[1:]))


def print_examples() -> None:
    """Print questions and their queries."""
    print("\n\n".join(f"-- {translated(example.title)}\n{example.sql}" for example in EXAMPLES))


def write(result: QueryResult, file: BinaryIO, form: str) -> None:
    """Write rows as JSON (an array of objects, one line each) or CSV."""
    frame = SqlFrame(result)
    file.writelines(_json(frame) if form == "json" else _csv(frame))
    file.flush()


def _json(frame: SqlFrame) -> Iterator[bytes]:
    yield b"["
    separator = b"\n"
    for part in _portions(frame):
        yield separator + b",\n".join(orjson.dumps(row) for row in part)
        separator = b",\n"
    yield b"\n]\n" if len(frame) else b"]\n"


def _csv(frame: SqlFrame) -> Iterator[bytes]:
    yield _csv_lines([[spreadsheet_text(name) for name in frame.columns]])
    for part in _portions(frame):
        yield _csv_lines([[_csv_cell(value) for value in row.values()] for row in part])


def _csv_cell(value: Any) -> Any:
    return "" if value is None else spreadsheet_text(value) if isinstance(value, str) else value


def _csv_lines(rows: list[list[Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _portions(frame: SqlFrame) -> Iterator[list[dict[str, Any]]]:
    for first in range(0, len(frame), _PART_ROWS):
        yield list(islice(frame.rows(first, first + _PART_ROWS), _PART_ROWS))


def write_file(result: QueryResult, out: Path, form: str) -> None:
    """Write rows to a file that appears complete or not at all. Raises ExportError."""
    try:
        with replacing(out) as part:
            if form in {"json", "csv"}:
                with part.open("wb") as file:
                    write(result, file, form)
            else:
                _write_arrow(SqlFrame(result), part, out, form)
    except OSError as error:
        raise ExportError(tr("{path}: {reason}", path=out, reason=error.strerror or error)) from error


def _write_arrow(frame: SqlFrame, part: Path, out: Path, form: str) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise ExportError(
            tr(
                "{out}: needs pyarrow; install it with: {command}",
                out=out,
                command=install_command("parquet"),
            )
        ) from error
    table = frame.to_arrow()
    if form == "parquet":
        pq.write_table(table, part, compression="zstd")
        return
    with pa.OSFile(str(part), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
