"""Commands that install an extra or a newer version fit the installation, and name no unpublished package."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from warpline import extras
from warpline.platform.systems import shell_quoted

DEVELOPERS = {"dev", "hta", "packaging"}
"""Extras that only a checkout needs."""


@pytest.fixture(autouse=True)
def wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The package of a wheel in an environment that has the window."""
    package = tmp_path / "venv" / "lib" / "python3.11" / "site-packages" / "warpline"
    package.mkdir(parents=True)
    monkeypatch.setattr(extras, "PACKAGE", package)
    monkeypatch.setattr(extras, "installed_extras", lambda: {"gui"})
    monkeypatch.setattr(extras, "__version__", "0.5.0")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.setattr(sys, "executable", "/venv/bin/python")
    return package


def installed_from(package: Path, place: Path) -> None:
    """Notes it as pip does (PEP 610)."""
    kept = package.parent / "warpline-0.5.0.dist-info" / "direct_url.json"
    kept.parent.mkdir()
    kept.write_text(json.dumps({"url": place.as_uri()}))


@pytest.mark.parametrize(
    ("receipt", "upgrade", "install"),
    [
        ("uv-receipt.toml", "uv tool upgrade warpline", 'uv tool install --force "warpline[gui,parquet]"'),
        ("pipx_metadata.json", "pipx upgrade warpline", 'pipx install --force "warpline[gui,parquet]"'),
        (
            "pyvenv.cfg",
            '/venv/bin/python -m pip install --upgrade "warpline[gui]"',
            '/venv/bin/python -m pip install "warpline[parquet]"',
        ),
    ],
)
def test_the_tool_that_installed_it_is_named(
    receipt: str, upgrade: str, install: str, tmp_path: Path
) -> None:
    (tmp_path / "venv" / receipt).touch()
    assert extras.upgrade_command(extras.PACKAGE) == upgrade
    assert extras.install_command("parquet") == install


def test_what_uv_runs_without_installing_is_run_with_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "archive-v0" / "x1"))
    assert extras.upgrade_command(extras.PACKAGE) == 'uvx --refresh --from "warpline[gui]" warpline'
    assert extras.install_command("dask") == 'uvx --from "warpline[dask,gui]" warpline'


def test_a_bundle_gets_no_packages_but_uv_installs_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert extras.install_command("sql") == 'uv tool install "warpline[gui,sql]"'


@pytest.mark.parametrize("name", ["my checkout", "warpline-0.5.0-py3-none-any.whl"])
def test_the_folder_or_file_it_came_from_is_used_while_it_is_there(
    name: str, wheel: Path, tmp_path: Path
) -> None:
    place = tmp_path / name
    place.mkdir()
    installed_from(wheel, place)
    assert extras.requirement({"gui"}, wheel) == shell_quoted(f"{place}[gui]")
    place.rmdir()
    assert extras.requirement({"gui"}, wheel) == '"warpline[gui]"'


def test_a_version_that_is_not_published_is_not_asked_of_an_index(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "__version__", "0.5.0.dev0")
    assert extras.requirement({"gui"}, wheel) == '"PATH-OF-WHEEL-OR-CHECKOUT[gui]"'
    assert extras.requirement(set(), wheel) == '"PATH-OF-WHEEL-OR-CHECKOUT"'


def test_a_checkout_stays_editable(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "PACKAGE", repository / "capture" / "warpline")
    assert extras.install_command("gui") == (
        f"/venv/bin/python -m pip install -e {shell_quoted(f'{repository}[gui]')}"
    )


@pytest.fixture(scope="module")
def declared(repository: Path) -> dict[str, list[str]]:
    """The extras of pyproject.toml and what they need."""
    import tomllib

    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    needed: dict[str, list[str]] = project["optional-dependencies"]
    return needed


def test_every_extra_is_declared(declared: dict[str, list[str]]) -> None:
    for module, extra in extras.MODULES.items():
        needed = " ".join(declared[extra]).lower()
        assert {"shiboken6": "pyside6"}.get(module, module.lower()) in needed


def test_every_extra_of_users_is_recognized_documented_and_tested(
    declared: dict[str, list[str]], repository: Path
) -> None:
    documented = (repository / "docs" / "installing.md").read_text("utf-8")
    (every,) = (needed for needed in declared["dev"] if needed.startswith("warpline["))
    for extra in declared.keys() - DEVELOPERS:
        assert extra in extras._KNOWN_BY
        assert f"| `{extra}` |" in documented
        assert extra in every.partition("[")[2].rstrip("]").split(",")
