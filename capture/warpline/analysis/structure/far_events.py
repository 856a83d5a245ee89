"""Tells of events that lie far away from all others, such as those of another clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr_n
from warpline.model import format_duration

if TYPE_CHECKING:
    from warpline.storage import Capture

_HOUR_NS = 3_600 * 10**9
_DAY_NS = 24 * _HOUR_NS


def far_events(capture: Capture) -> list[str]:
    """Sentences on the events that the first view of a capture leaves out; empty for almost all captures."""
    found = capture.activity
    lines = []
    if found.earlier:
        lines.append(
            tr_n(
                "{count:,} event lies {distance} earlier than the others",
                "{count:,} events lie {distance} earlier than the others",
                found.earlier,
                distance=_distance(found.earlier_ns),
            )
        )
    if found.later:
        lines.append(
            tr_n(
                "{count:,} event lies {distance} later than the others",
                "{count:,} events lie {distance} later than the others",
                found.later,
                distance=_distance(found.later_ns),
            )
        )
    return lines


def _distance(length_ns: int) -> str:
    if length_ns >= 2 * _DAY_NS:
        return tr_n("{count:,} day", "{count:,} days", round(length_ns / _DAY_NS))
    if length_ns >= 2 * _HOUR_NS:
        return tr_n("{count} hour", "{count} hours", round(length_ns / _HOUR_NS))
    return format_duration(length_ns)
