"""Finds or compiles the native agent.

Platform wheels contain it. Other wheels contain its C sources, which the first recording compiles into the user's
cache if the machine has a C compiler.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import uuid
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from warpline.i18n import english
from warpline.platform.folders import home_folder

LIBRARY_NAME = "libwarpline_agent.so"
REFUSED_FILE = "refused"
"""Beside the agent on another machine: why it cannot be used there."""
MACHINES = ("x86_64", "aarch64")
_FLAGS = ("-std=c11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread")
_LIBRARIES = ("-ldl", "-Wl,-z,nodelete")
_COMPILE_SECONDS = 600


@dataclass(frozen=True)
class AgentLibrary:
    """The library's path, or None with the reason and a remedy."""

    path: Path | None
    reason: str = ""
    remedy: str = ""


@lru_cache(maxsize=1)
def agent_library() -> AgentLibrary:
    """The agent of this installation; compiled first if necessary and possible."""
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        return AgentLibrary(
            None,
            english("the agent runs on Linux on {machines} only", machines=" / ".join(MACHINES)),
        )
    folder = Path(__file__).resolve().parent
    packaged = folder / LIBRARY_NAME
    if packaged.is_file() and not _is_older(packaged, folder.parent):
        return AgentLibrary(packaged)
    refusal = folder / REFUSED_FILE
    if refusal.is_file():
        return AgentLibrary(None, refusal.read_text())
    return _compiled(folder.parent, _cache_folder())


def _is_older(library: Path, recording: Path) -> bool:
    """Whether the C sources are newer than the library, as in a checkout: record layouts may differ."""
    made = library.stat().st_mtime
    return any(
        path.stat().st_mtime > made for folder in native_folders(recording) for path in folder.glob("*.[ch]")
    )


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base.startswith("/") else home_folder() / ".cache"
    return root / "warpline" / "agent"


def native_folders(recording: Path) -> list[Path]:
    """Folders of the agent's C code: the shared part, then one of each source."""
    shared = recording / "agent" / "native"
    return [shared, shared / "python", *sorted(recording.glob("sources/*/native"))]


def _compiled(recording: Path, cache: Path) -> AgentLibrary:
    folders = native_folders(recording)
    sources = [path for folder in folders for path in sorted(folder.glob("*.c"))]
    if not sources:
        return AgentLibrary(
            None,
            english("this installation has neither the agent nor its sources"),
            english("install a wheel of warpline for this platform"),
        )
    digest = hashlib.sha256(platform.machine().encode())
    for path in (*sources, *(path for folder in folders for path in sorted(folder.glob("*.h")))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    library = cache / digest.hexdigest()[:16] / LIBRARY_NAME
    if library.is_file():
        return AgentLibrary(library)
    if "musl" in (sysconfig.get_config_var("SOABI") or ""):
        return AgentLibrary(
            None,
            english("the agent needs glibc, and this system has musl (as Alpine does)"),
            english("record in a container with glibc, for example Debian"),
        )
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if shutil.which(compiler[0]) is None:
        return AgentLibrary(
            None,
            english("the agent is not installed, and there is no C compiler to build it"),
            english(
                "install a wheel of warpline for this platform, or a C compiler (apt-get install gcc libc6-dev)"
            ),
        )
    unfinished = library.with_suffix(f".{uuid.uuid4().hex[:8]}.tmp")
    includes = [f"-I{folder}" for folder in folders]
    command = [*compiler, *_FLAGS, *includes, "-o", str(unfinished), *map(str, sources), *_LIBRARIES]
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMPILE_SECONDS,
        )
        if done.returncode == 0:
            os.replace(unfinished, library)
            return AgentLibrary(library)
        reason = next(
            (line for line in done.stderr.splitlines() if "error" in line), f"status {done.returncode}"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    unfinished.unlink(missing_ok=True)
    return AgentLibrary(
        None,
        english(
            "the agent could not be compiled with {compiler}: {reason}", compiler=compiler[0], reason=reason
        ),
        english("install a wheel of warpline for this platform"),
    )
