"""The ranks of a training job put side by side: what the window and ``warpline job`` show."""

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
    """What became of a rank."""

    COMPUTED = "computed"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True)
class JobRank:
    """A rank of a job: its file (None where there is none), what told that it is this rank, the host it ran on (empty
    where not recorded), what became of it, and why where it is not computed; its URL where it lies on no disk of this
    machine, and the format of a trace (English; empty for a capture).
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
        """The file as people know it: its URL where it lies on no disk of this machine."""
        return self.url or str(self.path or "")


class JobWatch:
    """Is told, in the thread of `open_job`, how it goes on; this one does nothing of it."""

    def found(self, files: JobFiles) -> None:
        """Which ranks there are, before any is computed."""

    def ready(self, one: JobRank) -> None:
        """A rank is computed, or has failed and says why."""


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """A job, computed.

    ``ranks``: every rank by number, those that failed or have no file among them. ``left_out``: other files that are
    of no use, and why. ``steps``: the matrices steps x ranks. ``clocks``: how the clock of each rank lies against the
    others, by rank. ``reports``: the tables by name, ``job_ranks``, ``job_steps``, ``job_stragglers`` … and those
    asked for; a report that could not be made says why (`Report.result` is a `NotRecorded`). ``findings``: what stands
    out, worst first.
    """

    ranks: tuple[JobRank, ...]
    left_out: tuple[LeftOut, ...]
    steps: StepMatrix
    clocks: Mapping[int, RankClock]
    reports: Mapping[str, Report]
    findings: tuple[JobFinding, ...] = ()

    def step_ranks(self) -> Report:
        """``job_step_ranks``, a row for each step of each rank: what ``steps`` holds as a table, for programs."""
        known = self.reports["job_steps"]
        result = self.steps.table() if known.table is not None else known.result
        return Report("job_step_ranks", english("Steps of each rank"), known.range_ns, result)

    def rank(self, number: int) -> JobRank:
        """The rank of that number. Raises KeyError when the job has none."""
        for one in self.ranks:
            if one.rank == number:
                return one
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
    """The job in folders, files and URLs (texts with ``://``, for fsspec): each rank computed where it lies, or taken
    from what is kept.

    ``reports`` are names of further reports to be spread over the ranks, ``every`` all their quantities instead of
    the first; ``pattern`` says where a name has its rank, ``step`` which range is a step; ``scheduler`` and
    ``workers`` who computes (`run_ranks`). ``progress`` is told each rank as it becomes ready. Call it in a worker
    thread: it waits for the ranks. ``watch`` is told the same rank by rank. ``cancelled`` is asked between ranks and
    while one is waited for; what is computed is kept. Whoever has found the ranks already (`find_job`) hands them in
    as ``files``.

    Raises UsageError when no file is a rank's or a report is unknown, WarplineError when the scheduler is not there,
    Cancelled.
    """
    progress(0.0, tr("looking for the ranks"))
    files = files or find_job(paths, pattern, progress, cancelled)
    watch = watch or JobWatch()
    watch.found(files)
    forget_old()
    names = (*NEEDED, *reports)
    gathered = JobGatherer(reports, every=every)
    failed: list[LeftOut] = []
    done = 0.0

    def tell(text: str) -> None:
        progress(done, text)

    running = run_ranks(files.ranks, names, step, scheduler, workers, tell, cancelled)
    for number, (one, found) in enumerate(running, 1):
        check_cancelled(cancelled)
        done = number / len(files.ranks)
        place = f"[{number}/{len(files.ranks)}]"
        if found.reason:
            failed.append(LeftOut(one.path, found.reason, one.rank, one.url))
            tell(tr("{place} rank {rank}: {reason}", place=place, rank=one.rank, reason=found.reason))
            watch.ready(
                JobRank(
                    one.rank, one.path, one.told_by, state=RankState.FAILED, reason=found.reason, url=one.url
                )
            )
            continue
        gathered.add(one.rank, {name: unpack(packed) for name, packed in found.reports.items()})
        tell(tr("{place} rank {rank} is computed: {name}", place=place, rank=one.rank, name=one.path.name))
        watch.ready(JobRank(one.rank, one.path, one.told_by, url=one.url))
    made = gathered.finish()
    read = {one.rank for one in files.ranks}
    return TrainingJob(
        _ranks(files, failed, made.hosts),
        tuple(one for one in files.left_out if one.rank is None or one.rank in read),
        made.steps,
        MappingProxyType(made.clocks),
        MappingProxyType({report.name: report for report in made.reports}),
        made.findings,
    )


def _ranks(files: JobFiles, failed: Sequence[LeftOut], hosts: Mapping[int, str]) -> tuple[JobRank, ...]:
    reasons = {one.rank: one.reason for one in failed}
    unread = {one.rank: one for one in files.left_out if one.rank is not None}
    found = {
        one.rank: JobRank(
            one.rank,
            one.path,
            one.told_by,
            hosts.get(one.rank, ""),
            RankState.FAILED if one.rank in reasons else RankState.COMPUTED,
            reasons.get(one.rank, ""),
            one.url,
            one.format,
        )
        for one in files.ranks
    }
    for rank, left in unread.items():
        found.setdefault(
            rank, JobRank(rank, left.path, state=RankState.FAILED, reason=left.reason, url=left.url)
        )
    for rank in files.missing:
        found.setdefault(
            rank, JobRank(rank, None, state=RankState.MISSING, reason=tr("there is no file of it"))
        )
    return tuple(found[rank] for rank in sorted(found))
