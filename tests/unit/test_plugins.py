"""Plug-ins of installed distributions: found, loaded and checked."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from warpline import plugins
from warpline.extras import install_command

GROUP = "warpline.test_plugins"
METADATA = "Metadata-Version: 2.1\nName: theirs\nVersion: 1\n"
POINTS = f"[console_scripts]\nx = y:z\n\n[{GROUP}]\none = os:sep\ntwo = os:linesep\n"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    plugins.forget()
    yield
    plugins.forget()


def names() -> list[str]:
    return sorted(point.name for point in plugins.entry_points(GROUP))


def test_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert names() == []


@pytest.mark.parametrize("folder", ["theirs-1.dist-info", "theirs.egg-info"])
def test_a_distribution_in_a_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / ("METADATA" if "dist" in folder else "PKG-INFO")).write_text(METADATA)
    (tmp_path / folder / "entry_points.txt").write_text(POINTS)
    assert names() == []
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.forget()
    assert names() == ["one", "two"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [("no_such_module:x", "No module named 'no_such_module'"), ("os:nothing", "has no attribute 'nothing'"),
     ("os:sep", "it is not of type int")],
)  # fmt: skip
def test_a_broken_plugin_has_its_reason_instead_of_a_value(value: str, reason: str) -> None:
    plugin = plugins.load_plugin(EntryPoint("x", value, GROUP), int)
    assert plugin.value is None
    assert plugin.problem.startswith(f"plug-in x cannot be loaded from {value}: ")
    assert plugin.problem.endswith(reason)


def test_a_check_may_refuse_a_plugin_and_whatever_it_raises_is_the_reason() -> None:
    def check(_value: str) -> None:
        raise LookupError("too short")

    plugin = plugins.load_plugin(EntryPoint("x", "os:sep", GROUP), str, check)
    assert (plugin.value, plugin.problem) == (None, "plug-in x cannot be loaded from os:sep: too short")


def test_a_missing_optional_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_window.py").write_text("raise ModuleNotFoundError(name='PySide6.QtCore')")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin = plugins.load_plugin(EntryPoint("x", "their_window:x", GROUP), object)
    assert plugin.problem.endswith(f"install it with: {install_command('gui')}")


def test_plugins_are_loaded_with_the_name_of_their_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs-1.dist-info").mkdir()
    (tmp_path / "theirs-1.dist-info" / "METADATA").write_text(METADATA)
    (tmp_path / "theirs-1.dist-info" / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.forget()
    loaded = {plugin.name: plugin for plugin in plugins.load_plugins(GROUP, str)}
    assert {name: plugin.value for name, plugin in loaded.items()} == {"one": os.sep, "two": os.linesep}
    assert loaded["one"].remedy == "update or uninstall theirs"


def test_a_distribution_in_a_zip_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "theirs.zip", "w") as packed:
        packed.writestr("theirs-1.dist-info/METADATA", METADATA)
        packed.writestr("theirs-1.dist-info/entry_points.txt", POINTS)
    monkeypatch.syspath_prepend(str(tmp_path / "theirs.zip"))
    assert names() == ["one", "two"]
