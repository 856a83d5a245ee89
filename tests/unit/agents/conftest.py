"""Captures that the server is asked about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.agents.agent_tools import session_of
from tests.unit.library.library_tools import write_run

from warpline.agents.session import AgentSession


@pytest.fixture(scope="session")
def asked_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("asked") / "run.h5")


@pytest.fixture
def session(asked_path: Path) -> Iterator[AgentSession]:
    session = session_of(asked_path)
    yield session
    session.close()
