"""A timeline on the screen, in no window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.gui.timeline.lone_timeline import context_of as lone_context
from tests.gui.timeline.timeline_tools import (
    MakeView,
    wait_idle,
)
from tests.gui.timeline_sample import write_timeline_sample

from warpline.storage import open_capture
from warpline_app.commands.command import WindowCommand
from warpline_app.commands.runner import CommandRunner
from warpline_app.look.theme import DARK, Theme
from warpline_app.open.document import Document
from warpline_app.timeline.widgets.view import TimelineView
from warpline_app.verbs.catalogue import TIMELINE_COMMANDS
from warpline_app.verbs.timeline_input import TimelineInput


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_timeline_sample(tmp_path_factory.mktemp("timeline") / "sample.h5")


@pytest.fixture
def make_view(qtbot: QtBot, path: Path) -> Iterator[MakeView]:
    made: list[TimelineView] = []

    def make(
        theme: Theme = DARK,
        size: tuple[int, int] = (1270, 700),
        commands: Iterable[WindowCommand] = TIMELINE_COMMANDS,
    ) -> TimelineView:
        view = TimelineView(Document(open_capture(path)), theme=theme)
        view.state.set_expanded("cpu", True)
        view.resize(*size)
        context = lone_context(view)
        assert context.navigator is not None
        TimelineInput(context.navigator, CommandRunner(view, context, commands))
        made.append(view)
        with qtbot.waitExposed(view, timeout=60_000):
            view.show()
        wait_idle(qtbot, view)
        return view

    yield make
    for view in made:
        view.shut_down()
        view.close()
        view.document.close()
        view.deleteLater()


@pytest.fixture
def view(make_view: MakeView) -> TimelineView:
    return make_view()
