"""Summaries of ranges: NVTX, and what frameworks record the same way (user annotations, RecordEvent)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.statistics import batch_statistics
from warpline.analysis.framework.tables import LISTED, Groups, scope_text, stat_columns, stat_data
from warpline.analysis.ranges.range_names import _STYLES, RangeNames, range_targets, style_texts, styles
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def range_sum(view: View, wanted: tuple[int, ...], with_style: bool) -> Table | NotRecorded:
    if not view.has("range"):
        return missing("range")
    names = RangeNames(view)
    groups = Groups()
    is_wanted = np.isin(np.arange(len(_STYLES)), wanted)

    def batches() -> Iterator[tuple[Int64Array, Int64Array]]:
        for events in view.batches("range"):
            style = styles(view, events.index, events.row)
            keep = is_wanted[style]
            domain = names.domains(events.index)
            yield groups.codes(domain[keep], events.name[keep], style[keep]), events.inside[keep]

    stats = batch_statistics(batches).by_total()
    domain, name, style = (np.ma.getdata(column) for column in groups.columns(stats.key, 3))
    code = (domain << 32) | name
    columns = [*stat_columns(english("Instances"), LISTED)]
    data: dict[str, Values] = stat_data(stats)
    if with_style:
        columns.append(Column("style", "Style", Role.TEXT, key=True))
        data["style"] = style_texts(style)
    columns.append(Column("name", "Range", Role.NAME, key=True))
    data["name"] = names.texts(code)
    return Table(
        tuple(columns), data, targets=range_targets(view, code), scope=scope_text(view, english("Ranges"))
    )
