"""Folders and archives of traces open as ranks."""

from __future__ import annotations

import io
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.interchange.import_tools import imported, rank_file

from warpline.interchange.framework.bundles import is_bundle, traces_of
from warpline.library.opening import open_path
from warpline.model import ImportFormatError
from warpline.platform.held_folders import PREFIX
from warpline.storage import CaptureBuilder


def job_folder(tmp_path: Path) -> Path:
    """Two ranks, each in its own folder, beside a file that is not a trace."""
    folder = tmp_path / "job"
    for rank in (3, 5):
        place = folder / f"rank{rank}_profile"
        place.mkdir(parents=True)
        rank_file(place, rank, 0, info=False).rename(place / "trace.json")
    (folder / "notes.txt").write_text("batch 64")
    return folder


def packed_zip(folder: Path) -> Path:
    path = folder.parent / "job.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    return path


def packed_tar(folder: Path) -> Path:
    path = folder.parent / "job.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(folder, "job")
    return path


def packed_tar_gz(folder: Path) -> Path:
    path = folder.parent / "job.tgz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, "job")
    return path


@pytest.mark.parametrize("pack", [lambda folder: folder, packed_zip, packed_tar, packed_tar_gz])
def test_traces_of_a_folder_or_archive_are_ranks(pack: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = job_folder(tmp_path)
    given = pack(folder)
    if given != folder:
        shutil.rmtree(folder)
    capture = imported(tmp_path, given)
    assert [track.uri for track in capture.tracks if track.role == "rank"] == ["rank/3", "rank/5"]
    opened = open_path(given, lambda _fraction, _text: None, lambda: False)
    assert len(opened.capture.events) == len(capture.events)
    assert opened.source == given
    opened.capture.close()


def test_one_trace_beside_other_files_is_a_trace(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    rank_file(folder, 0, 0)
    (folder / "summary.csv").write_text("a,b\n1,2\n")
    capture = imported(tmp_path, folder)
    assert not [track for track in capture.tracks if track.role == "rank"]


def test_archive_members_stay_inside_the_folder(tmp_path: Path) -> None:
    trace = rank_file(tmp_path, 0, 0).read_bytes()
    path = tmp_path / "evil.tar"
    names = ["../../rank1.json", "/rank2.json", "a/../../rank3.json", "..\\..\\rank4.json"]
    with tarfile.open(path, "w") as archive:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = len(trace)
            archive.addfile(entry, io.BytesIO(trace))
        link = tarfile.TarInfo("rank9.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    before = set(tmp_path.rglob("*"))
    with traces_of([path], lambda: False) as files:
        folder = files[0].parent
        assert sorted(file.name for file in files) == [f"rank{rank}.json" for rank in (1, 2, 3, 4)]
        while folder.parent != folder and not folder.name.startswith(PREFIX):
            folder = folder.parent
        assert all(file.resolve().is_relative_to(folder.resolve()) for file in files)
    assert not folder.exists()
    assert set(tmp_path.rglob("*")) == before


def test_damaged_archives_and_folders_without_traces_are_errors(tmp_path: Path) -> None:
    empty = tmp_path / "nothing"
    empty.mkdir()
    with pytest.raises(ImportFormatError, match="holds no files"):
        imported(tmp_path, empty)
    (empty / "a.txt").write_text("hello")
    with pytest.raises(ImportFormatError, match=r"holds no trace that Warpline can import: .*a\.txt"):
        imported(tmp_path, empty)
    with CaptureBuilder(empty / "rank_0.h5") as builder:
        builder.finish()
    with pytest.raises(ImportFormatError, match=r"only Warpline captures.*: warpline job \S*nothing$"):
        imported(tmp_path, empty)
    packed = packed_tar_gz(job_folder(tmp_path))
    cut = tmp_path / "cut.tgz"
    cut.write_bytes(packed.read_bytes()[:-200])
    assert is_bundle(cut)
    with pytest.raises(ImportFormatError, match=r"cut\.tgz: the archive is damaged"):
        imported(tmp_path, cut)


def test_a_zip_of_one_trace_is_that_trace(tmp_path: Path) -> None:
    path = tmp_path / "one.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(rank_file(tmp_path, 0, 0), "trace.json")
    assert not is_bundle(path)
