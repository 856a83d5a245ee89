"""What is done with the ranks of a job side by side."""

from __future__ import annotations

from collections.abc import Callable

from warpline_app.commands.command import Need, WindowCommand
from warpline_app.commands.context import CommandContext
from warpline_app.open.job.board import JobBoard
from warpline_app.open.job.row_order import RowOrder


def _board(context: CommandContext) -> JobBoard | None:
    front = context.workspace.front
    return front if isinstance(front, JobBoard) else None


A_JOB = Need(lambda context: _board(context) is not None, "Open a job first")
A_RANK = Need(
    lambda context: (board := _board(context)) is not None and bool(board.ranks_chosen()),
    "Choose a cell of the map first",
)
HOSTS = Need(
    lambda context: (board := _board(context)) is not None and board.map.has_hosts,
    "No rank tells its host",
)


def _open_folder(context: CommandContext) -> None:
    from warpline_app.dialogs.open_job import show_open_job

    show_open_job(context.workspace, context.shell.widget)


def _open_files(context: CommandContext) -> None:
    from warpline_app.dialogs.open_job import show_open_job_files

    show_open_job_files(context.workspace, context.shell.widget)


def _open_chosen(context: CommandContext) -> None:
    from warpline_app.job.at_step import open_chosen

    board = _board(context)
    if board is not None:
        open_chosen(context.workspace, board)


def _sort(by: RowOrder) -> Callable[[CommandContext], None]:
    def act(context: CommandContext) -> None:
        board = _board(context)
        if board is not None:
            board.set_order(by)

    return act


def _is_sorted(by: RowOrder) -> Callable[[CommandContext], bool]:
    def ask(context: CommandContext) -> bool:
        board = _board(context)
        return board is not None and board.order_by is by

    return ask


JOB_COMMANDS: tuple[WindowCommand, ...] = (
    WindowCommand(
        "file.open_job",
        "Open Job…",
        "File",
        _open_folder,
        ("Ctrl+Shift+O",),
        group="job",
        hint="Put the ranks in a folder side by side: a map of ranks and steps",
    ),
    WindowCommand(
        "file.open_job_files",
        "Open Files as Job…",
        "File",
        _open_files,
        group="job",
        hint="Put the ranks that several files are of side by side",
    ),
    WindowCommand(
        "job.open_chosen",
        "Open Chosen Ranks",
        "Analyze",
        _open_chosen,
        needs=(A_JOB, A_RANK),
        group="job",
        hint="Show the capture of a rank at its step, or several ranks aligned on one timeline",
    ),
    WindowCommand(
        "job.by_rank",
        "Sort Ranks by Number",
        "Analyze",
        _sort(RowOrder.RANK),
        needs=(A_JOB,),
        checked=_is_sorted(RowOrder.RANK),
        group="job",
    ),
    WindowCommand(
        "job.by_host",
        "Sort Ranks by Host",
        "Analyze",
        _sort(RowOrder.HOST),
        needs=(A_JOB, HOSTS),
        checked=_is_sorted(RowOrder.HOST),
        group="job",
    ),
    WindowCommand(
        "job.by_value",
        "Sort Ranks by Value",
        "Analyze",
        _sort(RowOrder.VALUE),
        needs=(A_JOB,),
        checked=_is_sorted(RowOrder.VALUE),
        group="job",
    ),
)
