"""What a table row, a graph box or an event refers to on the timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpline.analysis.framework.report import NO_NAME, Table

if TYPE_CHECKING:
    from warpline.storage import Capture


@dataclass(frozen=True, kw_only=True)
class RowTarget:
    """Events of a name (string id) and kind (code, −1 for any), one event, a track, or a time range.

    ``columns`` are filters for the event table: column identity and required text.
    """

    name: int | None = None
    kind: int = -1
    event: int | None = None
    track: int | None = None
    range_ns: tuple[int, int] | None = None
    columns: tuple[tuple[str, str], ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether it refers to nothing, such as a total."""
        return self == RowTarget(kind=self.kind) and self.kind < 0

    def name_in(self, capture: Capture) -> int | None:
        """String id of the row's name; None if it has none."""
        if self.name is not None:
            return self.name
        return None if self.event is None else int(capture.events.name[self.event])

    @staticmethod
    def of_event(row: int) -> RowTarget:
        """A single event."""
        return RowTarget(event=row)


def target_of(report: Table, item: int) -> RowTarget:
    """The target of a report's row."""
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
