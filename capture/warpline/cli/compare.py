"""``warpline compare``: where the difference between two captures lies."""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import TYPE_CHECKING, Any

from warpline.cli.arguments import add_range_option
from warpline.i18n import english, tr, translated
from warpline.model import UsageError

if TYPE_CHECKING:
    from warpline.analysis.compare.budgets import PartChange
    from warpline.analysis.compare.tables import RowChange, TableComparison
    from warpline.analysis.findings.finding import Budget

FAILED = 3
"""Exit status when ``--fail-if`` holds."""
_CONDITION = re.compile(r"total>(\d+(?:\.\d+)?)%")
_ROWS = 15


class CompareCommand:
    """Two captures: their time budgets, part by part, and any report, row by row."""

    name = "compare"
    help = english("where the difference between two captures lies")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("a", metavar="A", help=tr("the capture before"))
        parser.add_argument("b", metavar="B", help=tr("the capture after"))
        add_range_option(parser)
        parser.add_argument(
            "--report",
            action="append",
            default=[],
            metavar="NAME",
            help=tr("also compare this report's rows"),
        )
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help=tr("for programs"))
        form.add_argument("--md", action="store_true", help=tr("as Markdown"))
        parser.add_argument(
            "--fail-if",
            type=_condition,
            metavar="'total>P%%'",
            help=tr("exit with {status} when B takes that much longer than A", status=FAILED),
        )

    def run(self, args: argparse.Namespace) -> int:
        """Print the comparison."""
        from warpline.analysis.compare.budgets import compare_budgets
        from warpline.analysis.compare.tables import compare_tables
        from warpline.analysis.findings.diagnose import diagnose
        from warpline.analysis.framework.registry import compute_report, find_report
        from warpline.analysis.framework.selection import View
        from warpline.library.selecting import select
        from warpline.storage import open_capture

        for name in args.report:
            find_report(name)
        with open_capture(args.a) as first, open_capture(args.b) as second:
            selections = [select(c, f, args.range, []) for c, f in ((first, args.a), (second, args.b))]
            a, b = (
                diagnose(View(capture, selection)).budget
                for capture, selection in zip((first, second), selections, strict=True)
            )
            if a is None or b is None:
                which = args.a if a is None else args.b
                raise UsageError(
                    tr("{path}: holds neither thread states nor GPU work to compare", path=which)
                )
            changes = compare_budgets(a, b)
            tables: list[TableComparison] = []
            for name in args.report:
                reports = [
                    compute_report(capture, name, selection)
                    for capture, selection in zip((first, second), selections, strict=True)
                ]
                if reports[0].table is None or reports[1].table is None:
                    raise UsageError(tr("{report} was not recorded in both captures", report=name))
                found = compare_tables(name, reports[0].table, reports[1].table)
                if found is None:
                    raise UsageError(tr("{report} has no rows that can be compared", report=name))
                tables.append(found)
        if args.json:
            json.dump(_json(args.a, args.b, a, b, changes, tables), sys.stdout, indent=1, ensure_ascii=False)
            print()
        else:
            print("\n".join(_lines(a, b, changes, tables, is_markdown=args.md)))
        longer = _length(b) / max(_length(a), 1) - 1
        return FAILED if args.fail_if is not None and longer > args.fail_if else 0


def _condition(text: str) -> float:
    """``type=`` for ``--fail-if``: ``total>5%`` as 0.05."""
    match = _CONDITION.fullmatch(text.replace(" ", ""))
    if match is None:
        raise argparse.ArgumentTypeError(tr("{text!r} is not a condition; write 'total>5%'", text=text))
    return float(match[1]) / 100


def _length(budget: Budget) -> int:
    return budget.stop_ns - budget.start_ns


def _lines(
    a: Budget, b: Budget, changes: tuple[PartChange, ...], tables: list[TableComparison], *, is_markdown: bool
) -> list[str]:
    from warpline.model.times import format_duration

    def row(name: str, before: str, after: str, difference: str) -> str:
        if is_markdown:
            return f"| {name.replace('|', chr(92) + '|')} | {before} | {after} | {difference} |"
        return f"  {before:>12} {after:>12} {difference:>13}  {name}"

    def signed(value: float) -> str:
        return f"{'+' if value >= 0 else '-'}{format_duration(int(abs(value)))}"

    lines = [row(tr("cause"), "A", "B", "B - A")]
    if is_markdown:
        lines.append("|---|---:|---:|---:|")
    whole = _length(b) - _length(a)
    lines.append(row(tr("total"), format_duration(_length(a)), format_duration(_length(b)), signed(whole)))
    for change in changes:
        before, after = format_duration(change.a_ns), format_duration(change.b_ns)
        lines.append(row(translated(change.title), before, after, signed(change.difference_ns)))
    for table in tables:
        is_time = table.column.endswith("_ns")
        lines += ["", f"{table.report}: {table.column}"]
        if is_markdown:
            lines += ["", row(" / ".join(table.keys), "A", "B", "B - A"), "|---|---:|---:|---:|"]
        for one in table.rows[:_ROWS]:
            values = [
                tr("not there") if v is None else format_duration(int(v)) if is_time else f"{v:,.0f}"
                for v in (one.a, one.b)
            ]
            difference = signed(one.difference) if is_time else f"{one.difference:+,.0f}"
            lines.append(row(" / ".join(filter(None, one.key)), values[0], values[1], difference))
    return lines


def _json(
    path_a: str,
    path_b: str,
    a: Budget,
    b: Budget,
    changes: tuple[PartChange, ...],
    tables: list[TableComparison],
) -> dict[str, Any]:
    return {
        "a": {"path": path_a, "waited_for": a.waited_for},
        "b": {"path": path_b, "waited_for": b.waited_for},
        "aligned_by": "range",
        "total": {"a_ns": _length(a), "b_ns": _length(b), "difference_ns": _length(b) - _length(a)},
        "parts": [
            {"cause": c.cause, "a_ns": c.a_ns, "b_ns": c.b_ns, "difference_ns": c.difference_ns}
            for c in changes
        ],
        "reports": [
            {
                "report": table.report,
                "column": table.column,
                "rows": [_row(table, row) for row in table.rows],
            }
            for table in tables
        ],
    }


def _row(table: TableComparison, row: RowChange) -> dict[str, Any]:
    key = dict(zip(table.keys, row.key, strict=True))
    return {**key, "a": row.a, "b": row.b, "difference": row.difference}


command = CompareCommand()
