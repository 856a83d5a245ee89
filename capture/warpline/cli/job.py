"""``warpline job``: the ranks of a training job, each computed where its file lies, put side by side."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import english, tr, tr_n
from warpline.model import UsageError

if TYPE_CHECKING:
    from warpline.analysis.framework.report import Report
    from warpline.library.jobs.finding import JobFiles, LeftOut

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
            type=Path,
            metavar="DIR|FILE",
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
        from warpline.analysis.jobs.job_reports import job_reports
        from warpline.library.jobs.finding import find_job

        if args.rows < 0:
            raise UsageError(tr("--rows cannot be negative"))
        if args.workers is not None and args.workers < 1:
            raise UsageError(tr("--workers must be at least 1"))
        asked = list(dict.fromkeys(args.report))
        for name in asked:
            find_report(name)
        job = find_job(args.paths, args.rank_pattern)
        computed, failed = _computed(job, asked, args)
        reports = job_reports(computed, asked, every=args.json)
        if args.json:
            _print_json(job, failed, reports)
        else:
            _print_text(job, failed, reports, args)
        return 0 if computed else 1


def _computed(
    job: JobFiles, asked: list[str], args: argparse.Namespace
) -> tuple[dict[int, dict[str, Report]], list[LeftOut]]:
    """Of each rank its reports, and the ranks that have none; says on stderr what becomes of each."""
    from warpline.analysis.jobs.job_reports import NEEDED
    from warpline.analysis.jobs.packed_reports import unpack
    from warpline.library.jobs.computing import forget_old
    from warpline.library.jobs.finding import LeftOut
    from warpline.library.jobs.running import run_ranks

    forget_old()
    computed: dict[int, dict[str, Report]] = {}
    failed: list[LeftOut] = []
    running = run_ranks(job.ranks, (*NEEDED, *asked), args.step, args.scheduler, args.workers, _tell)
    for number, (one, tables) in enumerate(running, 1):
        place = f"[{number}/{len(job.ranks)}]"
        if tables.reason:
            failed.append(LeftOut(one.path, tables.reason, one.rank))
            _tell(tr("{place} rank {rank}: {reason}", place=place, rank=one.rank, reason=tables.reason))
            continue
        computed[one.rank] = {name: unpack(packed) for name, packed in tables.reports.items()}
        _tell(tr("{place} rank {rank} is computed: {name}", place=place, rank=one.rank, name=one.path.name))
    return computed, failed


def _tell(text: str) -> None:
    print(f"warpline: {text}", file=sys.stderr, flush=True)


def _print_json(job: JobFiles, failed: list[LeftOut], reports: list[Report]) -> None:
    import orjson

    from warpline.analysis.framework.report_json import json_parts

    def left_out(entries: list[LeftOut]) -> list[dict[str, Any]]:
        return [{"rank": one.rank, "path": str(one.path), "reason": one.reason} for one in entries]

    head = {
        "ranks": [
            {"rank": one.rank, "path": str(one.path), "told_by": one.told_by}
            for one in job.ranks
            if one.rank not in {other.rank for other in failed}
        ],
        "failed": left_out(failed),
        "left_out": left_out(list(job.left_out)),
        "missing": list(job.missing),
    }
    sys.stdout.flush()
    out = sys.stdout.buffer
    out.write(orjson.dumps(head)[:-1] + b',\n"reports":[')
    for number, report in enumerate(reports):
        if number:
            out.write(b",")
        for part in json_parts(report):
            out.write(part)
    out.write(b"]}\n")


def _print_text(
    job: JobFiles, failed: list[LeftOut], reports: list[Report], args: argparse.Namespace
) -> None:
    from warpline.analysis.framework.text_tables import write_text

    for line in _head(job, failed):
        print(line)
    width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    for report in reports:
        print()
        for line in write_text(report, width, limit=args.rows):
            print(line)


def _head(job: JobFiles, failed: list[LeftOut]) -> list[str]:
    """How many ranks there are and what told them, and whatever is missing."""
    from warpline.library.jobs.finding import BY_ORDER

    told = dict.fromkeys(one.told_by for one in job.ranks)
    if BY_ORDER in told:
        how = tr("no file tells its rank; they are counted through in the order of their names")
    else:
        named = ", ".join(list(told)[:3]) + (", …" if len(told) > 3 else "")
        how = tr("ranks told by {how}", how=named)
    count = len(job.ranks) - len(failed)
    lines = [tr_n("{count} rank; {how}", "{count} ranks; {how}", count, how=how)]
    if job.missing:
        count = len(job.missing)
        lines.append(
            tr_n("no file of rank {ranks}", "no file of ranks {ranks}", count, ranks=_runs(job.missing))
        )
    lines += [
        tr("rank {rank} failed: {path}: {reason}", rank=one.rank, path=one.path, reason=one.reason)
        for one in failed
    ]
    lines += [
        tr("left out: {path}: {reason}", path=one.path, reason=one.reason)
        if one.rank is None
        else tr("left out, rank {rank}: {path}: {reason}", rank=one.rank, path=one.path, reason=one.reason)
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
