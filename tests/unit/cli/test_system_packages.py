"""A missing library is named with the package that holds it."""

from __future__ import annotations

import pytest

from warpline.cli.system_packages import install_command

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
