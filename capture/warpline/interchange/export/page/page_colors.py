"""Colours of events on a page: tokens of ``resources/page/colors.json``, as in the window."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.interchange.export.selection import Int64Array
from warpline.model import COPY_KINDS, Flag
from warpline.model.communication import is_communication
from warpline.model.waits import WAIT_FAMILIES

if TYPE_CHECKING:
    from warpline.storage import Capture, KindTable

HUES = 8
_NAMED = frozenset({"core", "range", "operator", "phase", "python", "os"})
"""Families whose events get a hue from their name."""
_STATES = frozenset({"running", "runnable", "blocked", "uninterruptible"})
_WAITS = {int(kind): family.color for family in WAIT_FAMILIES for kind in family.kinds}


class PageColors:
    """Tokens of events: a family (``kernel``), a hue (``hue 3``) or the event's own colour (``#rrggbb``)."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._hues: dict[int, str] = {}

    def of(self, rows: Int64Array) -> list[str]:
        """The token of each event."""
        kinds = self._capture.events.kind[rows]
        tokens = np.full(len(rows), "neutral", object)
        for code in np.unique(kinds).tolist():
            chosen = np.flatnonzero(kinds == code)
            table = self._capture.kinds.get(self._capture.kind_of_code.get(code, ""))
            if table is not None:
                tokens[chosen] = self._of_kind(table, rows[chosen])
        result: list[str] = tokens.tolist()
        return result

    def _of_kind(self, table: KindTable, rows: Int64Array) -> list[str]:
        family = table.spec.color
        names = np.minimum(self._capture.events.name[rows], len(self._capture.strings) - 1).tolist()
        if family in _NAMED:
            own = self._values(table, "color_argb", rows)
            return [
                f"#{argb & 0xFFFFFF:06x}" if argb else self._hue(name)
                for name, argb in zip(names, own, strict=True)
            ]
        if family == "state":
            waits = self._values(table, "wait", rows)
            flags = self._capture.events.flags[rows].tolist()
            return [self._state(*entry) for entry in zip(names, flags, waits, strict=True)]
        texts = self._capture.strings.get(names)
        if family == "kernel":
            return ["communication" if is_communication(text) else "kernel" for text in texts]
        if family == "copy":
            return [_copy(kind) for kind in self._values(table, "copy_kind", rows)]
        if family == "api":
            return ["sync" if "synchronize" in text.casefold() else "api" for text in texts]
        return [family] * len(rows)

    def _hue(self, name: int) -> str:
        if name not in self._hues:
            self._hues[name] = hue_of(self._capture.strings[name])
        return self._hues[name]

    def _state(self, name: int, flags: int, wait: int | None) -> str:
        state = self._capture.strings[name].casefold().split(" ")[0]
        if state not in _STATES:
            state = "blocked" if flags & Flag.IDLE else "runnable" if flags & Flag.WAITING else "running"
        return _WAITS.get(wait, state) if state == "blocked" and wait is not None else state

    def _values(self, table: KindTable, attribute: str, rows: Int64Array) -> list[Any]:
        if attribute not in table.attributes:
            return [None] * len(rows)
        values, valid = table.taken(attribute, table.indices_of(rows))
        return [value if is_known else None for value, is_known in zip(values.tolist(), valid, strict=True)]


def hue_of(text: str) -> str:
    """The token of a name's hue."""
    return f"hue {zlib.crc32(text.encode('utf-8', 'replace')) % HUES}"


def _copy(kind: int | None) -> str:
    direction = COPY_KINDS.get(kind, "") if kind is not None else ""
    if direction.startswith("host to ") and direction != "host to host":
        return "copy_to_device"
    return (
        "copy_to_host" if direction.endswith(" to host") and direction != "host to host" else "copy_on_device"
    )
