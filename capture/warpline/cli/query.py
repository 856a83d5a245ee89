"""``warpline query``: questions to captures in SQL."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from warpline.cli.arguments import time_ns
from warpline.cli.limits import size_bytes
from warpline.cli.progress import ProgressLine
from warpline.i18n import english, tr
from warpline.model.errors import UsageError

_TABLE_ROWS = 100
_SUFFIXES = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}


class QueryCommand:
    """The rows of a query, as a table, JSON, CSV, Parquet or Arrow."""

    name = "query"
    help = english("ask a capture anything in SQL")
    mixes_options = True

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.usage = tr('warpline query FILE… "SELECT …" [option …]')
        parser.add_argument(
            "words",
            nargs="*",
            metavar="FILE",
            help=tr(
                "captures, called a, b, c … in the query when there are several; then the query, or .help. Without a "
                "query it is read from the standard input"
            ),
        )
        parser.add_argument(
            "-f", "--file", type=Path, metavar="FILE.sql", help=tr("read the query from a file")
        )
        parser.add_argument(
            "-p",
            "--parameter",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=tr("the value of $NAME in the query; may be given several times"),
        )
        parser.add_argument(
            "--schema", action="store_true", help=tr("list the tables and columns of a capture instead")
        )
        parser.add_argument("--examples", action="store_true", help=tr("print twenty example queries"))
        parser.add_argument(
            "--format",
            choices=("table", "json", "csv"),
            default="table",
            help=tr("how the rows are printed (default: table)"),
        )
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            metavar="OUT",
            help=tr("write the rows to a .csv, .json, .parquet or .arrow file instead"),
        )
        parser.add_argument(
            "--rows",
            type=int,
            metavar="N",
            help=tr("at most N rows (default: {rows} in a table, all elsewhere)", rows=_TABLE_ROWS),
        )
        parser.add_argument(
            "--timeout",
            type=time_ns,
            default=30_000_000_000,
            metavar="T",
            help=tr("how long the query may take (default: 30s)"),
        )
        parser.add_argument(
            "--memory",
            type=size_bytes,
            default=1 << 30,
            metavar="SIZE",
            help=tr("how much memory the query may take (default: 1G)"),
        )

    def run(self, args: argparse.Namespace) -> int:
        """Run the query and print its rows."""
        from warpline.cli import query_output, query_shell
        from warpline.library.opening import open_path
        from warpline.model.progress import never
        from warpline.query.session import QueryLimits, QuerySession

        if args.examples:
            query_output.print_examples()
            return 0
        files, sql = (args.words, None) if args.schema else _files_and_sql(args.words, args.file)
        if args.schema and len(files) != 1:
            raise UsageError(tr("whose tables? (warpline query --schema FILE)"))
        form = _form(args)
        if args.rows is not None and args.rows < 0:
            raise UsageError(tr("--rows cannot be negative"))
        limit = args.rows if args.rows is not None else _TABLE_ROWS if form == "table" else None
        paths = []
        for file in files:
            with ProgressLine() as line, open_path(Path(file), line.show, never).capture as capture:
                paths.append(capture.path)
        with QuerySession(paths, QueryLimits(memory_bytes=args.memory)) as session:
            if args.schema:
                query_output.print_schema(session.schema(), form)
                return 0
            parameters = _parameters(args.parameter)

            def show(query: str) -> None:
                result = session.run(query, parameters, limit=limit, seconds=args.timeout / 1e9)
                if args.output is not None:
                    query_output.write_file(result, args.output, form)
                elif form == "table":
                    query_output.print_table(result, limit)
                else:
                    query_output.write(result, sys.stdout.buffer, form)

            if sql is None:
                query_shell.run_shell(session, show)
            elif query_shell.is_command(sql):
                query_shell.run_command(sql, session)
            else:
                show(sql)
        return 0


def _files_and_sql(words: list[str], file: Path | None) -> tuple[list[str], str | None]:
    """The captures, and the query; None where the standard input has it."""
    if file is not None:
        try:
            sql = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or tr("it is not UTF-8 text")
            raise UsageError(tr("{path}: {reason}", path=file, reason=reason)) from error
        files = words
    elif words and all(Path(word).exists() for word in words):
        return words, None
    else:
        *files, sql = words or [""]
    if not files:
        raise UsageError(
            tr('which capture? (warpline query run.h5 "SELECT name, count(*) FROM kernel GROUP BY name")')
        )
    return files, sql


def _form(args: argparse.Namespace) -> str:
    if args.output is None:
        return str(args.format)
    form = _SUFFIXES.get(args.output.suffix.lower())
    if form is None:
        raise UsageError(
            tr("{path}: rows are written as {known}", path=args.output, known=", ".join(sorted(_SUFFIXES)))
        )
    return form


def _parameters(given: list[str]) -> dict[str, int | float | str] | None:
    values: dict[str, int | float | str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            raise UsageError(tr("not a parameter: {text!r}; write NAME=VALUE", text=text))
        values[name] = _number(value)
    return values or None


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


command = QueryCommand()
