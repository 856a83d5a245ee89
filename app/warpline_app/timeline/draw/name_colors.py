"""Timeline colours of names and events, for tables, charts and flame graphs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from warpline_app.look.theme import Theme
from warpline_app.timeline.draw.codes import ColorTable
from warpline_app.timeline.draw.event_colors import EventColors

if TYPE_CHECKING:
    from warpline.storage import Capture

_HUED = frozenset(("range", "operator", "phase", "python", "os"))
_LOOKED_AT = 1 << 20
"""Number of events of a kind searched for an example of a name."""


class NameColors:
    """Colours as ``#rrggbb`` of a capture's events in a theme."""

    def __init__(self, capture: Capture, theme: Theme) -> None:
        self._capture = capture
        self.theme = theme
        self._colors = EventColors(capture, ColorTable(theme))
        self.of_name = lru_cache(4096)(self._of_name)
        self._examples = lru_cache(None)(self._find_examples)

    def of_event(self, row: int) -> str:
        """The colour of an event: its own, its name's or its kind's."""
        events = self._capture.events
        at = np.array([row], np.int64)
        return self._hex(int(self._colors.of(at, events.kind[at], events.flags[at])[0]))

    def _of_name(self, code: int, name: int) -> str:
        """The common colour of a kind's events with a name."""
        kind = self._capture.kind_of_code.get(code, "")
        table = self._capture.kinds.get(kind)
        family = table.spec.color if table is not None else ""
        if table is not None and (family == "copy" or "color_argb" in table.attributes):
            row = self._examples(kind).get(name)
            if row is not None:
                return self.of_event(row)
        names = np.array([name], np.int64)
        if family == "kernel":
            return self.theme.family("communication" if self._colors.communication(names)[0] else "kernel")
        if family == "api":
            return self.theme.family("sync" if self._colors.waits(names)[0] else "api")
        return self.hue(name) if family in _HUED else self.theme.family(family)

    def _find_examples(self, kind: str) -> dict[int, int]:
        """For each name of a kind, the row of its first event among the first ones."""
        rows = self._capture.kinds[kind].stored_rows[:_LOOKED_AT]
        names, first = np.unique(self._capture.events.name[rows], return_index=True)
        return dict(zip(names.tolist(), np.asarray(rows)[first].tolist(), strict=True))

    def hue(self, name: int) -> str:
        """The hue of a name: of an operator, range or function."""
        return self._hex(int(self._colors.hue_of_names(np.array([name], np.int64))[0]))

    def of_range(self, name: int) -> str:
        """The colour of ranges with a name: the author's choice, else the name's hue."""
        table = self._capture.kinds.get("range")
        return self.hue(name) if table is None else self.of_name(table.code, name)

    def _hex(self, number: int) -> str:
        return f"#{self._colors.table.rgb(number) & 0xFFFFFF:06x}"
