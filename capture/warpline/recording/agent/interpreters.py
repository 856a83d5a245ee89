"""The Pythons of this machine, for ``warpline doctor``: on the path, and those that pyenv keeps."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from warpline.i18n import english

_MINORS = range(8, 16)
_MOST = 12
_SECONDS = 10


def interpreters() -> list[str]:
    """Executables of Python 3, each once."""
    found = [shutil.which(f"python3.{minor}") for minor in _MINORS] + [shutil.which("python3")]
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    with contextlib.suppress(OSError):  # somebody else's folder
        found += [str(path) for path in sorted(root.glob("versions/3.*/bin/python3"))]
    # What pyenv puts on the path is a script that chooses one of them.
    real = (os.path.realpath(path) for path in found if path and "/shims/" not in path)
    return list(dict.fromkeys(real))[:_MOST]


def version_of(interpreter: str) -> str:
    """``3.12.1``; empty when it cannot be run."""
    try:
        done = subprocess.run(
            [interpreter, "-V"], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().removeprefix("Python ")


def tried(works: Callable[[str], bool]) -> tuple[list[str], list[str]]:
    """Versions of this machine's Pythons with which something works, and of the others; tried side by side."""
    found = interpreters()
    with ThreadPoolExecutor(4) as pool:
        versions, fine = list(pool.map(version_of, found)), list(pool.map(works, found))
    pairs = {version: good for version, good in zip(versions, fine, strict=True) if version}
    order = sorted(pairs, key=lambda version: [int(part) for part in version.split(".") if part.isdigit()])
    return [version for version in order if pairs[version]], [v for v in order if not pairs[v]]


def told(fine: list[str], others: list[str]) -> str:
    """``tried with Python 3.12.1; not with Python 3.8.18``."""
    parts = []
    if fine:
        parts.append(english("tried with Python {versions}", versions=", ".join(fine)))
    if others:
        parts.append(english("not with Python {versions}", versions=", ".join(others)))
    return "; ".join(parts)
