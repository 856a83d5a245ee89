"""The capture of `tests.gui.timeline_sample` and a state of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.gui.timeline_sample import write_timeline_sample

from warpline.storage import Capture, open_capture
from warpline_app.state.timeline_state import TimelineState


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    with open_capture(write_timeline_sample(tmp_path_factory.mktemp("timeline") / "sample.h5")) as opened:
        yield opened


@pytest.fixture
def state(capture: Capture) -> TimelineState:
    return TimelineState(*capture.span)
