"""A new user's workspace, and captures to open in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.gui.sample import write_sample

from warpline_app.open.background import wait_for_jobs
from warpline_app.open.document import Document
from warpline_app.open.workspace import Workspace
from warpline_app.remembered.settings import Settings

OpenDocument = Callable[[Path], Document]


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("session") / "sample.h5")


@pytest.fixture
def copies(sample: Path, tmp_path: Path) -> list[Path]:
    return [Path(shutil.copy(sample, tmp_path / f"{name}.h5")) for name in "abc"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(tmp_path / "warpline.ini")
    made.notes_beside_capture = False  # the samples are shared among tests
    return made


@pytest.fixture
def workspace(qtbot: QtBot, settings: Settings) -> Iterator[Workspace]:
    made = Workspace(settings)
    yield made
    made.close_all()
    wait_for_jobs()


@pytest.fixture
def open_document(qtbot: QtBot, workspace: Workspace) -> OpenDocument:
    def open_it(path: Path) -> Document:
        with qtbot.waitSignal(workspace.document_opened, timeout=60_000) as opened:
            workspace.open_file(path)
        assert opened.args is not None
        document = opened.args[0]
        assert isinstance(document, Document)
        return document

    return open_it
