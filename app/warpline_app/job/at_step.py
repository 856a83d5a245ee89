"""Opens timelines from the map of a job: one rank at a step, or several ranks aligned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from warpline.i18n import tr, tr_n
from warpline.library.opening import Opened
from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.open.job.board import JobBoard
from warpline_app.open.opening import Opening, close_opened
from warpline_app.state.timeline_state import Range

if TYPE_CHECKING:
    from warpline.library.jobs import JobRank
    from warpline_app.open.workspace import Workspace

MOST_JOINED = 32
_AROUND = 0.08


def open_chosen(workspace: Workspace, board: JobBoard) -> None:
    """Open the selection: one rank's capture at its step, or several ranks on one timeline.

    Ranks without a file are left out; messages say so.
    """
    ranks, steps = board.ranks_chosen(), board.steps_chosen()
    with_file = [job_rank for job_rank in ranks if job_rank.path is not None]
    if not ranks:
        workspace.tell(tr("Select a cell of the map first"))
    elif not with_file:
        workspace.tell(tr("Rank {number} has no file", number=ranks[0].rank))
    elif len(with_file) == 1:
        _open_rank(workspace, board, with_file[0], steps)
    elif len(with_file) > MOST_JOINED:
        workspace.tell(
            tr(
                "{count:,} ranks are too many for one timeline; select at most {most}",
                count=len(with_file),
                most=MOST_JOINED,
            )
        )
    else:
        _open_ranks(workspace, board, with_file, steps)


def _open_rank(
    workspace: Workspace, board: JobBoard, job_rank: JobRank, steps: tuple[int, int] | None
) -> None:
    assert job_rank.path is not None
    path = job_rank.path.absolute()
    from warpline_app.job.joined_ranks import stretch_of

    step_range = None if steps is None else stretch_of(board, job_rank.rank, steps)
    known = workspace.document_of(path)
    if known is not None:
        workspace.bring_to_front(known)
        _show(known, step_range)
        return
    opening = workspace.open_file(path)
    if opening is not None:
        _ShowsWhenOpen(workspace, opening, lambda: step_range)


def _open_ranks(
    workspace: Workspace, board: JobBoard, ranks: Sequence[JobRank], steps: tuple[int, int] | None
) -> None:
    step_ranges: list[Range] = []

    def work(progress: Progress, is_cancelled: IsCancelled) -> Opened:
        from warpline_app.job.joined_ranks import open_joined

        opened, stretch = open_joined(board, ranks, steps, progress, is_cancelled)
        step_ranges.extend([] if stretch is None else [stretch])
        return opened

    assert ranks[0].path is not None
    opening = Opening(ranks[0].path, Job(work, workspace, discard=close_opened), parent=workspace)
    names = ", ".join(str(job_rank.rank) for job_rank in ranks[:6]) + (", …" if len(ranks) > 6 else "")
    opening.document_title = tr("{job}: ranks {ranks}", job=board.title, ranks=names)
    opening.title = opening.document_title
    opening.heading = tr_n(
        "Aligning {count} rank on one timeline", "Aligning {count} ranks on one timeline", len(ranks)
    )
    _ShowsWhenOpen(workspace, opening, lambda: step_ranges[0] if step_ranges else None)
    workspace.watch_opening(opening)


def _show(document: Document, step_range: Range | None) -> None:
    if step_range is None:
        return
    origin = document.capture.span[0]
    start, stop = origin + step_range[0], origin + step_range[1]
    margin = round(_AROUND * (stop - start))
    document.state.set_view(start - margin, stop + margin)
    document.state.select_range(start, stop)


class _ShowsWhenOpen(QObject):
    """Waits until a capture is open and shows a part of it; deletes itself then, or if opening fails."""

    def __init__(
        self, workspace: Workspace, opening: Opening, step_range: Callable[[], Range | None]
    ) -> None:
        super().__init__(workspace)
        self._opening, self._wanted = opening, step_range
        workspace.item_replaced.connect(self._replaced)
        workspace.item_removed.connect(self._removed)

    def _replaced(self, old: object, new: object) -> None:
        if old is self._opening:
            if isinstance(new, Document):
                _show(new, self._wanted())
            self.deleteLater()

    def _removed(self, item: object) -> None:
        if item is self._opening:
            self.deleteLater()
