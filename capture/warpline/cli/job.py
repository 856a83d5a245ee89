"""``warpline job``: reports over the ranks of a training job."""

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
from warpline.untrusted import listing

if TYPE_CHECKING:
    from warpline.library.jobs import JobRank, LeftOut, TrainingJob

_PIPE_WIDTH = 160
_ROWS = 20


class JobCommand:
    """Print findings and reports over the ranks of a job."""

    name = "job"
    help = english("findings and reports over the ranks of a training job")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "paths",
            nargs="+",
            metavar="DIR|FILE|URL",
            help=tr("captures or traces, one for each rank"),
        )
        parser.add_argument(
            "--report",
            action="append",
            default=[],
            metavar="NAME",
            help=tr("also spread the values of this report over the ranks; may be repeated"),
        )
        parser.add_argument(
            "--scheduler",
            metavar="ADDRESS",
            help=tr(
                "compute on the workers of this Dask scheduler (tcp://HOST:PORT), which must see the same files"
            ),
        )
        parser.add_argument(
            "--workers",
            type=int,
            metavar="N",
            help=tr("number of local processes (default: the number of cores, at most four)"),
        )
        parser.add_argument(
            "--rank-pattern",
            metavar="REGEX",
            help=tr(
                "regular expression whose first group is the rank in a file's name (default: rank and a number)"
            ),
        )
        parser.add_argument(
            "--step",
            metavar="NAME",
            help=tr("treat ranges of this name as steps; /iter_\\d+/ is a regular expression"),
        )
        parser.add_argument(
            "--rows", type=int, default=_ROWS, metavar="N", help=tr("show at most N rows of each table")
        )
        parser.add_argument("--json", action="store_true", help=tr("print JSON with all rows and columns"))

    def run(self, args: argparse.Namespace) -> int:
        """Print the job. Returns 1 when no rank could be read."""
        from warpline.analysis.framework.registry import find_report
        from warpline.library.jobs import open_job

        if args.rows < 0:
            raise UsageError(tr("--rows cannot be negative"))
        if args.workers is not None and args.workers < 1:
            raise UsageError(tr("--workers must be at least 1"))
        reports = list(dict.fromkeys(args.report))
        for name in reports:
            find_report(name)
        job = open_job(
            [text if "://" in text else Path(text) for text in args.paths],
            reports=reports,
            pattern=args.rank_pattern,
            step=args.step,
            scheduler=args.scheduler,
            workers=args.workers,
            every=args.json,
            progress=_print_progress,
        )
        if args.json:
            _print_json(job)
        else:
            _print_text(job, args)
        return 0 if _ranks_in(job, "computed") else 1


def _ranks_in(job: TrainingJob, state: str) -> list[JobRank]:
    return [rank for rank in job.ranks if rank.state == state]


def _print_progress(_fraction: float, text: str) -> None:
    print(f"warpline: {text}", file=sys.stderr, flush=True)


def _print_json(job: TrainingJob) -> None:
    import orjson

    from warpline.analysis.framework.report_json import json_parts

    head = {
        "ranks": [
            {
                "rank": rank.rank,
                "path": rank.where,
                "told_by": rank.told_by,
                "host": rank.host or None,
                "format": rank.format or None,
            }
            for rank in _ranks_in(job, "computed")
        ],
        "failed": [_file_json(rank) for rank in _ranks_in(job, "failed")],
        "left_out": [_file_json(file) for file in job.left_out],
        "missing": [rank.rank for rank in _ranks_in(job, "missing")],
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


def _file_json(file: LeftOut | JobRank) -> dict[str, Any]:
    return {"rank": file.rank, "path": file.where, "reason": file.reason}


def _print_text(job: TrainingJob, args: argparse.Namespace) -> None:
    from warpline.analysis.framework.text_tables import write_text

    print(listing(_head(job)))
    width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    for line in _findings(job, width):
        print(listing([line]))
    for report in job.reports.values():
        if report.table is not None and report.name != "job_findings":
            print()
            for line in write_text(report, width, limit=args.rows):
                print(listing([line]))
    for line in _not_recorded(job, width):
        print(listing([line]))


def _findings(job: TrainingJob, width: int) -> Iterator[str]:
    """The findings, each with its remedy."""
    from warpline.analysis.framework.text_tables import wrapped

    for finding in job.findings:
        yield ""
        yield from wrapped(f"[{finding.severity}] {translated(finding.title)}", width)
        yield from wrapped(translated(finding.text), width, "  ")
        if finding.remedy:
            yield from wrapped(translated(finding.remedy), width, "  → ")


def _not_recorded(job: TrainingJob, width: int) -> Iterator[str]:
    """The reasons why tables are missing, each once."""
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
    """The number of ranks, how they were recognised, and what is missing."""
    from warpline.library.jobs.finding import BY_ORDER

    sources = dict.fromkeys(rank.told_by for rank in job.ranks if rank.told_by)
    if BY_ORDER in sources:
        how = tr("no file states its rank, so files are numbered in the order of their names")
    else:
        named = ", ".join(list(sources)[:3]) + (", …" if len(sources) > 3 else "")
        how = tr("rank numbers from {sources}", sources=named)
    count = len(_ranks_in(job, "computed"))
    lines = [tr_n("{count} rank; {how}", "{count} ranks; {how}", count, how=how)]
    formats = Counter(rank.format for rank in _ranks_in(job, "computed"))
    if len(formats) > 1:
        each = [
            f"{translated(name) or tr('Warpline captures')} ({number})" for name, number in formats.items()
        ]
        lines.append(tr("several formats: {formats}", formats=", ".join(each)))
    if missing := [rank.rank for rank in _ranks_in(job, "missing")]:
        count = len(missing)
        lines.append(
            tr_n("no file for rank {ranks}", "no file for ranks {ranks}", count, ranks=_runs(missing))
        )
    lines += [
        tr("rank {rank} failed: {path}: {reason}", rank=rank.rank, path=rank.where, reason=rank.reason)
        for rank in _ranks_in(job, "failed")
    ]
    lines += [
        tr("left out: {path}: {reason}", path=file.where, reason=file.reason)
        if file.rank is None
        else tr(
            "left out, rank {rank}: {path}: {reason}", rank=file.rank, path=file.where, reason=file.reason
        )
        for file in job.left_out
    ]
    return lines


def _runs(numbers: Sequence[int]) -> str:
    """Ascending numbers with consecutive ones joined: 2, 4–7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ", ".join("–".join(map(str, run)) for run in runs)


command = JobCommand()
