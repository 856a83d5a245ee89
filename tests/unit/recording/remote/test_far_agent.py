"""The agent on another machine: used where it loads, refused with the reason where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpline.recording.agent.library import LIBRARY_NAME, REFUSED_FILE, agent_library
from warpline.recording.remote.far.agent_check import check_agent

_ELF = b"\x7fELF\2\1\1".ljust(18, b"\0")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (_ELF + (2).to_bytes(2, "little"), "for another processor"),
        (_ELF + (62).to_bytes(2, "little"), "does not load here"),
    ],
)
def test_an_agent_that_does_not_load_leaves_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, reason: str
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    folder = tmp_path / "warpline" / "recording" / "agent"
    folder.mkdir(parents=True)
    (folder / LIBRARY_NAME).write_bytes(content)
    check_agent(tmp_path)
    assert reason in (folder / REFUSED_FILE).read_text()
    assert not (folder / LIBRARY_NAME).exists()


def test_the_agent_of_this_machine_is_kept(tmp_path: Path) -> None:
    library = agent_library().path
    if library is None:
        pytest.skip("the agent is not compiled here")
    folder = tmp_path / "warpline" / "recording" / "agent"
    folder.mkdir(parents=True)
    (folder / LIBRARY_NAME).write_bytes(library.read_bytes())
    check_agent(tmp_path)
    assert not (folder / REFUSED_FILE).exists()
