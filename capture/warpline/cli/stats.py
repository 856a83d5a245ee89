"""``warpline stats``: reports about a capture, as tables, JSON or CSV."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.cli.arguments import add_range_option, add_track_option
from warpline.cli.progress import ProgressLine
from warpline.i18n import english, tr, tr_n, translated
from warpline.i18n.width import padded
from warpline.model import UsageError
from warpline.untrusted import listing

if TYPE_CHECKING:
    from warpline.analysis.framework.report import Report, Table
    from warpline.analysis.framework.selection import Selection
    from warpline.storage import Capture

_PIPE_WIDTH = 160
DEFAULT_REPORTS = (
    "overview",
    "overlap",
    "cuda_gpu_kern_sum",
    "cuda_gpu_mem_time_sum",
    "cuda_api_sum",
    "nvtx_sum",
    "operator",
    "thread_state",
)
_DEFAULT_ROWS = 20


class StatsCommand:
    """Summaries of a capture, for any time range and any tracks."""

    name = "stats"
    help = english("reports: kernels, copies, API calls, ranges, ...")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "file", nargs="?", metavar="FILE", help=tr("a capture, or another profiler's trace")
        )
        parser.add_argument(
            "--list",
            action="store_true",
            help=tr("list the reports and whether the capture has data for each"),
        )
        parser.add_argument(
            "--report",
            action="append",
            default=[],
            metavar="NAME",
            help=tr("the report to print; repeat it for several, or write all (default: an overview)"),
        )
        add_range_option(parser)
        add_track_option(parser)
        parser.add_argument(
            "--sort", metavar="COLUMN", help=tr("sort by this column; a leading - reverses the order")
        )
        parser.add_argument(
            "--unit", choices=("ns", "us", "ms", "s"), help=tr("the unit of times in tables and CSV")
        )
        parser.add_argument(
            "--format",
            choices=("table", "json", "csv"),
            default="table",
            help=tr("how they are printed (default: table)"),
        )
        parser.add_argument("--thread-sep", action="store_true", help=tr("keep threads apart"))
        parser.add_argument(
            "--step",
            metavar="NAME",
            help=tr("treat ranges of this name as steps; /iter_\\d+/ is a regular expression"),
        )
        parser.add_argument("--rows", type=int, metavar="N", help=tr("show at most N rows of each table"))

    def run(self, args: argparse.Namespace) -> int:
        """Print the reports."""
        from warpline.analysis.framework.options import Options
        from warpline.analysis.framework.registry import compute_report, find_report, reports
        from warpline.analysis.framework.report import sort_table

        if args.file is None:
            if args.list:
                for spec in reports():
                    print(f"{spec.name:24} {translated(spec.title)}")
                return 0
            raise UsageError(tr("which capture? (warpline stats FILE; --list names the reports)"))
        if args.rows is not None and args.rows < 0:
            raise UsageError(tr("--rows cannot be negative"))
        names = list(args.report)
        if names == ["all"]:
            names = [spec.name for spec in reports()]
        for name in names:
            find_report(name)
        # Listing reports needs no HDF5.
        from warpline.library.opening import open_path
        from warpline.library.selecting import select
        from warpline.model.progress import never

        with ProgressLine() as line:
            opened = open_path(Path(args.file), line.show, never)
        with opened.capture as capture:
            selection = select(capture, args.file, args.range, args.track)
            options = Options(by_thread=args.thread_sep, step=args.step)
            if args.list:
                return _list(capture, selection)
            is_named = bool(names)
            computed = []
            for name in names or DEFAULT_REPORTS:
                report = compute_report(capture, name, selection, options)
                table = report.table
                if args.sort and table is not None:
                    report = _with_table(
                        report, sort_table(table, *_sort_column(table, args.sort, report.name))
                    )
                computed.append(report)
            return _print(computed, args, is_named)


def _list(capture: Capture, selection: Selection) -> int:
    """Which reports have data, judged by what the capture holds; no report is computed."""
    from warpline.analysis.framework.not_recorded import lacking
    from warpline.analysis.framework.registry import reports
    from warpline.analysis.framework.selection import View

    view = View(capture, selection)
    for spec in reports():
        why_not = lacking(spec, capture)
        count = sum(view.count(kind) for kind in spec.needs)
        if why_not is not None:
            state = tr("not recorded: {reason}", reason=translated(why_not.reason))
        else:
            state = tr_n("{count:,} event", "{count:,} events", count) if spec.needs else ""
        print(f"{spec.name:24} {padded(translated(spec.title), 45)} {state}".rstrip())
    return 0


def _sort_column(table: Table, wanted: str, report: str) -> tuple[str, bool | None]:
    """The column a user means (its name or its title) and the direction asked for."""
    turned = wanted.startswith("-")
    key = wanted.removeprefix("-").casefold()
    for column in table.columns:
        if key in {column.name.casefold(), column.title.casefold(), translated(column.title).casefold()}:
            values = table.data[column.name]
            is_text = not hasattr(values, "dtype")
            return column.name, is_text if turned else None if not turned else False
    known = ", ".join(column.name for column in table.columns)
    raise UsageError(
        tr("report {report} has no column {name!r}; it has {known}", report=report, name=wanted, known=known)
    )


def _with_table(report: Report, table: Table) -> Report:
    from dataclasses import replace

    return replace(report, result=table)


def _print(reports: list[Report], args: argparse.Namespace, is_named: bool) -> int:
    from warpline.analysis.framework import report_json as rendering
    from warpline.analysis.framework.text_tables import write_text

    if args.format == "json":
        sys.stdout.flush()
        for part in rendering.write_json(reports):
            sys.stdout.buffer.write(part)
        return 0
    if args.format == "csv":
        if len(reports) != 1:
            raise UsageError(tr("CSV holds one report; choose it with --report NAME"))
        if reports[0].table is None:
            print(f"warpline: {reports[0].name}: {reports[0].result}", file=sys.stderr)
            return 0
        for text in rendering.write_csv(reports[0], args.unit or "ns"):
            sys.stdout.write(text)
        return 0
    width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    limit = args.rows if args.rows is not None else None if is_named else _DEFAULT_ROWS
    only = tr("tracks {patterns} only", patterns=", ".join(args.track)) if args.track else ""
    missing: list[str] = []
    if not is_named:
        # Without a named report, reports without data are left out.
        missing = [report.name for report in reports if report.table is None]
        recorded = [report for report in reports if report.table is not None]
        reports = sorted(recorded, key=lambda report: not len(report.table or ()))
    for number, report in enumerate(reports):
        if number:
            print()
        for line in write_text(report, width, args.unit, limit, only):
            print(listing([line]))
    if missing:
        if reports:
            print()
        print(tr("not recorded here: {names}; --list says why", names=", ".join(missing)))
    return 0


command = StatsCommand()
