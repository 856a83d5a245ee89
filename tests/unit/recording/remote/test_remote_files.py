"""Files on another machine: fetched once, and again when they have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpline.model.errors import RecordingError, UsageError
from warpline.recording.remote.remote_files import fetch_location


def test_a_file_over_ssh_is_fetched_again_only_when_it_has_changed(
    ssh_config: Path, far_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    ssh = programs / "ssh"
    ssh.write_text(f'#!/bin/sh\nPATH=${{PATH#*:}} exec ssh -F {ssh_config} "$@"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    file = tmp_path / "a run.h5"
    file.write_bytes(b"content" * 100_000)
    told: list[tuple[int, int]] = []
    location = f"ssh://box{tmp_path}/a%20run.h5"
    copy = fetch_location(location, lambda arrived, size: told.append((arrived, size)))
    assert copy.name == "a run.h5"
    assert copy.read_bytes() == file.read_bytes()
    assert told[-1] == (700_000, 700_000)
    told.clear()
    assert fetch_location(location, lambda *numbers: told.append(numbers)) == copy
    assert not told
    file.write_bytes(b"other")
    assert fetch_location(location, lambda *_numbers: None).read_bytes() == b"other"
    with pytest.raises(RecordingError, match="No such file"):
        fetch_location(f"ssh://box{tmp_path}/none.h5", lambda *_numbers: None)


@pytest.mark.parametrize("text", ["ssh://", "ssh://box", "ssh://box/", "http://box/run.h5", "ssh:///run.h5"])
def test_other_texts_are_no_locations(text: str) -> None:
    with pytest.raises(UsageError):
        fetch_location(text, lambda *_numbers: None)
