"""Files on another machine: fetched once, and again when they have changed."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from warpline.model.errors import RecordingError, UsageError
from warpline.recording.remote.frames import FrameType, packed_file
from warpline.recording.remote.near import remote_files
from warpline.recording.remote.near.remote_files import fetch_location


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


@pytest.mark.parametrize(
    ("location", "host", "path"),
    [
        ("ssh://GPU-Box/x/run.h5", "GPU-Box", "/x/run.h5"),
        ("ssh://me@GPU-Box:22/~/run.h5", "ssh://me@GPU-Box:22", "run.h5"),
        ("ssh://box:22x/run.h5", "ssh://box:22x", "/run.h5"),
        ("ssh://[::1/run.h5", "ssh://[::1", "/run.h5"),
        ("ssh://box/a?b/run#1.h5", "box", "/a?b/run#1.h5"),
        ("ssh://box/a%3Fb.h5", "box", "/a?b.h5"),
    ],
)
def test_a_location_names_host_and_file_as_they_are_written(
    location: str, host: str, path: str, far_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def fetch(_connect: object, host: str, path: str, copy: Path, _progress: object) -> Path:
        asked.append((host, path))
        return copy

    monkeypatch.setattr(remote_files, "_fetch", fetch)
    fetch_location(location, lambda *_numbers: None)
    assert asked == [(host, path)]


class Far:
    """Stands in for the connection: a file that is fetched without one. Each location has other content."""

    def __init__(self, _place: object, request: dict[str, Any], **_options: object) -> None:
        self._known = request["known"]

    def answer(self) -> dict[str, Any]:
        values = {"size": 1000, "mtime_ns": 1}
        return {**values, "is_same": values == self._known}

    def following(self) -> list[tuple[FrameType, bytes]]:
        frames = [
            packed_file(FrameType.FILE, "0", 0, bytes(1000)),
            packed_file(FrameType.FILE, "0", 1000, b""),
        ]
        return [(FrameType.FILE, frame[5:]) for frame in frames]

    def close(self) -> None: ...


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(remote_files, "Connection", Far)
    monkeypatch.setattr(remote_files, "cache_folder", lambda: tmp_path)
    return tmp_path / "remote-files"


def note(told: list[tuple[int, int]], arrived: int, size: int) -> None:
    told.append((arrived, size))


def test_a_file_may_have_the_name_of_our_notes(cache: Path) -> None:
    for name in ("fetched.json", "part1"):
        told: list[tuple[int, int]] = []
        location = f"ssh://box/{name}"
        copy = fetch_location(location, partial(note, told))
        assert copy.read_bytes() == bytes(1000)
        assert told == [(1000, 1000)]
        fetch_location(location, partial(note, told))
        assert told == [(1000, 1000)], "the same file is not fetched again"
        assert copy.read_bytes() == bytes(1000)


def test_two_windows_fetch_the_same_file_at_once(cache: Path) -> None:
    """The second one begins and ends while the first one fetches."""

    def meanwhile(_count: int, _size: int) -> None:
        fetch_location("ssh://box/run.h5", lambda *_numbers: None)

    assert fetch_location("ssh://box/run.h5", meanwhile).read_bytes() == bytes(1000)
    assert not list(cache.rglob("*part*"))


def test_the_cache_keeps_what_was_opened_last(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_files, "_MOST_BYTES", 2500)
    copies = []
    for number in range(4):
        copies.append(fetch_location(f"ssh://box/{number}.h5", lambda *_numbers: None))
        for age, copy in enumerate(reversed(copies)):
            os.utime(copy.parent, (1e9 - age, 1e9 - age)) if copy.exists() else None
    assert [copy.exists() for copy in copies] == [False, False, True, True]
    abandoned = cache / "0123.part"
    abandoned.write_bytes(b"")
    os.utime(abandoned, (1e9, 1e9))
    fetch_location("ssh://box/3.h5", lambda *_numbers: None)
    assert not abandoned.exists()


@pytest.mark.parametrize(
    "text", ["ssh://", "ssh://box", "ssh://box/", "http://box/run.h5", "ssh:///run.h5", "ssh://box/a/.."]
)
def test_other_texts_are_no_locations(text: str) -> None:
    with pytest.raises(UsageError):
        fetch_location(text, lambda *_numbers: None)
