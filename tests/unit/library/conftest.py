"""What tests of the library share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.library.library_tools import write_run

import warpline


@pytest.fixture(scope="session")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of `write_run`."""
    return write_run(tmp_path_factory.mktemp("run") / "run.h5")


@pytest.fixture
def run(run_path: Path) -> Iterator[warpline.CaptureReader]:
    """The capture, open."""
    with warpline.open(run_path) as capture:
        yield capture


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of converted captures of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"
