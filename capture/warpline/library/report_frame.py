"""A report of a capture as a table of columns, as `report` returns it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warpline.analysis.framework.report import Report, Table, Texts
from warpline.interchange.export.event_columns import CodedColumn, text_column
from warpline.library.column_frame import ColumnFrame
from warpline.model import NotRecordedError


class ReportFrame(ColumnFrame):
    """The rows of a report. A report that is a tree has the column ``depth`` first, parents before their children.

    ``name`` and ``title`` say which report, ``range_ns`` what part of the capture it is about (ns since its start),
    ``units`` the unit of each column that has one (``ns``, ``bytes``, ``ratio`` …), ``scope`` and ``notes`` what the
    numbers cover.
    """

    def __init__(self, report: Report) -> None:
        """Raises NotRecordedError when the capture has nothing to report."""
        if not isinstance(report.result, Table):
            raise NotRecordedError(f"{report.name}: {report.result}")
        table = self._table = report.result
        self.name = report.name
        self.title = report.title
        self.range_ns = report.range_ns
        self.units: Mapping[str, str] = {column.name: column.unit for column in table.columns if column.unit}
        self.scope = table.scope
        self.notes = table.notes
        names = [column.name for column in table.columns]
        super().__init__(names if table.depth is None else ["depth", *names], len(table))

    def _make(self, name: str) -> CodedColumn:
        table = self._table
        if name == "depth" and table.depth is not None:
            return CodedColumn(table.depth)
        values = table.data[name]
        if isinstance(values, np.ndarray):
            gone = np.ma.getmaskarray(values)
            plain = np.ma.getdata(values)
            if plain.dtype.kind == "f":
                gone = gone | np.isnan(plain)
            return CodedColumn(plain, ~gone if gone.any() or np.ma.isMaskedArray(values) else None)
        if isinstance(values, Texts):
            distinct, codes = np.unique(values.codes, return_inverse=True)
            texts = [None if code < 0 else values.lookup(code) for code in distinct.tolist()]
        else:
            texts = list(dict.fromkeys(values))
            place = {text: code for code, text in enumerate(texts)}
            codes = np.array([place[text] for text in values], np.int32)
        is_there = np.array([text is not None for text in texts], bool)
        valid = None if is_there.all() else is_there[codes]
        return text_column(codes, lambda wanted: [texts[code] or "" for code in wanted], valid)
