"""Steps of a training that somebody asks a running recording for (``warpline control snapshot --next-steps``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warpline.i18n import english
from warpline.model.tracks import Source
from warpline.recording.control_page import ControlPage
from warpline.recording.named_threads import NamedThreads

MOST_STEPS = 1_000_000
_LATEST_STEP = 1 << 62
_PATIENCE_NS = 30_000_000_000
_PATIENCE = 10
"""A thread has this many times what the first one took for the steps, and at least `_PATIENCE_NS`."""


@dataclass
class AskedSteps:
    """The steps of a snapshot, seen from the recorder."""

    page: ControlPage
    warnings: list[str]
    """Gets what the capture does not have of them, once they are over."""
    _ended_ns: int = 0
    """When the first thread had ended them."""
    _threads: NamedThreads = field(default_factory=NamedThreads)

    def are_over(self, now_ns: int) -> bool:
        """Whether nobody is in the steps any more: all threads have ended them, or will not."""
        began, asked = self.page.snapshot_began_ns, self.page.steps_asked
        if asked is None or not began:
            return False
        have_ended = asked[1] <= self.page.steps
        inside = self.page.threads_inside
        living = [thread for thread in inside if self._threads.lives(*thread)]
        if not living:
            self.warnings += [
                english("thread {tid} of process {pid} ended within these steps", pid=pid, tid=tid)
                for pid, tid in inside
            ]
            return have_ended or bool(inside)
        if not have_ended:
            self._ended_ns = 0
            return False
        self._ended_ns = self._ended_ns or now_ns
        if now_ns - self._ended_ns < max(_PATIENCE_NS, _PATIENCE * (self._ended_ns - began)):
            return False
        self.warnings += [
            english("thread {tid} of process {pid} has not ended these steps", pid=pid, tid=tid)
            for pid, tid in living
        ]
        return True


def ask_for_steps(page: ControlPage, request: Mapping[str, Any], source: Source | None) -> dict[str, Any]:
    """Have the program record the ``next_steps`` of a request, after the ``first`` ones of its training.

    ``next_steps`` 0 takes the request back, even while the steps are being recorded. Returns what the reply says if
    that is refused; nothing when it is done.
    """
    count, first = request["next_steps"], request.get("first", 0)
    if not (_is_count(count) and count <= MOST_STEPS and _is_count(first)):
        return {"error": english("the steps of a snapshot must be numbers")}
    if source is None or not source.enabled:
        return {"error": english("training steps are not recorded (--trace steps)")}
    asked = page.steps_asked
    if count and asked is not None and page.steps >= asked[0]:
        return {"error": english("a snapshot is being recorded")}
    threads = NamedThreads()
    for thread in page.threads_inside:  # of an earlier request
        if not threads.lives(*thread):
            page.forget_inside(thread)
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
