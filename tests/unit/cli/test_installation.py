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
    ("form", "package", "command"),
    [
        ("checkout", "/srv/me/warpline/capture/warpline", "git pull && make setup"),
        ("bundle", "/opt/warpline/_internal/warpline", "apt-get install ./warpline_VERSION"),
        ("bundle", "/srv/me/warpline/_internal/warpline", "unpack the archive"),
    ],
)
def test_an_upgrade_follows_the_form(form: str, package: str, command: str, tmp_path: Path) -> None:
    assert command in upgrade_command(form, Path(package), tmp_path)


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
