"""Files that are none of a recording stay, whatever folder is named and whatever a spool says of itself."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from warpline.cli import main
from warpline.library.opening import open_path
from warpline.model.errors import RecordingError
from warpline.recording.attach import attach
from warpline.recording.recover import recover
from warpline.recording.session import SESSION_FILE, RecordingOptions
from warpline.recording.spool.directory import new_spool, remove_spool
from warpline.storage import is_capture

SPOOL = Path(__file__).resolve().parents[2] / "data" / "corpus" / "lost_beyond_64_bits.spool"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="recording works on Linux only")


def spool_at(directory: Path, output: Path) -> Path:
    """A spool of one recorder, which says that its capture goes to ``output``."""
    shutil.copytree(SPOOL, directory)
    session = json.loads((directory / SESSION_FILE).read_text())
    (directory / SESSION_FILE).write_text(json.dumps(session | {"output": str(output)}))
    return directory


def content(folder: Path) -> dict[str, bytes]:
    """What lies in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["dl", "dl.spool"])
@pytest.mark.parametrize(
    "files",
    [
        {"movie.mkv.part": b"half of it", "notes.tmp": b"mine"},
        {"session.json.part": b"of another program"},
        {"session.json": b'{"cookies": []}', "control": b"mine"},
        {"ended.json": b"[]", "stderr": b"mine"},
        {"thread.spool": b"", "other.sock": b""},
    ],
)
def test_a_folder_of_files_that_sound_like_ours_stays(
    tmp_path: Path, name: str, files: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / name
    folder.mkdir(mode=0o755)
    for file, text in files.items():
        (folder / file).write_bytes(text)
    before = stat.S_IMODE(folder.stat().st_mode)
    assert main(["recover", str(folder)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(RecordingError, match=r"is not empty|holds an unfinished"), new_spool(folder):
        pass
    assert content(folder) == files
    assert stat.S_IMODE(folder.stat().st_mode) == before


def test_what_others_put_into_a_spool_stays_when_it_goes(tmp_path: Path) -> None:
    spool = spool_at(tmp_path / "run.h5.spool", tmp_path / "run.h5")
    (spool / "movie.mkv.part").write_bytes(b"half of it")
    (spool / "wool.spool").write_bytes(b"three hundred yards")
    (spool / "link.spool").symlink_to(tmp_path / "nowhere")
    remove_spool(spool)
    assert sorted(os.listdir(spool)) == ["link.spool", "movie.mkv.part", "wool.spool"]


def test_a_recorder_that_died_in_its_first_file_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    for begun in (b"", b'{\n "out'):
        spool = tmp_path / "run.h5.spool"
        spool.mkdir()
        (spool / "session.json.part").write_bytes(begun)
        assert recover(spool) is None
        assert not spool.exists()


def test_a_spool_writes_over_no_file_that_it_names(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    kept = {"thesis.txt": b"four years", "other.h5.part": b"half", "run.h5": b"mine"}
    for name, text in kept.items():
        (home / name).write_bytes(text)
    for directory, output in (
        (tmp_path / "run.h5.spool", home / "thesis.txt"),
        (tmp_path / "run.h5.spool", home / "run.h5"),
        (home / "thesis.txt.spool", home / "thesis.txt"),
        (home / ".spool", Path("/")),
        (home / "run.h5.spool", home / "thesis.txt"),
    ):
        spool = spool_at(directory, output)
        with pytest.raises(
            RecordingError, match=r"; name (the file to write|another file): warpline recover .* -o FILE"
        ):
            recover(spool)
        shutil.rmtree(spool)
    spool = spool_at(tmp_path / "run.h5.spool", home / "other.h5")
    assert recover(spool, tmp_path / "mine.h5") is not None
    assert is_capture(tmp_path / "mine.h5")
    assert content(home) == kept


def test_a_recording_goes_on_to_the_name_beside_its_spool(tmp_path: Path) -> None:
    for _again in range(2):
        # As `record` does, over the capture before.
        assert recover(spool_at(tmp_path / "run.h5.spool", tmp_path / "run.h5")) is not None
        assert os.listdir(tmp_path) == ["run.h5"]


def test_of_a_spool_that_is_done_with_the_capture_it_names_is_opened(tmp_path: Path) -> None:
    spool = spool_at(tmp_path / "fast.spool", tmp_path / "run.h5")
    assert recover(spool, tmp_path / "run.h5", keep=True) is not None
    (spool / SESSION_FILE).rename(spool / "ended.json")
    opened = open_path(spool, lambda _fraction, _what: None, lambda: False)
    opened.capture.close()
    assert opened.source == tmp_path / "run.h5"
    assert os.listdir(tmp_path) == ["run.h5"]


def test_the_mode_of_new_files_is_the_callers_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpline.recording.attach.check_owner", lambda _pid: True)
    before = os.umask(0o022)
    try:
        with pytest.raises(RecordingError, match="does not exist"):
            attach(os.getppid(), tmp_path / "nowhere" / "run.h5", RecordingOptions(trace=("cpu",)))
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
