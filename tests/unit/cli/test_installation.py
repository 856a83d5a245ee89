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
    assert command in upgrade_command(form, Path(package), tmp_path, has_window=True)


@pytest.mark.parametrize(
    ("place", "receipt", "command"),
    [
        ("tools/warpline", "uv-receipt.toml", "uv tool upgrade warpline"),
        ("venvs/warpline", "pipx_metadata.json", "pipx upgrade warpline"),
        ("archive-v0/x1", "CACHEDIR.TAG", 'uvx --refresh --from "warpline[gui]"'),
        ("venv", "pyvenv.cfg", 'pip install --upgrade "warpline[gui]"'),
    ],
)
def test_a_wheel_is_upgraded_by_what_installed_it(
    place: str, receipt: str, command: str, tmp_path: Path
) -> None:
    environment = tmp_path / place
    environment.mkdir(parents=True)
    (environment / receipt).touch()
    package = environment / "lib" / "site-packages" / "warpline"
    assert command in upgrade_command("wheel", package, environment, has_window=True)


def test_what_was_installed_from_a_folder_is_upgraded_from_there(tmp_path: Path) -> None:
    checkout, environment = tmp_path / "my checkout", tmp_path / "venv"
    checkout.mkdir()
    kept = (
        environment / "lib" / "python3.11" / "site-packages" / "warpline-0.5.0.dist-info" / "direct_url.json"
    )
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps({"url": checkout.as_uri(), "dir_info": {}}))
    package = kept.parents[1] / "warpline"
    command = upgrade_command("wheel", package, environment, has_window=True)
    assert command.endswith(f"pip install --upgrade '{checkout}[gui]'")
    checkout.rmdir()
    assert upgrade_command("wheel", package, environment, has_window=True).endswith('"warpline[gui]"')


def test_without_the_window_pip_upgrades_the_command_line_alone(tmp_path: Path) -> None:
    command = upgrade_command("wheel", tmp_path / "warpline", tmp_path, has_window=False)
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
