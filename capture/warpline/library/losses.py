"""How much of a recording was lost, and what that means for its numbers."""

from __future__ import annotations

from warpline.i18n import tr, tr_n

_HARDLY, _SOME = 0.01, 0.1
LEAST_SHARE = 0.001
"""Smaller losses are shown only on request."""


def lost_ratio(lost: int, events: int) -> float:
    """Share of lost records (0–1), if each other record became an event."""
    return lost / (lost + events) if lost else 0.0


def share_text(ratio: float) -> str:
    """A share as text; a loss is never shown as 0 %."""
    return (
        "< 0.1 %"
        if ratio < LEAST_SHARE
        else f"{100 * ratio:.1f} %"
        if ratio < _SOME
        else f"{100 * ratio:.0f} %"
    )


def meaning_of(ratio: float) -> str:
    """What a loss of this share means for numbers and findings."""
    if ratio < _HARDLY:
        return tr("too few to change the results")
    if ratio < _SOME:
        return tr("numbers may be too low by that share")
    return tr("lost data counts as not recorded: record less at once, or for a shorter time")


def lost_text(lost: int, events: int) -> str:
    """The number of lost records and their share."""
    text = tr_n("{count:,} record lost", "{count:,} records lost", lost)
    return text + (f" ({share_text(lost_ratio(lost, events))})" if lost else "")
