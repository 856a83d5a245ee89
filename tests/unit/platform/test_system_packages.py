"""A missing library is named with the package that holds it."""

from __future__ import annotations

import pytest

from warpline.platform.system_packages import install_command, require_x11_libraries

MISSING = "{}: cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("distributions", "command"),
    [
        (["debian"], "apt-get install libegl1"),
        (["linuxmint", "ubuntu", "debian"], "apt-get install libegl1"),
        (["fedora"], "dnf install libglvnd-egl"),
        (["arch"], "pacman -S libglvnd"),
        (["alpine"], "apk add mesa-egl"),
        (["unheard-of"], None),
        ([], None),
    ],
)
def test_the_package_is_that_of_the_distribution(distributions: list[str], command: str | None) -> None:
    assert install_command(MISSING.format("libEGL.so.1"), distributions) == command


def test_an_unknown_library_has_no_command() -> None:
    assert install_command(MISSING.format("libunheard.so.1"), ["debian"]) is None
    assert (
        install_command(MISSING.format("libxcb-cursor.so.0"), ["debian"]) == "apt-get install libxcb-cursor0"
    )


@pytest.mark.parametrize(
    ("environment", "is_refused"),
    [
        ({"DISPLAY": ":0"}, True),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, False),
        ({"DISPLAY": ":0", "QT_QPA_PLATFORM": "offscreen"}, False),
        ({"QT_QPA_PLATFORM": "xcb"}, True),
        ({}, False),
    ],
)
def test_a_library_without_which_qt_aborts_is_named_before(
    environment: dict[str, str], is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("warpline.platform.system_packages._X11_LIBRARIES", ("libxcb-absent.so.7",))
    if not is_refused:
        require_x11_libraries()
        return
    with pytest.raises(ImportError, match=r"libxcb-absent\.so\.7: cannot open shared object file"):
        require_x11_libraries()
