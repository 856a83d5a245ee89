"""``warpline compare``: where two captures differ, and by how much."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

from warpline import plugins
from warpline.cli.arguments import TimeRange, add_range_option, time_range
from warpline.cli.progress import ProgressLine
from warpline.extras import install_command
from warpline.i18n import english, tr, translated
from warpline.model import UsageError, WarplineError
from warpline.untrusted import listing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warpline.analysis.compare.comparison import CaptureRun, Comparison
    from warpline.analysis.compare.gate import Condition, Judgement

PICTURES = "warpline.comparison_pictures"
"""Entry points that draw a comparison, named like the suffix: functions of the comparison and the path."""
FAILED = 3
"""Exit status when a ``--fail-if`` condition fails."""
_NOT_GIVEN: TimeRange = (None, None)


class CompareCommand:
    """Compare two captures, or two sets of runs: the time, part by part, and reports, row by row."""

    name = "compare"
    help = english("where two captures differ, and by how much")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "captures",
            metavar="A",
            nargs="+",
            help=tr("the capture before, then the one after; with --vs, all captures before"),
        )
        parser.add_argument(
            "--vs",
            metavar="B",
            nargs="+",
            help=tr("the captures after; several on each side are repeated runs"),
        )
        parser.add_argument(
            "--align",
            choices=("auto", "step", "range", "start"),
            default="auto",
            help=tr("what to compare (default: steps if both sides have them, else the whole captures)"),
        )
        add_range_option(parser)
        for side in ("a", "b"):
            parser.add_argument(
                f"--range-{side}",
                type=time_range,
                default=_NOT_GIVEN,
                metavar="A:B",
                help=tr("compare only this part of {side}", side=side.upper()),
            )
        parser.add_argument("--range-name", metavar="NAME", help=tr("use the ranges of this name as steps"))
        steps = parser.add_mutually_exclusive_group()
        steps.add_argument(
            "--each-step",
            action="store_true",
            help=tr("compare step k with step k instead of the median steps"),
        )
        steps.add_argument("--step", type=int, metavar="K", help=tr("compare step K of both sides"))
        parser.add_argument(
            "--exact-names",
            action="store_true",
            help=tr("match names exactly; do not ignore what changes between builds"),
        )
        parser.add_argument(
            "--report",
            action="append",
            default=[],
            metavar="NAME",
            help=tr("also compare this report row by row"),
        )
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help=tr("print JSON"))
        form.add_argument("--md", action="store_true", help=tr("print Markdown"))
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            metavar="OUT",
            help=tr("write a page (.html) or a picture (.png) to share"),
        )
        parser.add_argument(
            "--fail-if",
            type=_condition,
            action="append",
            default=[],
            metavar="'step>P%'",
            help=tr(
                "exit with status {status} if B takes that much longer than A, beyond noise; also total>…, a cause, "
                "or a time (step>2ms)",
                status=FAILED,
            ),
        )

    def run(self, args: argparse.Namespace) -> int:
        """Print the comparison."""
        from warpline.analysis.compare.alignment import Align
        from warpline.analysis.compare.comparison import Choices, compare
        from warpline.analysis.compare.gate import judge

        before, after = _sides(args)
        write = _writer(args.output)
        choices = Choices(
            align=Align(args.align),
            range_name=args.range_name,
            is_each=args.each_step,
            step=args.step,
            is_exact=args.exact_names,
            reports=tuple(args.report),
        )
        with ExitStack() as stack:
            a = [_open(path, _first_given(args.range_a, args.range), stack) for path in before]
            b = [_open(path, _first_given(args.range_b, args.range), stack) for path in after]
            comparison = compare(a, b, choices)
            judgements = [judge(condition, comparison) for condition in args.fail_if]
            if write is None or args.json or args.md:
                _print(comparison, args, judgements)
            if write is not None:
                write(comparison, args.output)
        _print_judgements(judgements)
        return FAILED if any(judgement.is_failed for judgement in judgements) else 0


def _writer(output: Path | None) -> Callable[[Comparison, Path], None] | None:
    """The function that writes this kind of file. Called before anything is read, so that errors come early."""
    if output is None:
        return None
    if not output.absolute().parent.is_dir():
        raise UsageError(tr("there is no folder {path}", path=output.absolute().parent))
    suffix = output.suffix.lower()
    if suffix in (".html", ".htm"):
        return _write_page
    points = {f".{point.name}": point for point in plugins.entry_points(PICTURES)}
    if suffix in points:
        plugin = plugins.load_plugin(points[suffix], FunctionType)
        if plugin.value is None:
            raise WarplineError(translated(plugin.problem)) from plugin.error
        return plugin.value
    if suffix == ".png":
        raise UsageError(tr("pictures need the window: {command}", command=install_command("gui")))
    raise UsageError(tr("{path}: unknown file type; use .html for a page or .png for a picture", path=output))


def _write_page(comparison: Comparison, path: Path) -> None:
    from warpline.analysis.compare.comparison_page import comparison_page
    from warpline.interchange.export.output_files import writing
    from warpline.model import ExportError

    page = comparison_page(comparison).encode()
    try:
        with writing(path) as file:
            file.write(page)
    except OSError as error:
        raise ExportError(tr("{path}: {reason}", path=path, reason=error.strerror or error)) from error


def _sides(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    if args.vs:
        return args.captures, args.vs
    if len(args.captures) != 2:
        raise UsageError(tr("give two captures, or several on each side of --vs"))
    return args.captures[:1], args.captures[1:]


def _first_given(*ranges: TimeRange) -> TimeRange:
    return next((given for given in ranges if given != _NOT_GIVEN), _NOT_GIVEN)


def _open(path: str, range_ns: TimeRange, stack: ExitStack) -> CaptureRun:
    from warpline.analysis.compare.comparison import CaptureRun
    from warpline.library.opening import open_path
    from warpline.library.selecting import select

    with ProgressLine() as line:
        capture = stack.enter_context(open_path(Path(path), line.show, lambda: False).capture)
    select(capture, path, range_ns)
    return CaptureRun(capture, path, range_ns)


def _print_judgements(judgements: Sequence[Judgement]) -> None:
    """Print the results of conditions to standard error, for the log of a CI job."""
    from warpline.analysis.compare.comparison_text import judgement_text

    for judgement in judgements:
        print(f"warpline: {judgement_text(judgement)}", file=sys.stderr)


def _print(comparison: Comparison, args: argparse.Namespace, judgements: Sequence[Judgement]) -> None:
    if args.json:
        from warpline.analysis.compare.comparison_json import comparison_json

        json.dump(comparison_json(comparison, judgements), sys.stdout, indent=1, ensure_ascii=False)
        print()
        return
    from warpline.analysis.compare.comparison_text import comparison_lines

    print(listing(comparison_lines(comparison, is_markdown=args.md, judged=judgements)))


def _condition(text: str) -> Condition:
    """``type=`` for ``--fail-if``."""
    from warpline.analysis.compare.gate import parse_condition

    try:
        return parse_condition(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


command = CompareCommand()
