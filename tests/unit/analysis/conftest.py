"""A training of three steps, which many tests of reports look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.analysis.analysis_tools import training_capture

from warpline.storage import Capture


@pytest.fixture(scope="session")
def training(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    """See `analysis_tools.training_capture`."""
    with training_capture(tmp_path_factory.mktemp("capture") / "training.h5") as capture:
        yield capture
