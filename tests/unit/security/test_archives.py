"""Archives that would fill the disk or write elsewhere end in one line, and leave nothing."""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from warpline.cli import main
from warpline.interchange.framework.bundles import traces_of
from warpline.model import StorageError

TRACE = b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}'
NAMES = (
    "../../out.json",
    "/out.json",
    "..\\..\\out.json",
    "a/../../../out.json",
    "C:\\out.json",
    "..",
    "\0out.json",
)
Pack = Callable[[Path, dict[str, bytes]], None]


def zipped(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def tarred(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are unpacked to."""
    folder = tmp_path / "deep" / "temporary"
    folder.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_what_grows_beyond_its_limit_is_not_unpacked(
    pack: Pack,
    tmp_path: Path,
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "traces.packed"
    pack(path, {"a.json": TRACE, "b.json": TRACE + b" " * 9_000_000})
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=16_000_000))
    with pytest.raises(StorageError, match="unpacking needs more than half of the free disk space"):
        with traces_of([path], lambda: False):
            pass
    assert not list(temporary.iterdir())
    assert main(["import", str(path), "-o", str(tmp_path / "run.h5")]) != 0
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if "more than half of the free disk space" in line] == said[-1:]
    assert not list(temporary.iterdir())
    assert not (tmp_path / "run.h5").exists()
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=20_000_000))
    with traces_of([path], lambda: False) as files:
        assert len(files) == 2


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_no_name_leads_out_of_the_folder(pack: Pack, tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "traces.packed"
    pack(path, dict.fromkeys(NAMES, TRACE))
    before = set(tmp_path.rglob("*"))
    with traces_of([path], lambda: False) as files:
        (folder,) = temporary.iterdir()
        assert files
        assert all(file.resolve().is_relative_to(folder.resolve()) for file in files)
        assert {
            file for file in set(tmp_path.rglob("*")) - before if not file.is_relative_to(folder)
        } == set()
    assert set(tmp_path.rglob("*")) == before
