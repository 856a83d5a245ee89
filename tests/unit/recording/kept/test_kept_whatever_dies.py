"""At every moment either the spool recovers or the capture is complete, and nothing stays behind in the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from warpline.model.errors import RecordingError
from warpline.platform.held_folders import PREFIX, TemporaryFolder, hold
from warpline.recording.recover import recover
from warpline.recording.spool.directory import held_spool, new_spool

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

WORKER = Path(__file__).with_name("kill_worker.py")


def deaths(case: str, folder: Path) -> list[dict[str, Any]]:
    """What was seen after each death of a case."""
    done = subprocess.run(
        [sys.executable, str(WORKER), case, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_recovery_can_be_killed_before_any_change(tmp_path: Path) -> None:
    seen = deaths("recover", tmp_path)
    assert len(seen) > 8, "fewer changes than it takes to write a capture and remove a spool"
    for death in seen:
        assert death["capture"] in ("absent", "sound"), death
        assert "run.h5.spool" in death["left"] or death["capture"] == "sound", death
        assert death["then"] == ["run.h5"], death
        assert death["at_last"] == "sound", death
    # Once the spool says that its capture is in place, nothing is written anew.
    assert {death.get("recovered") for death in seen} >= {True, False}


def test_a_recorder_can_be_killed_before_any_change_of_its_folder(tmp_path: Path) -> None:
    for death in deaths("begin", tmp_path):
        # What had been recorded becomes a capture; before that, nothing is left.
        assert death["then"] in ([], ["run.h5"]), death
        assert not death.get("made"), death
        assert death["at_last"] in ("absent", "sound"), death


def test_only_one_process_at_a_time_finishes_a_spool(tmp_path: Path) -> None:
    spool = tmp_path / "run.h5.spool"
    with new_spool(spool):
        with pytest.raises(RecordingError, match="still being recorded"), held_spool(spool):
            pass
        with pytest.raises(RecordingError, match="still being recorded"):
            recover(spool)
        with pytest.raises(RecordingError, match="still being recorded"), new_spool(spool):
            pass
    assert recover(spool) is None
    assert not spool.exists()


def test_a_folder_with_other_files_is_not_a_spool(tmp_path: Path) -> None:
    folder = tmp_path / "run.h5.spool"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(RecordingError, match=r"no session\.json"):
        recover(folder)
    with pytest.raises(RecordingError, match="is not empty"), new_spool(folder):
        pass
    assert (folder / "notes.txt").read_text() == "mine"


def test_unused_temporary_folders_are_removed_before_a_new_one_is_made(tmp_path: Path) -> None:
    left = Path(tempfile.mkdtemp(prefix=PREFIX, dir=tmp_path))
    (left / "1.column").write_bytes(b"x")
    used = TemporaryFolder(tmp_path)
    assert not left.exists()
    link = tmp_path / f"{PREFIX}link"
    link.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").touch()
    other = TemporaryFolder(tmp_path)
    assert used.path.is_dir()
    assert (tmp_path / "elsewhere" / "kept").exists()
    assert hold(used.path) is None
    used.close()
    other.close()
    assert sorted(os.listdir(tmp_path)) == [f"{PREFIX}link", "elsewhere"]
