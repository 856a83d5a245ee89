"""What tests of SQL share: one small capture and one process that answers about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.library.library_tools import write_run

from warpline.query.session import QuerySession


@pytest.fixture(scope="session")
def sql_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of `write_run`."""
    return write_run(tmp_path_factory.mktemp("sql") / "run.h5")


@pytest.fixture(scope="session")
def session(sql_path: Path) -> Iterator[QuerySession]:
    """Queries about it; tests that end the process leave it to the next query to start another."""
    pytest.importorskip("duckdb")
    with QuerySession([sql_path]) as session:
        yield session
