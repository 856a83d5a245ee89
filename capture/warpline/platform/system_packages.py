"""Names the distribution's package of a system library that Qt needs."""

from __future__ import annotations

import ctypes
import os
import platform

_COMMANDS = {
    "debian": "apt-get install",
    "fedora": "dnf install",
    "arch": "pacman -S",
    "alpine": "apk add",
}
_PACKAGES = {
    "libglib-2.0": ("libglib2.0-0", "glib2", "glib2", "glib"),
    "libEGL": ("libegl1", "libglvnd-egl", "libglvnd", "mesa-egl"),
    "libGL": ("libgl1", "libglvnd-glx", "libglvnd", "mesa-gl"),
    "libxkbcommon": ("libxkbcommon0", "libxkbcommon", "libxkbcommon", "libxkbcommon"),
    "libdbus-1": ("libdbus-1-3", "dbus-libs", "dbus", "dbus-libs"),
    "libfontconfig": ("libfontconfig1", "fontconfig", "fontconfig", "fontconfig"),
    "libxcb-cursor": ("libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor", "xcb-util-cursor"),
    "libxcb-icccm": ("libxcb-icccm4", "xcb-util-wm", "xcb-util-wm", "xcb-util-wm"),
    "libxcb-keysyms": ("libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms", "xcb-util-keysyms"),
    "libxcb-shape": ("libxcb-shape0", "libxcb", "libxcb", "libxcb"),
    "libxkbcommon-x11": ("libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11", "libxkbcommon"),
}
"""Packages in the order of `_COMMANDS`, as in scripts/bootstrap.sh."""

_X11_LIBRARIES = (
    "libxcb-cursor.so.0",
    "libxcb-icccm.so.4",
    "libxcb-keysyms.so.1",
    "libxcb-shape.so.0",
    "libxkbcommon-x11.so.0",
)


def install_command(message: str, distributions: list[str] | None = None) -> str | None:
    """The command that installs the library that an import error names; None where it is not known.

    ``distributions`` are names as in os-release, most specific first; by default those of this machine.
    """
    packages = _PACKAGES.get(message.partition(".so")[0].strip())
    if packages is None:
        return None
    for name in _distributions() if distributions is None else distributions:
        if name in _COMMANDS:
            return f"{_COMMANDS[name]} {packages[list(_COMMANDS).index(name)]}"
    return None


def require_x11_libraries() -> None:
    """Raises ImportError, as loading it would, for a missing library without which Qt aborts when it opens on X11."""
    is_on_x11 = bool(os.environ.get("DISPLAY")) and not os.environ.get("WAYLAND_DISPLAY")
    if os.environ.get("QT_QPA_PLATFORM", "xcb" if is_on_x11 else "") != "xcb":
        return
    for name in _X11_LIBRARIES:
        try:
            ctypes.CDLL(name)
        except OSError as error:
            raise ImportError(str(error)) from error


def _distributions() -> list[str]:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return []
    return [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
