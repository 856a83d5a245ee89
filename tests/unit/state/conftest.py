"""A state of a capture of 100 ms."""

from __future__ import annotations

import pytest

from warpline_app.state.timeline_state import TimelineState


@pytest.fixture
def state() -> TimelineState:
    return TimelineState(0, 100_000_000)
