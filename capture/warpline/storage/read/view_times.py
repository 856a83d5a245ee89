"""What the first view says about times: events far from all others, and the capture that this one is a part of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr_n
from warpline.model import format_duration

if TYPE_CHECKING:
    from warpline.storage.read.capture import Capture

_HOUR_NS = 3_600 * 10**9
_DAY_NS = 24 * _HOUR_NS
_FARTHEST_NS = 1 << 62
"""Differences of times stay within 64 bits."""


def whole_start_ns(capture: Capture) -> int | None:
    """Start of the capture of which this one is a range, in this one's time; None if it is not a range."""
    source = capture.meta.get("exported_from")
    if not isinstance(source, dict) or not source.get("is_range"):
        return None
    start, range_ns = source.get("origin_ns"), source.get("range_ns")
    if start is None and isinstance(range_ns, list) and range_ns and isinstance(range_ns[0], int):
        start = capture.span[0] - range_ns[0]  # written before 0.5
    return start if isinstance(start, int) and abs(start) < _FARTHEST_NS else None


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
