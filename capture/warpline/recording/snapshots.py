"""Steps of a training that somebody asks a running recording for (``warpline control snapshot --next-steps``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpline.i18n import english
from warpline.model.tracks import Source
from warpline.recording.control_page import ControlPage

MOST_STEPS = 1_000_000
_LATEST_STEP = 1 << 62


def ask_for_steps(page: ControlPage, request: Mapping[str, Any], source: Source | None) -> dict[str, Any]:
    """Have the program record the ``next_steps`` of a request, after the ``first`` ones of its training.

    ``next_steps`` 0 takes the request back. Returns what the reply says if that is refused; nothing when it is done.
    """
    count, first = request["next_steps"], request.get("first", 0)
    if not (_is_count(count) and count <= MOST_STEPS and _is_count(first)):
        return {"error": english("the steps of a snapshot must be numbers")}
    if source is None or not source.enabled:
        return {"error": english("training steps are not recorded (--trace steps)")}
    asked = page.steps_asked
    if asked is not None and page.steps >= asked[0]:
        return {"error": english("a snapshot is being recorded")}
    if not count:
        page.ask_for_steps(0, 0)
        return {}
    margin = 1
    # Which optimiser ends a step shows in the second one.
    begin = first or max(page.steps + margin, 2)
    # A busy machine may hold us up for some steps, so that the program does not see the request in time.
    while begin <= page.steps or _is_missed(page, begin, count):
        if first:
            return {"error": english("the training has passed the first of these steps"), "is_late": True}
        margin *= 2
        begin = page.steps + margin
    return {}


def _is_missed(page: ControlPage, first: int, count: int) -> bool:
    page.ask_for_steps(first, first + count)
    if page.steps < first:
        return False
    page.ask_for_steps(0, 0)
    return True


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LATEST_STEP
