"""Entry points of installed distributions: found wherever they are, and cheap where there are none."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from warpline import plugins

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


def test_what_is_found_is_what_python_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = f"# [{GROUP}]\n [{GROUP}] \n x=os : path.join [fast, big]\ny = os\n\n[other]\nz = os:sep\n"
    texts = {
        "a/one-1.dist-info": one,
        "a/two.egg-info": f"name = os\n[{GROUP}]\n#n = os\nx = json\n",
        "b/One-2.dist-info": f"[{GROUP}]\nshadowed = os\n",
        "b/three_x-1.dist-info": f"[{GROUP}]\nü = os:lineſep\n= os\n",
        "b/three.x-2.egg-info": f"[{GROUP}]\nshadowed = os\n",
    }
    for folder, text in texts.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "entry_points.txt").write_text(text, encoding="utf-8")
    (tmp_path / "b" / "file-1.egg-info").write_text("")
    for place in ("b", "a"):
        monkeypatch.syspath_prepend(str(tmp_path / place))
    for group in {point.group for one in metadata.distributions() for point in one.entry_points}:
        ours = [(point.name, point.value) for point in plugins.entry_points(group)]
        theirs = metadata.entry_points(group=group)
        assert sorted(ours) == sorted((point.name, point.value) for point in theirs), group
        assert {p.module for p in plugins.entry_points(group)} == {p.module for p in theirs}
    assert {point.distribution for point in plugins.entry_points(GROUP)} == {"one", "two", "three_x"}
    joined = next(
        point for point in plugins.entry_points(GROUP) if point.name == "x" and "join" in point.value
    )
    assert joined.load() is os.path.join


@pytest.mark.parametrize(
    ("value", "error"),
    [("", ModuleNotFoundError), (".os", ModuleNotFoundError), ("no such:x", ModuleNotFoundError),
     ("os:nothing", AttributeError)],
)  # fmt: skip
def test_what_points_nowhere_fails_as_a_missing_name_does(value: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        plugins.EntryPoint("x", value, "theirs").load()


def test_a_distribution_in_a_zip_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "theirs.zip", "w") as packed:
        packed.writestr("theirs-1.dist-info/METADATA", METADATA)
        packed.writestr("theirs-1.dist-info/entry_points.txt", POINTS)
    monkeypatch.syspath_prepend(str(tmp_path / "theirs.zip"))
    assert names() == ["one", "two"]


def test_without_plugins_nothing_is_imported_to_read_them() -> None:
    code = (
        "import sys; before = set(sys.modules); from warpline import plugins;"
        f"print(plugins.entry_points({GROUP!r}), 'importlib.metadata' in set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"],
                          capture_output=True, text=True, timeout=60, check=True)  # fmt: skip
    assert done.stdout.strip() == "() False"
