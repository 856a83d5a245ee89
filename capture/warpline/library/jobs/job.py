"""A training job of many ranks, as the window and ``warpline job`` show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from warpline.analysis.framework.report import Report
from warpline.analysis.jobs.clocks import RankClock
from warpline.analysis.jobs.job_findings import JobFinding
from warpline.analysis.jobs.job_reports import NEEDED, JobGatherer
from warpline.analysis.jobs.packed_reports import unpack
from warpline.analysis.jobs.step_matrix import StepMatrix
from warpline.i18n import english, tr
from warpline.library.jobs.computing import forget_old
from warpline.library.jobs.finding import JobFiles, LeftOut, find_job
from warpline.library.jobs.running import run_ranks
from warpline.model.progress import IsCancelled, Progress, check_cancelled, never, unwatched


class RankState(StrEnum):
    """The state of a rank."""

    COMPUTED = "computed"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True, kw_only=True)
class JobRank:
    """A rank of a job.

    ``path`` is its file (None: missing), ``told_by`` the source of its number, ``host`` empty when not recorded,
    ``reason`` why it is not computed, ``url`` set for remote files, ``format`` that of a trace (English; empty for a
    capture).
    """

    rank: int
    path: Path | None
    told_by: str = ""
    host: str = ""
    state: RankState = RankState.COMPUTED
    reason: str = ""
    url: str = ""
    format: str = ""

    @property
    def where(self) -> str:
        """The URL or path for people."""
        return self.url or str(self.path or "")


class JobWatch:
    """Receives the progress of `open_job`, in its thread; this base class ignores it."""

    def found(self, files: JobFiles) -> None:
        """The ranks were found; none is computed yet."""

    def ready(self, rank: JobRank) -> None:
        """A rank was computed, or failed with a reason."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingJob:
    """The results of a job.

    ``ranks``: all ranks by number, including failed and missing ones. ``left_out``: other files, with reasons.
    ``steps``: matrices, steps × ranks. ``clocks``: the clock of each rank. ``reports``: the tables by name
    (``job_ranks``, ``job_steps``, …) and those asked for; `Report.result` is a `NotRecorded` with the reason when a
    report could not be tables. ``findings``: worst first.
    """

    ranks: tuple[JobRank, ...]
    left_out: tuple[LeftOut, ...]
    steps: StepMatrix
    clocks: Mapping[int, RankClock]
    reports: Mapping[str, Report]
    findings: tuple[JobFinding, ...] = ()

    def step_ranks(self) -> Report:
        """``job_step_ranks``: ``steps`` as a table with a row for each step of each rank."""
        known = self.reports["job_steps"]
        result = self.steps.table() if known.table is not None else known.result
        return Report("job_step_ranks", english("Steps of each rank"), known.range_ns, result)

    def rank(self, number: int) -> JobRank:
        """The rank with this number. Raises KeyError if there is none."""
        for rank in self.ranks:
            if rank.rank == number:
                return rank
        raise KeyError(number)


def open_job(
    paths: Sequence[Path | str],
    *,
    reports: Sequence[str] = (),
    pattern: str | None = None,
    step: str | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    every: bool = True,
    progress: Progress = unwatched,
    cancelled: IsCancelled = never,
    watch: JobWatch | None = None,
    files: JobFiles | None = None,
) -> TrainingJob:
    """Open the job in folders, files and URLs (texts with ``://``, for fsspec). Each rank is computed where its file
    lies, or read from the cache.

    ``reports`` are further reports to spread over the ranks, with all quantities (``every``) or only the first.
    ``pattern`` finds the rank in a name, ``step`` names the ranges that are steps, ``scheduler`` and ``workers`` say
    where to compute (`run_ranks`). ``progress`` and ``watch`` receive each rank when it is ready. The call blocks, so
    make it in a worker thread. After ``cancelled``, computed ranks stay cached. ``files`` is the result of an earlier
    `find_job`.

    Raises UsageError when no file is a rank or a report is unknown, WarplineError when the scheduler does not answer,
    Cancelled.
    """
    progress(0.0, tr("looking for the ranks"))
    files = files or find_job(paths, pattern, progress, cancelled)
    watch = watch or JobWatch()
    watch.found(files)
    forget_old()
    names = (*NEEDED, *reports)
    gatherer = JobGatherer(reports, every=every)
    failed: list[LeftOut] = []
    done = 0.0

    def report_progress(text: str) -> None:
        progress(done, text)

    running = run_ranks(files.ranks, names, step, scheduler, workers, report_progress, cancelled)
    for number, (rank_file, found) in enumerate(running, 1):
        check_cancelled(cancelled)
        done = number / len(files.ranks)
        place = f"[{number}/{len(files.ranks)}]"
        if found.reason:
            failed.append(LeftOut(rank_file.path, found.reason, rank_file.rank, rank_file.url))
            report_progress(
                tr("{place} rank {rank}: {reason}", place=place, rank=rank_file.rank, reason=found.reason)
            )
            watch.ready(
                JobRank(
                    rank=rank_file.rank,
                    path=rank_file.path,
                    told_by=rank_file.told_by,
                    state=RankState.FAILED,
                    reason=found.reason,
                    url=rank_file.url,
                )
            )
            continue
        gatherer.add(rank_file.rank, {name: unpack(packed) for name, packed in found.reports.items()})
        report_progress(
            tr(
                "{place} rank {rank} computed: {name}",
                place=place,
                rank=rank_file.rank,
                name=rank_file.path.name,
            )
        )
        watch.ready(
            JobRank(rank=rank_file.rank, path=rank_file.path, told_by=rank_file.told_by, url=rank_file.url)
        )
    tables = gatherer.finish()
    ranks = {file.rank for file in files.ranks}
    return TrainingJob(
        ranks=_ranks(files, failed, tables.hosts),
        left_out=tuple(file for file in files.left_out if file.rank is None or file.rank in ranks),
        steps=tables.steps,
        clocks=MappingProxyType(tables.clocks),
        reports=MappingProxyType({report.name: report for report in tables.reports}),
        findings=tables.findings,
    )


def _ranks(files: JobFiles, failed: Sequence[LeftOut], hosts: Mapping[int, str]) -> tuple[JobRank, ...]:
    reasons = {failure.rank: failure.reason for failure in failed}
    unread = {file.rank: file for file in files.left_out if file.rank is not None}
    found = {
        rank_file.rank: JobRank(
            rank=rank_file.rank,
            path=rank_file.path,
            told_by=rank_file.told_by,
            host=hosts.get(rank_file.rank, ""),
            state=RankState.FAILED if rank_file.rank in reasons else RankState.COMPUTED,
            reason=reasons.get(rank_file.rank, ""),
            url=rank_file.url,
            format=rank_file.format,
        )
        for rank_file in files.ranks
    }
    for rank, left in unread.items():
        found.setdefault(
            rank, JobRank(rank=rank, path=left.path, state=RankState.FAILED, reason=left.reason, url=left.url)
        )
    for rank in files.missing:
        found.setdefault(
            rank, JobRank(rank=rank, path=None, state=RankState.MISSING, reason=tr("it has no file"))
        )
    return tuple(found[rank] for rank in sorted(found))
