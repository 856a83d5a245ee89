"""Recorders of several versions begin, run and clean up on the same machine."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from warpline.recording.remote import boot
from warpline.recording.remote.far import places
from warpline.recording.remote.frames import FrameReader, FrameType, values_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a version."""
    folder = tmp_path / "warpline-remote" / "version"
    folder.mkdir(parents=True)
    return folder


def test_runs_are_known_while_another_one_is_removed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        places.new_run(root, name, {})
    monkeypatch.setattr(os, "listdir", lambda _folder: ["a", "gone", "b", "c"])
    assert {run["run"] for run in places.known_runs(root)} == {"a", "b", "c"}


def test_clean_removes_everything_when_nothing_runs(root: Path) -> None:
    (root.parent / "older").mkdir()
    held = boot.hold(str(root))
    assert places.clean(root, held)["runs"] == []
    assert not root.parent.exists()


def test_clean_keeps_runs_and_the_versions_they_need(root: Path) -> None:
    older = root.parent / "older"
    older.mkdir()
    places.new_run(older, "a", {})
    (root.parent / "unused").mkdir()
    assert [run["run"] for run in places.clean(root)["runs"]] == ["a"]
    assert sorted(path.name for path in root.parent.iterdir()) == ["older", "runs", "version"]


def test_clean_keeps_a_version_whose_run_is_about_to_begin(root: Path) -> None:
    beginning = root.parent / "newer"
    beginning.mkdir()
    held = boot.hold(str(beginning))
    try:
        places.clean(root)
        assert beginning.is_dir()
        (root.parent / "runs").mkdir()
        places.new_run(beginning, "a", {})
    finally:
        os.close(held)


def test_a_run_begins_although_the_folder_of_runs_has_gone(root: Path) -> None:
    places.new_run(root, "a", {})
    places.remove_run(places.runs_folder(root) / "a")
    places.clean(root)
    root.mkdir(parents=True)
    assert places.new_run(root, "b", {}).is_dir()


def test_two_first_connections_use_the_same_files(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("module.py", "")
    data = packed.getvalue()
    sent = f"{len(data):<11}{hashlib.sha256(data).hexdigest()[:60]}\n".encode() + data
    folder = tmp_path / "version"
    program = f"from warpline.recording.remote import boot; assert boot.take({str(folder)!r}) >= 0"
    nodes = set()
    for _connection in range(2):
        subprocess.run([sys.executable, "-c", program], input=sent, check=True, timeout=60)
        nodes.add((folder / "module.py").stat().st_ino)
    assert len(nodes) == 1, "the first one may be using them"
    assert [path.name for path in tmp_path.iterdir()] == ["version"]


def test_files_without_room_are_one_message_for_the_other_end(tmp_path: Path) -> None:
    data = b"files"
    sent = f"{len(data):<11}{hashlib.sha256(data).hexdigest()[:60]}\n".encode() + data
    program = f"from warpline.recording.remote import boot; boot.take({str(tmp_path / 'none' / 'version')!r})"
    done = subprocess.run(
        [sys.executable, "-c", program], input=sent, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")
    ((kind, body),) = FrameReader().feed(done.stdout)
    assert kind is FrameType.FAILED
    assert values_of(body)["message"].startswith(f"no room for the recorder: {tmp_path}/none: No such file")
