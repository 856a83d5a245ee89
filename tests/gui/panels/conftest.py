"""The capture that tests of panels look into."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpline.storage import Capture, open_capture


@pytest.fixture
def capture(sample: Path) -> Capture:
    return open_capture(sample)
