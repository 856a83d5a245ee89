"""Queries one after the other: from a terminal, or from what is piped in. Lines that begin with a dot are commands."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from warpline.cli import query_output
from warpline.i18n import english, tr, translated
from warpline.model.errors import NotRecordedError, UsageError, WarplineError
from warpline.query.session import QuerySession, TableInfo

COMMANDS = {
    ".help": english("these commands"),
    ".tables": english("the tables of the capture"),
    ".schema [TABLE]": english("the columns of a table, or of all"),
    ".examples": english("twenty example queries"),
    ".quit": english("leave; so does Ctrl-D"),
}


def is_command(text: str) -> bool:
    """Whether a text is a command instead of a query."""
    return text.lstrip().startswith(".")


def run_command(text: str, session: QuerySession) -> None:
    """Run a command. Raises UsageError for one that is not there, WarplineError when the capture cannot be opened."""
    word, *rest = text.strip().rstrip(";").split() or [""]
    if word == ".help":
        width = max(map(len, COMMANDS))
        for name, about in COMMANDS.items():
            print(f"{name:<{width}}  {translated(about)}")
        print(
            tr("A query may span lines and ends with a semicolon. docs/query.md describes tables and macros.")
        )
    elif word == ".tables":
        print("\n".join(f"{table.name}  ({table.about})" for table in session.schema()))
    elif word == ".schema":
        query_output.print_schema(_tables(session, rest), "table")
    elif word == ".examples":
        query_output.print_examples()
    else:
        raise UsageError(tr("no command {name!r}; .help lists them", name=word))


def _tables(session: QuerySession, names: list[str]) -> list[TableInfo]:
    tables = list(session.schema())
    chosen = [table for table in tables if not names or table.name.casefold() in map(str.casefold, names)]
    if not chosen:
        raise UsageError(tr("no table {name!r}; .tables lists them", name=" ".join(names)))
    return chosen


def run_shell(session: QuerySession, show: Callable[[str], None]) -> None:
    """Answer queries and commands until the input ends; ``show`` prints the rows of a query.

    A terminal is told what is wrong and may go on. Otherwise the first error ends it: raises WarplineError.
    """
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  # gives the prompt its history and its keys
        print(tr("SQL about the capture; .help lists commands"))
    has_any = is_terminal
    for text in _statements(is_terminal):
        has_any = True
        if text.split()[0].rstrip(";") in {".quit", ".exit"}:
            break
        try:
            if is_command(text):
                run_command(text, session)
            else:
                show(text)
        except KeyboardInterrupt:
            # Ctrl-C ends the query, not the session.
            if not is_terminal:
                raise
            print(tr("cancelled"))
        except WarplineError as error:
            if not is_terminal:
                raise
            kind = tr("not recorded") if isinstance(error, NotRecordedError) else tr("error")
            print(f"{kind}: {error}")
    if not has_any:
        raise UsageError(tr('no query; write: warpline query run.h5 "SELECT …", or run.h5 .help'))


def _statements(is_terminal: bool) -> Iterator[str]:
    """Queries up to their semicolon (the last may lack it), and commands, each a line."""
    lines: list[str] = []
    for line in _lines(is_terminal, lines):
        if not lines and (not line.strip() or is_command(line)):
            if line.strip():
                yield line
            continue
        lines.append(line)
        if line.rstrip().endswith(";"):
            yield "\n".join(lines)
            lines.clear()
    if "".join(lines).strip():
        yield "\n".join(lines)


def _lines(is_terminal: bool, pending: list[str]) -> Iterator[str]:
    if not is_terminal:
        yield from map(str.rstrip, sys.stdin)
        return
    while True:
        try:
            yield input("   …> " if pending else "sql> ")
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            # Drop the unfinished query, as shells do.
            pending.clear()
            print()
