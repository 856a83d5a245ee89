"""Links between events as a table of columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from warpline.interchange.export.event_columns import CodedColumn, text_column
from warpline.library.column_frame import ColumnFrame
from warpline.storage import NO_ROW, Links


class LinkFrame(ColumnFrame):
    """What led to what, by ``from_row``: the columns ``kind`` (``launch`` …), ``from_row`` and ``to_row``.

    These are values of the column ``row`` of events. An end outside the capture is masked.
    """

    def __init__(self, links: Links, check: Callable[[], object] | None = None) -> None:
        self._links = links
        super().__init__(("kind", "from_row", "to_row"), len(links), check)

    @property
    def kinds(self) -> dict[str, int]:
        """Number of links of each kind."""
        return self._links.counts()

    def _make(self, name: str) -> CodedColumn:
        if name == "kind":
            names = self._links.kind_name
            return text_column(self._links.kind, lambda codes: [names(code) for code in codes], None)
        rows: npt.NDArray[np.int64] = self._links.from_row if name == "from_row" else self._links.to_row
        return CodedColumn(rows, rows != NO_ROW)
