"""Notebooks: ``%load_ext warpline``, then ``%%warpline`` records a cell, and shows its findings and its timeline."""

from __future__ import annotations

import ast
import html
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, NoReturn

from warpline.i18n import tr, tr_n
from warpline.model.errors import UsageError, WarplineError
from warpline.model.times import format_duration

if TYPE_CHECKING:
    from warpline.library.capture_reader import CaptureReader

FINDINGS = 3
"""Findings above the timeline; the page below it tells more."""
HEIGHT_PX = 480


class RecordedCell:
    """What a notebook shows above the timeline of a recorded cell: where it is kept, and the findings as lines."""

    def __init__(self, summary: str, lines: list[str]) -> None:
        self.summary, self.lines = summary, lines

    def _repr_html_(self) -> str:
        # No colours of our own: notebooks are light or dark.
        first, *rest = [html.escape(line) for line in self.lines] or [""]
        items = "".join(f"<p>{line}</p>" for line in rest)
        return f"<p><b>{first}</b></p>{items}<p><small>{html.escape(self.summary)}</small></p>"

    def __repr__(self) -> str:
        return "\n".join([*self.lines, self.summary])


def load(shell: Any) -> None:
    """Register ``%%warpline`` with an IPython shell."""

    def warpline(line: str, cell: str) -> None:
        from IPython.core.error import UsageError as ShellUsageError

        try:
            record_cell(shell, line, cell)
        except WarplineError as error:
            # The shell's own error prints one line and no traceback.
            raise ShellUsageError(str(error)) from None

    warpline.__doc__ = record_cell.__doc__
    shell.register_magic_function(warpline, magic_kind="cell", magic_name="warpline")


def record_cell(shell: Any, line: str, cell: str) -> None:
    """Record a cell: ``%%warpline [--trace LIST] [-o FILE] [--as NAME] [--height N]``.

    ``--trace`` is that of ``warpline record``; what can only be recorded from a program's start is listed as not
    recorded. The capture goes to FILE, else to a temporary file that is removed when the notebook's program ends. NAME
    becomes a variable with the open capture. The cell runs as without the line; when it fails, what was recorded until
    then is shown.

    Raises UsageError for an unknown option or source, WarplineError when nothing can be recorded; errors of the cell
    pass through.
    """
    from IPython import display as shown

    from warpline.library.entrance import open as open_capture

    given = _parsed(line)
    run, name = _compiled(shell, cell)
    path, error = _recorded(given, run)
    reader = open_capture(path)
    cell_shown = RecordedCell(_summary(reader, given.output), _findings(reader, name))
    for part in (cell_shown, reader.show(height=given.height)):
        shown.display(part)  # type: ignore[no-untyped-call]  # IPython has no types
    if given.variable:
        shell.user_ns[given.variable] = reader
    else:
        reader.close()
    if error is not None:
        raise error


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%warpline: {message}; " + tr("%%warpline? explains the options"))


def _parsed(line: str) -> Namespace:
    import shlex

    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--trace")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--as", dest="variable")
    parser.add_argument("--height", type=int, default=HEIGHT_PX)
    try:
        given = parser.parse_args(shlex.split(line))
    except ValueError as error:
        parser.error(str(error))
    if given.variable and not given.variable.isidentifier():
        parser.error(tr("{name!r} is no name of a variable", name=given.variable))
    if given.output is not None and given.output.suffix != ".h5":
        parser.error(tr("{path}: a capture is an .h5 file", path=given.output))
    return given


def _compiled(shell: Any, cell: str) -> tuple[Callable[[], None], str]:
    """What runs the cell in the notebook's variables, and the name of its source. Errors of syntax pass through."""
    source = shell.transform_cell(cell)
    # The shell keeps the source by this name, for tracebacks and for who looks a line up.
    name = shell.compile.cache(source, shell.execution_count, raw_code=cell)
    tree = shell.transform_ast(shell.compile.ast_parse(source, name))
    parts: list[CodeType] = []
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    parts.append(shell.compile(tree, name, "exec"))
    if last is not None and not source.rstrip().endswith(";"):
        # Shows its value, as the end of a cell does.
        parts.append(shell.compile(ast.Interactive([last]), name, "single"))
    elif last is not None:
        parts.append(shell.compile(ast.Module([last], []), name, "exec"))

    def run() -> None:
        for code in parts:
            exec(code, shell.user_ns)

    return run, name


def _recorded(given: Namespace, run: Callable[[], None]) -> tuple[Path, BaseException | None]:
    """Record while the cell runs; returns the capture, and the error with which the cell failed."""
    from warpline.profiling.recordings import DrivenRecording, recording_for
    from warpline.profiling.results import passing_folder
    from warpline.profiling.states import ProfilerTarget
    from warpline.recording.sources.registry import default_trace, parse_trace

    trace = parse_trace(given.trace) if given.trace is not None else default_trace()
    target = given.output.absolute() if given.output is not None else passing_folder() / "cell.h5"
    recording = recording_for(frozenset(ProfilerTarget), lambda: target.parent, target.stem, trace)
    recording.resume()
    failure: BaseException | None = None
    try:
        run()
    except BaseException as error:
        failure = error
    result = recording.finish()
    if isinstance(recording, DrivenRecording):
        recording.resume()
    return result.keep(target), failure


def _findings(reader: CaptureReader, name: str) -> list[str]:
    """The headline and the first findings, with lines of the cell instead of the name that Python gives it."""
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.findings.wording import finding_lines, headline, verdict
    from warpline.analysis.framework.selection import View
    from warpline.i18n import translated
    from warpline.untrusted import one_line

    diagnosis = diagnose(View(reader.storage))
    if diagnosis.budget is None:
        return [f"{translated(diagnosis.reason)}; {translated(diagnosis.remedy)}"]
    lines = [headline(diagnosis), verdict(diagnosis)]
    lines += [
        " ".join(map(str.strip, finding_lines(finding, ""))) for finding in diagnosis.findings[:FINDINGS]
    ]
    place = re.compile(re.escape(name) + r":(\d+)")
    return [
        place.sub(lambda found: tr("line {line} of the cell", line=found[1]), one_line(line))
        for line in lines
        if line
    ]


def _summary(reader: CaptureReader, output: Path | None) -> str:
    count = len(reader.storage.events)
    text = tr_n(
        "{count:,} event in {time}",
        "{count:,} events in {time}",
        count,
        time=format_duration(reader.duration_ns),
    )
    if output is None:
        return text + tr("; -o FILE keeps the capture")
    return text + tr(", kept in {path}", path=output)
