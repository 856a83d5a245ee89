"""Running a command: its needs are checked first, and an unmet one is shown."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pytestqt.qtbot import QtBot

from warpline import plugins
from warpline_app.commands.command import A_CAPTURE, Need, WindowCommand, run
from warpline_app.commands.context import CommandContext, Shell
from warpline_app.open.workspace import Workspace
from warpline_app.remembered.settings import Settings
from warpline_app.verbs.catalogue import all_commands
from warpline_app.verbs.compare import A_COMPARISON
from warpline_app.verbs.job import A_JOB


class Motions:
    """A navigator that writes down which keys are held."""

    def __init__(self) -> None:
        self.held: list[str] = []

    def hold(self, motion: str) -> None:
        self.held.append(motion)


@pytest.fixture
def motions() -> Motions:
    return Motions()


@pytest.fixture
def context(qtbot: QtBot, tmp_path: Path, motions: Motions) -> CommandContext:
    shell = cast("Shell", SimpleNamespace(navigator=motions))
    return CommandContext(Workspace(Settings(tmp_path / "s.ini")), shell)


@pytest.fixture
def told(context: CommandContext) -> list[str]:
    texts: list[str] = []
    context.workspace.told.connect(texts.append)
    return texts


def command(done: list[str], *needs: Need, motion: bool = False) -> WindowCommand:
    return WindowCommand(
        "x.y", "Do It…", "View", lambda _: done.append("step"), needs=needs, motion="in" if motion else None
    )


def test_the_first_unmet_need_is_shown_and_nothing_runs(context: CommandContext, told: list[str]) -> None:
    done: list[str] = []
    met, unmet = Need(lambda _: True, "Never said"), Need(lambda _: False, "The moon is down")
    refused = command(done, met, unmet, A_CAPTURE)
    assert refused.refusal(context) == "The moon is down"
    assert not run(refused, context)
    assert (done, told) == ([], ["Do It: The moon is down"])


def test_running_a_command_clears_the_message(context: CommandContext, told: list[str]) -> None:
    done: list[str] = []
    able = command(done)
    assert able.refusal(context) is None
    assert run(able, context)
    assert (done, told) == (["step"], [""])


def test_a_held_key_moves_continuously_and_a_menu_entry_one_step(
    context: CommandContext, motions: Motions
) -> None:
    done: list[str] = []
    moving = command(done, motion=True)
    assert run(moving, context)
    assert run(moving, context, is_held=True)
    assert (done, motions.held) == (["step"], ["in"])
    assert not run(command(done, A_CAPTURE, motion=True), context, is_held=True)
    assert motions.held == ["in"]


def test_every_command_that_needs_a_capture_says_so(context: CommandContext) -> None:
    without = {
        "file.open", "file.join_ranks", "file.open_job", "file.open_job_files", "file.new_capture", "file.record_demo",
        "file.new_window", "file.close", "file.quit", "view.full_screen", "view.preferences", "help.palette",
        "help.keys", "help.doctor", "help.about", "file.attach", "help.tour",
        "help.documentation", "file.open_location",
    }  # fmt: skip
    for known in all_commands():
        expected = None if known.id in without or known.id.startswith("theme.") else "Open a capture first"
        if A_COMPARISON in known.needs:
            expected = "Compare two captures first"
        if A_JOB in known.needs:
            expected = "Open a job first"
        if not known.id.endswith("_tab"):
            assert known.refusal(context) == expected, known.id


def test_commands_of_other_distributions_are_listed(
    context: CommandContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    ours = all_commands()
    theirs = (
        WindowCommand("their.wave", "Wave", "Help", lambda _: done.append("waved"), ("Ctrl+Alt+W", "Ctrl+O")),
        WindowCommand("file.open", "Not Ours", "File", lambda _: None),
    )
    points = (
        SimpleNamespace(name="waving", value="waving:COMMANDS", dist=None, load=lambda: theirs),
        SimpleNamespace(name="broken", value="broken:COMMANDS", dist=None, load=lambda: 1 / 0),
    )
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == "warpline.verbs" else ())
    found = {known.id: known for known in all_commands()}
    assert list(found)[: len(ours)] == [known.id for known in ours]
    assert found["file.open"].title == "Open…"
    assert run(found["their.wave"], context)
    assert done == ["waved"]
    assert found["their.wave"].keys == ("Ctrl+Alt+W",), "a key of ours stays ours"
    assert (
        found["broken"].refusal(context)
        == "plug-in broken cannot be loaded from broken:COMMANDS: division by zero"
    )
