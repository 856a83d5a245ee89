"""When the steps of a snapshot are over, as the recorder sees it."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import cast

import pytest

from warpline.recording.control_page import ControlPage
from warpline.recording.snapshots import AskedSteps

LIVING = (os.getpid(), threading.main_thread().native_id or 0)
DEAD = (os.getpid(), 1)
SECOND_NS = 1_000_000_000


@dataclass
class Page:
    """What the program has written of ten steps, from the fifth on."""

    steps: int
    threads_inside: list[tuple[int, int]] = field(default_factory=list)
    snapshot_began_ns: int = SECOND_NS
    steps_asked: tuple[int, int] | None = (5, 15)

    def asked(self) -> AskedSteps:
        return AskedSteps(cast("ControlPage", self), [])


@pytest.mark.parametrize(
    ("page", "is_over", "warnings"),
    [
        (Page(20, steps_asked=None), False, 0),
        (Page(3, snapshot_began_ns=0), False, 0),
        (Page(7, [LIVING]), False, 0),
        (Page(7, [LIVING, DEAD]), False, 0),
        (Page(15, [LIVING]), False, 0),
        (Page(15), True, 0),
        (Page(15, [DEAD]), True, 1),
        (Page(7, [DEAD, DEAD]), True, 2),
    ],
)
def test_steps_are_over_when_nobody_who_lives_is_in_them(page: Page, is_over: bool, warnings: int) -> None:
    asked = page.asked()
    assert asked.are_over(2 * SECOND_NS) is is_over
    assert len(asked.warnings) == warnings


def test_a_thread_that_stops_training_is_left_behind() -> None:
    asked = Page(15, [LIVING]).asked()
    assert not asked.are_over(5 * SECOND_NS)
    assert not asked.are_over(5 * SECOND_NS + 39 * SECOND_NS)
    assert asked.are_over(5 * SECOND_NS + 41 * SECOND_NS)
    assert asked.warnings == [f"thread {LIVING[1]} of process {LIVING[0]} has not ended these steps"]
