"""Commands on the map of a job's ranks."""

from __future__ import annotations

from collections.abc import Callable

from warpline_app.commands.command import Need, WindowCommand
from warpline_app.commands.context import CommandContext
from warpline_app.open.job.board import JobBoard
from warpline_app.open.job.row_order import RowOrder


def _board(context: CommandContext) -> JobBoard | None:
    front = context.workspace.front
    return front if isinstance(front, JobBoard) else None


def _if_board(test: Callable[[JobBoard], bool]) -> Callable[[CommandContext], bool]:
    def ask(context: CommandContext) -> bool:
        board = _board(context)
        return board is not None and test(board)

    return ask


A_JOB = Need(lambda context: _board(context) is not None, "Open a job first")
A_RANK = Need(_if_board(lambda board: bool(board.ranks_chosen())), "Select a cell of the map first")
HOSTS = Need(_if_board(lambda board: board.map.has_hosts), "No rank recorded its host")


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


def _sort_command(by: RowOrder, title: str, *needs: Need) -> WindowCommand:
    def sort(context: CommandContext) -> None:
        board = _board(context)
        if board is not None:
            board.set_order(by)

    return WindowCommand(
        f"job.by_{by.value}",
        title,
        "Analyze",
        sort,
        needs=(A_JOB, *needs),
        checked=_if_board(lambda board: board.order_by is by),
        group="job",
    )


JOB_COMMANDS: tuple[WindowCommand, ...] = (
    WindowCommand(
        "file.open_job",
        "Open job…",
        "File",
        _open_folder,
        ("Ctrl+Shift+O",),
        group="job",
        hint="Show the ranks in a folder side by side, as a map of ranks and steps",
    ),
    WindowCommand(
        "file.open_job_files",
        "Open files as job…",
        "File",
        _open_files,
        group="job",
        hint="Show the ranks in several files side by side",
    ),
    WindowCommand(
        "job.open_chosen",
        "Open selected ranks",
        "Analyze",
        _open_chosen,
        needs=(A_JOB, A_RANK),
        group="job",
        hint="Open a rank's capture at the selected step, or several ranks aligned on one timeline",
    ),
    _sort_command(RowOrder.RANK, "Sort ranks by number"),
    _sort_command(RowOrder.HOST, "Sort ranks by host", HOSTS),
    _sort_command(RowOrder.VALUE, "Sort ranks by value"),
)
