"""Texts for cells, rows and values of a job's map."""

from __future__ import annotations

from warpline.analysis.framework.cell_text import format_value
from warpline.analysis.framework.column import Column
from warpline.i18n import tr, tr_n, translated
from warpline.library.jobs import JobRank, RankState
from warpline.model.times import format_duration
from warpline_app.open.job.board import Cell, JobBoard
from warpline_app.open.job.job_map import JobMap


def value_text(column: Column | None, value: float | None) -> str:
    """A value with its unit; a dash if not recorded."""
    if value is None or column is None:
        return "–"
    if column.unit == "ns":
        return format_duration(round(value))
    if column.unit == "ratio":
        return f"{value:.1%}"
    return format_value(value, column, "ns")


def column_title(column: Column | None) -> str:
    """Title of a quantity."""
    return "" if column is None else translated(column.title)


def rank_title(job_rank: JobRank) -> str:
    """The rank and, if known, its host."""
    title = tr("rank {number}", number=job_rank.rank)
    return f"{title} · {job_rank.host}" if job_rank.host else title


def absence(job_map: JobMap, row: int) -> str:
    """Why a row has no cells; empty if it has some."""
    job_rank = job_map.ranks[row]
    if job_rank.state is RankState.FAILED:
        return tr("failed: {reason}", reason=translated(job_rank.reason))
    if job_rank.state is RankState.MISSING:
        return translated(job_rank.reason) or tr("no file found for this rank")
    if not job_map.has_steps(row):
        return translated(job_rank.reason) or tr("no steps recorded on this rank")
    return ""


def deviation_text(column: Column | None, value: float, median: float) -> str:
    """Difference of a value from the median of the ranks."""
    difference = value - median
    sign = "+" if difference >= 0 else "−"
    text = sign + value_text(column, abs(difference))
    if median:
        text += f" ({sign}{abs(difference / median):.1%})"
    return text


def cell_lines(board: JobBoard, cell: Cell) -> list[str]:
    """Description of a cell, line by line: rank, host, step, value, difference from the other ranks."""
    row, step = cell
    job_map = board.map
    lines = [rank_title(job_map.ranks[row])]
    reason = absence(job_map, row)
    if reason:
        return [*lines, reason]
    lines.append(tr("step {number}", number=int(job_map.steps[step])))
    column = job_map.column(board.column)
    value = job_map.value(board.column, row, step)
    if value is None:
        return [*lines, tr("{quantity}: not recorded in this step", quantity=column_title(column))]
    lines.append(f"{column_title(column)}: {value_text(column, value)}")
    median = job_map.step_median(board.column, step)
    if median is not None:
        lines.append(
            tr(
                "{difference} compared with the median of the ranks, {median}",
                difference=deviation_text(column, value, median),
                median=value_text(column, median),
            )
        )
    return lines


def chosen_text(board: JobBoard) -> str:
    """The size of the selection."""
    chosen = board.chosen
    if not chosen.rows:
        return ""
    ranks = tr_n("{count:,} rank", "{count:,} ranks", len(chosen.rows))
    steps = tr_n("{count:,} step", "{count:,} steps", chosen.last - chosen.first + 1)
    return tr("{ranks} × {steps} selected", ranks=ranks, steps=steps)
