"""The table of statistics by name that several of Nsight's summaries share."""

from __future__ import annotations

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import GroupStatistics
from warpline.analysis.framework.tables import (
    LISTED,
    name_targets,
    name_texts,
    scope_text,
    stat_columns,
    stat_data,
    statistics_by_name,
)


def name_summary(
    view: View, kind: str, options: Options, count_title: str, scope: str
) -> Table | NotRecorded:
    """Statistics of the events of a kind by name."""
    if not view.has(kind):
        return missing(kind)
    return statistics_table(view, kind, statistics_by_name(view, kind, options), count_title, scope)


def statistics_table(view: View, kind: str, stats: GroupStatistics, count_title: str, scope: str) -> Table:
    """Statistics whose keys are names (string ids) of events of a kind."""
    return Table(
        (*stat_columns(count_title, LISTED), Column("name", "Name", Role.NAME, key=True)),
        {**stat_data(stats), "name": name_texts(view, stats.key)},
        targets=name_targets(view, stats.key, kind),
        scope=scope_text(view, scope),
    )
