"""The system this runs on, and what that means for displays and cores."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable

SYSTEM = sys.platform
"""As in `sys.platform`: ``linux``, ``darwin`` (macOS), ``win32`` (Windows), or another, which is treated as Linux."""


_LIBRARY_NAMES = {"darwin": "libwarpline_{}.dylib", "win32": "warpline_{}.dll"}


def library_file(name: str, system: str = SYSTEM) -> str:
    """File name of the compiled library ``name`` on a system, which is named as in `sys.platform`."""
    return _LIBRARY_NAMES.get(system, "libwarpline_{}.so").format(name)


def is_linux() -> bool:
    """Whether this is Linux, where recording works."""
    return sys.platform == "linux"


def shell_quoted(text: str) -> str:
    """A word for the shell of this system."""
    if sys.platform == "win32":
        import subprocess

        return subprocess.list2cmdline([text])
    else:  # a test that type checkers understand
        return shlex.quote(text)


def can_wait_for_pipes() -> bool:
    """Whether pipes can be read without blocking, which recording on another machine needs. Windows cannot."""
    return sys.platform != "win32"


def may_reuse_ports() -> bool:
    """Whether a server may take a port that a former one has just left. Windows would give it one that is in use."""
    return sys.platform != "win32"


def system_name() -> str:
    """The system's name for readers, such as ``Windows``."""
    import platform

    return platform.system() or sys.platform


def usable_cores() -> int:
    """Number of cores this process may use; all cores of the machine where the system does not tell (macOS)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_open_windows() -> bool:
    """Whether a window can be opened, perhaps unseen: Linux needs a display server or a Qt platform without one."""
    return has_screen() or bool(os.environ.get("QT_QPA_PLATFORM"))


def has_screen() -> bool:
    """Whether a screen is there to show a window."""
    if os.environ.get("QT_QPA_PLATFORM") in {"offscreen", "minimal"}:
        return False
    needs_server = sys.platform not in {"darwin", "win32"}
    return not needs_server or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def has_own_file_dialogs() -> bool:
    """Whether one file dialog serves all programs, so that users know it: on macOS and Windows, not on Linux."""
    return sys.platform in {"darwin", "win32"}


def pictures_need_offscreen() -> bool:
    """Whether pictures are drawn on Qt's offscreen platform; on macOS and Windows it finds no fonts."""
    return sys.platform not in {"darwin", "win32"}


def fork() -> int:
    """Fork this process; returns 0 in the child, else its id. Raises OSError on Windows, which cannot fork."""
    if sys.platform != "win32":
        return os.fork()
    else:  # a test that type checkers understand
        raise OSError("Windows cannot fork")


def kill_group(leader: int) -> None:
    """Kill a process group, named by its leader. Raises OSError where there is none, as on Windows."""
    if sys.platform != "win32":
        os.killpg(leader, signal.SIGKILL)
    else:  # a test that type checkers understand
        raise OSError("Windows has no process groups")


def stop_waiting(pipe: int) -> None:
    """Make reads of a pipe return at once, with BlockingIOError if it is empty. Not possible on Windows."""
    if sys.platform != "win32":
        os.set_blocking(pipe, False)


def call_in_forks(function: Callable[[], None]) -> None:
    """Calls the function in every forked child. Windows has no forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def provide_streams() -> None:
    """Gives a Windows program without a console a standard output and error: ``window.log`` in the cache folder."""
    if sys.stdout is not None and sys.stderr is not None:
        return
    from warpline.platform.folders import cache_folder

    log = cache_folder() / "window.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        stream = log.open("w", encoding="utf-8", buffering=1)
    except OSError:
        stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # for the whole run
    sys.stdout = sys.stdout or stream
    sys.stderr = sys.stderr or stream


def name_program(identifier: str) -> None:
    """Tells Windows which program's windows these are, so that its taskbar groups them under our icon, not Python's."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.shell32.SetCurrentProcessExplicitAppUserModelID(identifier)
