"""Tries the agent that was sent: it may be made for another processor or a newer C library."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

from warpline.i18n import english
from warpline.recording.agent.library import LIBRARY_NAME, REFUSED_FILE

_MACHINES = {"x86_64": 62, "aarch64": 183}
"""``e_machine`` of elf(5)."""
_SECONDS = 20


def check_agent(root: Path) -> None:
    """Check once for each version whether the agent works here; if not, leave the reason in a file beside it.

    Raises OSError.
    """
    library = root / "warpline" / "recording" / "agent" / LIBRARY_NAME
    checked = library.with_name("checked")
    if checked.exists() or not library.exists():
        return
    reason = _refusal(library)
    if reason:
        library.with_name(REFUSED_FILE).write_text(reason)
        library.unlink()
    checked.touch()


def _refusal(library: Path) -> str:
    with library.open("rb") as file:
        machine = int.from_bytes(file.read(20)[18:], "little")
    if machine != _MACHINES.get(platform.machine()):
        return english(
            "the agent that was sent is for another processor than {machine}", machine=platform.machine()
        )
    load = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", load, str(library)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return english("the agent that was sent does not load here: {why}", why=error)
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
    return english(
        "the agent that was sent does not load here: {why}", why=lines[-1].replace(str(library), LIBRARY_NAME)
    )
