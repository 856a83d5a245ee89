"""``warpline check``: what the hardware waited for, and why."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.cli.arguments import add_range_option
from warpline.cli.progress import ProgressLine
from warpline.i18n import english, tr, translated
from warpline.model.errors import UsageError
from warpline.model.markdown import markdown_text
from warpline.untrusted import listing

if TYPE_CHECKING:
    from warpline.analysis.findings.finding import Diagnosis, Where
    from warpline.storage import Capture

SCHEMA = "check/1"
"""Of ``--json``, described in docs/schemas; the number rises when a key changes its meaning or goes."""
FAILED = 3
"""Exit status when a finding is at least as severe as ``--fail-on``."""


class CheckCommand:
    """Print a time budget and the findings."""

    name = "check"
    help = english("what the hardware waited for, and why")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("file", metavar="FILE", help=tr("a capture, or another profiler's trace"))
        add_range_option(parser)
        parser.add_argument(
            "--of",
            metavar="URI",
            help=tr(
                "check this thread, GPU, stream or rank: the URI of its track, as listed by warpline info --json "
                "(default: the busiest GPU, else the main thread)"
            ),
        )
        parser.add_argument(
            "--step",
            metavar="NAME",
            help=tr("treat ranges of this name as steps; /PATTERN/ is a regular expression"),
        )
        parser.add_argument(
            "--all", action="store_true", help=tr("print all findings, not only the first five")
        )
        parser.add_argument(
            "--why",
            metavar="ID",
            help=tr(
                "explain one finding (ID as in --json): its numbers, its chain of waits, its evidence, "
                "and what would refute it"
            ),
        )
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help=tr("print JSON"))
        form.add_argument("--md", action="store_true", help=tr("print Markdown"))
        parser.add_argument(
            "--fail-on",
            choices=("critical", "warning"),
            help=tr("exit with status {status} if a finding is at least this severe", status=FAILED),
        )

    def run(self, args: argparse.Namespace) -> int:
        """Print the diagnosis."""
        from warpline.analysis.findings.diagnose import AT_MOST, diagnose
        from warpline.analysis.framework.options import Options
        from warpline.analysis.framework.selection import View
        from warpline.analysis.structure.steps import find_steps, missing_steps
        from warpline.library.kept_diagnoses import whole_diagnosis
        from warpline.library.opening import open_path
        from warpline.library.selecting import select
        from warpline.model.progress import never

        with ExitStack() as stack, ProgressLine() as line:
            opened = open_path(Path(args.file), line.show, never)
            stack.enter_context(opened.capture)
            capture = opened.capture
            view = View(capture, select(capture, args.file, args.range, []))
            options = Options(step=args.step)
            if args.step and not len(find_steps(view, options)):
                reason = missing_steps(options).reason
                raise UsageError(tr("{path}: {reason}", path=args.file, reason=translated(reason)))
            if args.range == (None, None) and args.of is None and args.step is None:
                diagnosis = whole_diagnosis(capture, line.show)
            else:
                diagnosis = diagnose(view, line.show, options=options, of=args.of)
            origin = capture.span[0]
            explanation = _why(diagnosis, args.why, capture) if args.why else ""
        if explanation:
            print(explanation)
        elif args.json:
            json.dump(_json(diagnosis, origin), sys.stdout, indent=1, ensure_ascii=False)
            print()
        else:
            text = _text(diagnosis, "- " if args.md else "  ", None if args.all else AT_MOST)
            print("\n".join(map(markdown_text, text.split("\n"))) if args.md else text)
        bad = {"critical": ("critical",), "warning": ("critical", "warning")}.get(args.fail_on, ())
        return FAILED if any(finding.severity in bad for finding in diagnosis.findings) else 0


def _why(diagnosis: Diagnosis, identifier: str, capture: Capture) -> str:
    """The explanation of all findings with an identifier. Raises UsageError when there is none."""
    from warpline.analysis.findings.why import why_lines

    matches = [finding for finding in diagnosis.findings if finding.id == identifier]
    if not matches or diagnosis.budget is None:
        known = ", ".join(dict.fromkeys(finding.id for finding in diagnosis.findings))
        raise UsageError(
            tr("no finding {id!r}; there are: {known}", id=identifier, known=known or tr("none"))
        )
    return "\n\n".join(listing(why_lines(finding, diagnosis.budget, capture, "  ")) for finding in matches)


def _text(diagnosis: Diagnosis, bullet: str, at_most: int | None) -> str:
    from warpline.analysis.findings.wording import finding_lines, headline, verdict
    from warpline.model.times import format_duration

    if diagnosis.budget is None:
        return tr(
            "nothing to check: {reason}; {remedy}",
            reason=translated(diagnosis.reason),
            remedy=translated(diagnosis.remedy),
        )
    budget = diagnosis.budget
    whole = max(budget.stop_ns - budget.start_ns, 1)
    lines = [headline(diagnosis)]
    for part in budget.parts:
        share = f"{100 * part.time_ns / whole:5.1f} %"
        lines.append(f"{bullet}{share}  {format_duration(part.time_ns):>10}  {translated(part.title)}")
    lines += [bullet + translated(sentence) for sentence in diagnosis.notices]
    lines.append("")
    result = verdict(diagnosis)
    if result:
        lines += [result, ""]
    for finding in diagnosis.findings[:at_most]:
        lines += [*finding_lines(finding, bullet), ""]
    return listing(lines).rstrip()


def _json(diagnosis: Diagnosis, origin: int) -> dict[str, Any]:
    if diagnosis.budget is None:
        return {
            "schema": SCHEMA,
            "budget": None,
            "findings": [],
            "reason": diagnosis.reason,
            "remedy": diagnosis.remedy,
        }
    from warpline.analysis.findings.refutations import refutation
    from warpline.analysis.findings.wording import headline

    budget = diagnosis.budget
    whole = max(budget.stop_ns - budget.start_ns, 1)
    return {
        "schema": SCHEMA,
        "headline": headline(diagnosis),
        "said": list(diagnosis.notices),
        "range_ns": [budget.start_ns - origin, budget.stop_ns - origin],
        "waited_for": budget.waited_for,
        "budget": [
            {"cause": part.cause, "time_ns": part.time_ns, "share": part.time_ns / whole}
            for part in budget.parts
        ],
        "findings": [
            {
                "id": finding.id,
                "severity": finding.severity.value,
                "title": finding.title,
                "text": finding.whole_text,
                "time_ns": finding.time_ns,
                "share": finding.share,
                "gain_ns": finding.gain_ns,
                "where": _where(finding.where),
                "chain": [{"what": hop.action, **_where(hop.where)} for hop in finding.chain],
                "remedy": finding.remedy,
                "needs": finding.needs,
                "refuted_if": refutation(finding),
            }
            for finding in diagnosis.findings
        ],
    }


def _where(where: Where) -> dict[str, Any]:
    values = {
        "file": where.file or None,
        "line": where.line,
        "function": where.function or None,
        "operator": where.operator or None,
        "module": where.module or None,
        "kernel": where.kernel or None,
        "rank": where.rank,
        "process": where.process,
        "thread": where.thread or None,
    }
    return {key: value for key, value in values.items() if value is not None}


command = CheckCommand()
