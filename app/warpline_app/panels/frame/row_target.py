"""What a row of a table, a box of a graph or an event stands for on the timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpline.analysis.framework.report import NO_NAME, Table

if TYPE_CHECKING:
    from warpline.storage import Capture


@dataclass(frozen=True)
class RowTarget:
    """Events of a name (string id) and of a kind (code, −1 for any), one event, a track, or a range of time.

    ``columns`` are columns of the table of events (by identity) and what must stand in each.
    """

    name: int | None = None
    kind: int = -1
    event: int | None = None
    track: int | None = None
    range_ns: tuple[int, int] | None = None
    columns: tuple[tuple[str, str], ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to show: a total, say."""
        return self == RowTarget(kind=self.kind) and self.kind < 0

    def name_in(self, capture: Capture) -> int | None:
        """The string id of the name the row is about, None when it is about none."""
        if self.name is not None:
            return self.name
        return None if self.event is None else int(capture.events.name[self.event])

    @staticmethod
    def of_event(row: int) -> RowTarget:
        """One event."""
        return RowTarget(event=row)


def target_of(report: Table, item: int) -> RowTarget:
    """What a row of a report stands for."""
    targets = report.targets

    def value(values: Any, missing: int) -> int | None:
        return None if values is None or int(values[item]) == missing else int(values[item])

    start, stop = value(targets.starts, -1), value(targets.stops, -1)
    kind = value(targets.kinds, -1)
    return RowTarget(
        name=value(targets.names, int(NO_NAME)),
        kind=-1 if kind is None else kind,
        event=value(targets.rows, -1),
        track=value(targets.tracks, -1),
        range_ns=None if start is None or stop is None else (start, stop),
    )
