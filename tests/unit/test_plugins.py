"""Entry points of installed distributions: found wherever they are, and cheap where there are none."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
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
