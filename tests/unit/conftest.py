"""What unit tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.analysis.analysis_tools import Open

from warpline.interchange import import_files
from warpline.storage import Capture, open_capture


@pytest.fixture(scope="session")
def opened(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Opens a capture made from a file of the test data, imported once."""
    folder = tmp_path_factory.mktemp("captures")
    captures: dict[str, Capture] = {}

    def get(pattern: str) -> Capture:
        if pattern not in captures:
            source = next(data_dir.glob(pattern), None)
            if source is None:
                pytest.skip(f"no {pattern} in {data_dir}")
            captures[pattern] = open_capture(import_files([source], folder / f"{len(captures)}.h5"))
        return captures[pattern]

    yield get
    for capture in captures.values():
        capture.close()
