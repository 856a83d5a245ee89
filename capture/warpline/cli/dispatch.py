"""Find the command, run it, turn what went wrong into one line and an exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpline._version import __version__
from warpline.cli import registry
from warpline.cli.command import Command
from warpline.i18n import install, tr, translated
from warpline.lone_numpy import load_numpy
from warpline.model.errors import UsageError, WarplineError
from warpline.own_python import forget_current_folder
from warpline.platform.system_packages import install_command
from warpline.platform.systems import provide_streams
from warpline.plugins import distribution_of, install_hint
from warpline.terminal import visible_streams

FAILURE = 1
BAD_USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141

_NO_THREAD = "can't start new thread"
"""What Python says where the system gives it none."""
_UNMAPPED = "failed to map segment from shared object"
"""What the system's loader says of a library for which there is no memory."""

# Commands that work on columns from the start; others begin without numpy, and some end without it.
_COLUMNS = frozenset(
    ("check", "compare", "export", "import", "info", "job", "query", "recover", "render", "stats")
)


class _Parser(argparse.ArgumentParser):
    """Reports bad usage like every other error: one line, no usage text before it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # Python 3.14 colours help on a terminal, by characters that none of ours gets (`warpline.terminal`).
        self.color = False

    def error(self, message: str) -> None:  # type: ignore[override]  # raising is a way of not returning
        raise UsageError(tr("{message} (see {program} --help)", message=message, program=self.prog))

    def _match_arguments_partial(self, actions: Sequence[argparse.Action], pattern: str) -> list[int]:
        """As Python 3.13 does: an argument that may be left out can come after later options, too (gh-72795)."""
        counts: list[int] = super()._match_arguments_partial(actions, pattern)
        while "O" in pattern and counts and counts[-1] == 0:
            counts.pop()
        return counts


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``warpline`` with these arguments (default: the process's); returns the exit status."""
    with visible_streams():
        return _main(argv)


def _main(argv: Sequence[str] | None) -> int:
    if argv is None:
        forget_current_folder()
    arguments = list(sys.argv[1:] if argv is None else argv)
    status = _StatusOfFailures()
    install()
    try:
        code = _dispatch(arguments, status)
        # Here and not at exit, where a closed pipe would print a message nobody can catch.
        sys.stdout.flush()
        return code
    except SystemExit as request:  # argparse: --help
        return request.code if isinstance(request.code, int) else FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except Exception as error:
        if os.environ.get("WARPLINE_DEBUG") == "1":
            raise
        print(f"warpline: error: {_one_line(error)}", file=sys.stderr)
        return status.of(error)


def main_window() -> int:
    """Start the window, for desktop entries: every argument is a file."""
    forget_current_folder()
    provide_streams()
    return main(["view", *sys.argv[1:]])


class _StatusOfFailures:
    """Which exit status a failure gets, once it is known which command fails."""

    def __init__(self) -> None:
        self.command: Command | None = None

    def of(self, error: Exception) -> int:
        default = BAD_USAGE if isinstance(error, UsageError) else FAILURE
        own = getattr(self.command, "failure_status", None)
        return own if isinstance(own, int) else default


def _dispatch(arguments: list[str], status: _StatusOfFailures) -> int:
    first = arguments[0] if arguments else ""
    if first in {"-h", "--help", "help"}:
        return _help(arguments[1:] if first == "help" else [])
    if first in {"-V", "--version"}:
        print(f"warpline {__version__}")
        return 0
    name, rest = _split(arguments)
    command = registry.load(name)
    status.command = command
    parser = _Parser(prog=f"warpline {name}", description=translated(command.help), allow_abbrev=False)
    command.add_arguments(parser)
    mixes_options = getattr(command, "mixes_options", False)
    chosen = parser.parse_intermixed_args(rest) if mixes_options else parser.parse_args(rest)
    if name in _COLUMNS:
        load_numpy()
    return command.run(chosen)


def _split(arguments: list[str]) -> tuple[str, list[str]]:
    """The command's name and its arguments; files without a command are viewed."""
    first = arguments[0] if arguments else ""
    if any(first == entry.name for entry in registry.BUILTIN) or first in registry.entry_points():
        return first, arguments[1:]
    # A mistyped command must not open an empty window: a bare word is a file only when it exists.
    is_word = bool(first) and not first.startswith("-") and not set(first) & set("./\\")
    if is_word and not Path(first).exists():
        import difflib

        near = difflib.get_close_matches(first, registry.names(), n=1)
        hint = (
            tr("did you mean {name!r}?", name=near[0]) if near else tr("warpline --help lists the commands")
        )
        raise UsageError(tr("{word!r} is neither a command nor a file; {hint}", word=first, hint=hint))
    return "view", arguments


def _help(arguments: list[str]) -> int:
    if arguments:
        return _dispatch([arguments[0], "--help"], _StatusOfFailures())
    entries = {entry.name: entry.help for entry in registry.BUILTIN}
    for name, point in registry.entry_points().items():
        entries.setdefault(
            name,
            tr("provided by {origin}", origin=distribution_of(point)),
        )
    width = max(len(name) for name in entries)
    print(tr("usage: warpline COMMAND ...      warpline [FILE ...]"))
    print()
    print(
        tr("Record what a program does on CPU cores, threads and GPU streams, and look at it on a timeline.")
    )
    print()
    for name, text in entries.items():
        print(f"  {name:<{width}}  {translated(text)}")
    print()
    print(
        tr(
            "warpline COMMAND --help tells more; WARPLINE_DEBUG=1 shows tracebacks; --version prints the version."
        )
    )
    return 0


def _one_line(error: Exception) -> str:
    if isinstance(error, WarplineError):
        text = str(error)
    elif isinstance(error, MemoryError) or _hides_lack_of_memory(error):
        text = tr("not enough memory; try a smaller --range")
    elif isinstance(error, ImportError):
        text = _missing(error)
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    elif isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        text = tr("no thread can be started: not enough memory, or too many processes of this user")
    else:
        text = tr(
            "internal error, please report it: {kind}: {error} (WARPLINE_DEBUG=1 shows where)",
            kind=type(error).__name__,
            error=error,
        )
    return " ".join(text.split())


def _hides_lack_of_memory(error: Exception) -> bool:
    """Whether a module could not be loaded for lack of memory: Python's parser can call that a syntax error."""
    if isinstance(error, SyntaxError):
        return Path(error.filename or "").is_relative_to(Path(__file__).parents[1])
    return isinstance(error, ImportError) and _UNMAPPED in str(error)


def _missing(error: ImportError) -> str:
    """What to install for an import that failed."""
    if hint := install_hint(error):
        return translated(hint)
    if ".so" in str(error) and not isinstance(error, ModuleNotFoundError):
        # Qt's wheels need libraries of the system (libEGL, libxkbcommon, ...), which pip cannot install.
        if command := install_command(str(error)):
            return tr("a system library is missing: {error}; run: {command}", error=error, command=command)
        return tr("a system library is missing: {error}; README.md lists the packages", error=error)
    return tr("cannot import {module}: {error}", module=error.name or "?", error=error)


def _silence_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not complain about the closed pipe."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError):
        pass
