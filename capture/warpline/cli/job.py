"""``warpline job``: the ranks of a training job, each computed where its file lies, put side by side."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import english, tr, tr_n, translated
from warpline.model import UsageError

if TYPE_CHECKING:
    from warpline.library.jobs import JobRank, LeftOut, TrainingJob

_PIPE_WIDTH = 160
_ROWS = 20


class JobCommand:
    """Reports over the ranks of a job."""

    name = "job"
    help = english("many captures as one: the ranks of a training job")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "paths",
            nargs="+",
            metavar="DIR|FILE|URL",
            help=tr("captures and traces, one of each rank"),
        )
        parser.add_argument(
            "--report",
            action="append",
            default=[],
            metavar="NAME",
            help=tr("also this report as its values are spread over the ranks; may be given several times"),
        )
        parser.add_argument(
            "--scheduler",
            metavar="ADDRESS",
            help=tr(
                "compute on the workers of this Dask scheduler (tcp://HOST:PORT), which see the same files"
            ),
        )
        parser.add_argument(
            "--workers",
            type=int,
            metavar="N",
            help=tr("how many processes of this machine compute (default: its cores, at most four)"),
        )
        parser.add_argument(
            "--rank-pattern",
            metavar="REGEX",
            help=tr("where a file's name has its rank: the first group (default: rank and a number)"),
        )
        parser.add_argument(
            "--step",
            metavar="NAME",
            help=tr("the range that is a step; a regular expression between slashes (/iter_\\d+/)"),
        )
        parser.add_argument(
            "--rows", type=int, default=_ROWS, metavar="N", help=tr("show at most N rows of each table")
        )
        parser.add_argument("--json", action="store_true", help=tr("for programs: all rows and all columns"))

    def run(self, args: argparse.Namespace) -> int:
        """Print the job; 1 where no rank could be read."""
        from warpline.analysis.framework.registry import find_report
        from warpline.library.jobs import open_job

        if args.rows < 0:
            raise UsageError(tr("--rows cannot be negative"))
        if args.workers is not None and args.workers < 1:
            raise UsageError(tr("--workers must be at least 1"))
        asked = list(dict.fromkeys(args.report))
        for name in asked:
            find_report(name)
        job = open_job(
            [text if "://" in text else Path(text) for text in args.paths],
            reports=asked,
            pattern=args.rank_pattern,
            step=args.step,
            scheduler=args.scheduler,
            workers=args.workers,
            every=args.json,
            progress=_tell,
        )
        if args.json:
            _print_json(job)
        else:
            _print_text(job, args)
        return 0 if _of_state(job, "computed") else 1


def _of_state(job: TrainingJob, state: str) -> list[JobRank]:
    return [one for one in job.ranks if one.state == state]


def _tell(_fraction: float, text: str) -> None:
    print(f"warpline: {text}", file=sys.stderr, flush=True)


def _print_json(job: TrainingJob) -> None:
    import orjson

    from warpline.analysis.framework.report_json import json_parts

    head = {
        "ranks": [
            {
                "rank": one.rank,
                "path": one.where,
                "told_by": one.told_by,
                "host": one.host or None,
                "format": one.format or None,
            }
            for one in _of_state(job, "computed")
        ],
        "failed": [_left_out(one) for one in _of_state(job, "failed")],
        "left_out": [_left_out(one) for one in job.left_out],
        "missing": [one.rank for one in _of_state(job, "missing")],
    }
    sys.stdout.flush()
    out = sys.stdout.buffer
    out.write(orjson.dumps(head)[:-1] + b',\n"reports":[')
    for number, report in enumerate([*job.reports.values(), job.step_ranks()]):
        if number:
            out.write(b",")
        for part in json_parts(report):
            out.write(part)
    out.write(b"]}\n")


def _left_out(one: LeftOut | JobRank) -> dict[str, Any]:
    return {"rank": one.rank, "path": one.where, "reason": one.reason}


def _print_text(job: TrainingJob, args: argparse.Namespace) -> None:
    from warpline.analysis.framework.text_tables import write_text

    for line in _head(job):
        print(line)
    width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    for line in _findings(job, width):
        print(line)
    for report in job.reports.values():
        if report.table is not None and report.name != "job_findings":
            print()
            for line in write_text(report, width, limit=args.rows):
                print(line)
    for line in _not_recorded(job, width):
        print(line)


def _findings(job: TrainingJob, width: int) -> Iterator[str]:
    """What stands out, each with its remedy."""
    from warpline.analysis.framework.text_tables import wrapped

    for one in job.findings:
        yield ""
        yield from wrapped(f"[{one.severity}] {translated(one.title)}", width)
        yield from wrapped(translated(one.text), width, "  ")
        if one.remedy:
            yield from wrapped(translated(one.remedy), width, "  → ")


def _not_recorded(job: TrainingJob, width: int) -> Iterator[str]:
    """Why tables are missing, each reason once."""
    from warpline.analysis.framework.text_tables import wrapped

    missing: dict[str, list[str]] = {}
    for report in job.reports.values():
        if report.table is None:
            missing.setdefault(str(report.result), []).append(f"{translated(report.title)} ({report.name})")
    for reason, titles in missing.items():
        yield ""
        yield from wrapped(", ".join(titles), width)
        yield from wrapped(tr("not recorded: {reason}", reason=translated(reason)), width, "  ")


def _head(job: TrainingJob) -> list[str]:
    """How many ranks there are and what told them, and whatever is missing."""
    from warpline.library.jobs.finding import BY_ORDER

    told = dict.fromkeys(one.told_by for one in job.ranks if one.told_by)
    if BY_ORDER in told:
        how = tr("no file tells its rank; they are counted through in the order of their names")
    else:
        named = ", ".join(list(told)[:3]) + (", …" if len(told) > 3 else "")
        how = tr("ranks told by {how}", how=named)
    count = len(_of_state(job, "computed"))
    lines = [tr_n("{count} rank; {how}", "{count} ranks; {how}", count, how=how)]
    formats = Counter(one.format for one in _of_state(job, "computed"))
    if len(formats) > 1:
        each = [
            f"{translated(name) or tr('captures of Warpline')} ({number})" for name, number in formats.items()
        ]
        lines.append(tr("of several formats: {formats}", formats=", ".join(each)))
    if missing := [one.rank for one in _of_state(job, "missing")]:
        count = len(missing)
        lines.append(tr_n("no file of rank {ranks}", "no file of ranks {ranks}", count, ranks=_runs(missing)))
    lines += [
        tr("rank {rank} failed: {path}: {reason}", rank=one.rank, path=one.where, reason=one.reason)
        for one in _of_state(job, "failed")
    ]
    lines += [
        tr("left out: {path}: {reason}", path=one.where, reason=one.reason)
        if one.rank is None
        else tr("left out, rank {rank}: {path}: {reason}", rank=one.rank, path=one.where, reason=one.reason)
        for one in job.left_out
    ]
    return lines


def _runs(numbers: Sequence[int]) -> str:
    """Ascending numbers with neighbours put together: 2, 4–7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ", ".join("–".join(map(str, run)) for run in runs)


command = JobCommand()
