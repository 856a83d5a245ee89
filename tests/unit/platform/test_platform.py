"""What the platform room promises on every system."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import pytest

import warpline
from warpline.platform.files import FileInUseError, replace, reserve, write_at
from warpline.platform.folders import cache_folder
from warpline.platform.systems import can_open_windows, has_screen, library_file, provide_streams

ASKS = re.compile(r"sys\.platform|\bos\.name\b|platform\.system\(|hasattr\((os|mmap|select|signal), ")
PACKAGE = Path(warpline.__file__).parent


def test_only_the_platform_room_and_recording_ask_which_system_this_is() -> None:
    packages = (PACKAGE, PACKAGE.parents[1] / "app" / "warpline_app")
    modules = {path.relative_to(package): path for package in packages for path in package.rglob("*.py")}
    # A wheel holds the bundled example, too, which is no module of ours.
    rooms = {"platform", "recording", "_resources"}
    asking = [str(place) for place, path in modules.items() if ASKS.search(path.read_text("utf-8"))]
    assert {place for place in asking if Path(place).parts[0] not in rooms} == set()


def test_libraries_are_named_as_each_system_names_them() -> None:
    assert [library_file("strip", system) for system in ("linux", "darwin", "win32", "freebsd14")] == [
        "libwarpline_strip.so",
        "libwarpline_strip.dylib",
        "warpline_strip.dll",
        "libwarpline_strip.so",
    ]


@pytest.mark.parametrize(
    ("system", "environment", "screen", "windows"),
    [
        ("linux", {}, False, False),
        ("linux", {"DISPLAY": ":0"}, True, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True, True),
        ("linux", {"DISPLAY": ":0", "QT_QPA_PLATFORM": "offscreen"}, False, True),
        ("darwin", {}, True, True),
        ("win32", {}, True, True),
        ("win32", {"QT_QPA_PLATFORM": "minimal"}, False, True),
    ],
)
def test_only_linux_needs_a_display_server(
    system: str,
    environment: dict[str, str],
    screen: bool,
    windows: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", system)
    assert (has_screen(), can_open_windows()) == (screen, windows)


def test_caches_lie_where_each_system_keeps_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    folders = {}
    for system in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", system)
        folders[system] = cache_folder().relative_to(tmp_path).as_posix()
    assert folders == {
        "linux": ".cache/warpline",
        "darwin": "Library/Caches/warpline",
        "win32": "local/warpline/cache",
    }


def test_a_program_without_a_console_writes_its_messages_to_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    console = io.StringIO()
    monkeypatch.setattr(sys, "stdout", console)
    monkeypatch.setattr(sys, "stderr", None)
    provide_streams()
    print("warpline: error: no such file", file=sys.stderr)
    assert sys.stdout is console
    sys.stderr.close()
    assert (tmp_path / "warpline" / "window.log").read_text("utf-8") == "warpline: error: no such file\n"


def test_a_file_that_is_open_elsewhere_is_kept_and_said_to_be_open(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made, path = tmp_path / "made", tmp_path / "run.h5"
    made.write_text("new")
    path.write_text("old")

    def refuse(_path: Path, _target: Path) -> None:
        raise PermissionError(13, "Sharing violation")

    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(FileInUseError, match="open in Warpline or another program") as caught:
        replace(made, path)
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(PermissionError, match="Sharing violation"):
        replace(made, path)


def test_bytes_are_written_at_their_offset_and_space_is_reserved(tmp_path: Path) -> None:
    path = tmp_path / "file"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    if reserve(descriptor, 0, 6):
        assert path.stat().st_size == 6
    assert write_at(descriptor, memoryview(b"def"), 3) == 3
    assert write_at(descriptor, memoryview(b"abc"), 0) == 3
    os.close(descriptor)
    assert path.read_bytes() == b"abcdef"
