"""The sound captures that tests damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.storage.hostile.hostile_files import (
    write_sample,
)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("sample") / "sample.h5")


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("archive") / "archive.h5", compress=True)
