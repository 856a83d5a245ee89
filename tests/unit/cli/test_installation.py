"""What `warpline doctor` says of the installation, without asking anybody."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from warpline import __version__
from warpline.cli import main
from warpline.cli.installation import this_installation, upgrade_command


@pytest.mark.parametrize(
    ("form", "folder", "command"),
    [
        ("checkout", "/srv/me/warpline/capture/warpline", "git pull && make setup"),
        (
            "wheel",
            "/srv/me/.local/share/uv/tools/warpline/lib/python3.12/site-packages/warpline",
            "uv tool upgrade",
        ),
        (
            "wheel",
            "/srv/me/.cache/uv/archive-v0/x1/lib/python3.12/site-packages/warpline",
            "uvx --refresh --from",
        ),
        (
            "wheel",
            "/srv/me/.local/share/pipx/venvs/warpline/lib/site-packages/warpline",
            "pipx upgrade warpline",
        ),
        (
            "wheel",
            "/srv/me/venv/lib/python3.12/site-packages/warpline",
            'pip install --upgrade "warpline[gui]"',
        ),
        ("bundle", "/opt/warpline/_internal/warpline", "apt-get install ./warpline_VERSION"),
        ("bundle", "/srv/me/warpline/_internal/warpline", "unpack the archive"),
    ],
)
def test_an_upgrade_is_the_command_of_what_installed_it(form: str, folder: str, command: str) -> None:
    assert command in upgrade_command(form, Path(folder).parts, has_window=True)


def test_without_the_window_pip_upgrades_the_command_line_alone() -> None:
    command = upgrade_command("wheel", Path("/venv/lib/site-packages/warpline").parts, has_window=False)
    assert command.endswith('--upgrade "warpline"')


def test_a_checkout_names_its_folder_and_what_is_compiled(repository: Path) -> None:
    installation = this_installation()
    assert (installation.version, installation.form) == (__version__, "checkout")
    assert installation.folder == str(repository)
    names = {path.stem.removeprefix("libwarpline_") for path in repository.rglob("libwarpline_*.so")}
    assert set(installation.compiled) >= names & {"strip", "packing", "nesting", "waits", "guard"}
    assert installation.broken == ()


def test_the_doctor_reports_the_installation_and_opens_no_connection(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_arguments: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("warpline.recording.doctor.check_sources", lambda **_options: [])
    assert main(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["installation"]["version"] == __version__
