"""Finds Python interpreters for a script without running any of them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warpline.i18n import tr
from warpline.own_python import python_of_programs
from warpline.platform.folders import home_folder

_NAME = re.compile(r"python(?:3(?:\.\d+)?)?")
_ENVIRONMENT_NAMES = (".venv", "venv", "env", ".env")
PARENTS_SEARCHED = 4


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter: its path, origin, and version if a file tells it."""

    path: Path
    origin: str
    version: str = ""

    @property
    def text(self) -> str:
        """A line for a list."""
        version = f"Python {self.version}" if self.version else "Python"
        return f"{version} · {self.origin} · {self.path}"


def find_interpreters(
    folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> list[Interpreter]:
    """Python interpreters, most likely first.

    The order is: environments in and above ``folder`` (the script's), the active one, Warpline's own, those on PATH,
    and those of conda and pyenv. Each program appears once.
    """
    env = os.environ if environment is None else environment
    interpreters: dict[Path, Interpreter] = {}

    def add(path: Path, origin: str) -> None:
        try:
            usable = path.is_file() and os.access(path, os.X_OK)
        except OSError:
            usable = False
        # Not resolved: a virtual environment is recognized by its link.
        if usable and path.absolute() not in interpreters:
            interpreters[path.absolute()] = Interpreter(path.absolute(), origin, _version_of(path))

    for place in _with_parents(folder):
        for name in _ENVIRONMENT_NAMES:
            add(place / name / "bin" / "python", tr("project environment"))
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if env.get(variable):
            add(Path(env[variable]) / "bin" / "python", tr("active environment"))
    add(Path(python_of_programs()), tr("Warpline's Python"))
    for entry in env.get("PATH", "").split(os.pathsep):
        for name in _pythons_in(Path(entry)) if entry else ():
            add(Path(entry) / name, tr("on PATH"))
    home = Path(env.get("HOME", "") or home_folder())
    for prefix in _conda_prefixes(home):
        add(prefix / "bin" / "python", "conda")
    pyenv = Path(env.get("PYENV_ROOT", "") or home / ".pyenv") / "versions"
    if pyenv.is_dir():
        for version in sorted(pyenv.iterdir(), reverse=True):
            add(version / "bin" / "python", "pyenv")
    return list(interpreters.values())


def _with_parents(folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    folder = folder.absolute()
    return [folder, *folder.parents][: PARENTS_SEARCHED + 1]


def _pythons_in(folder: Path) -> list[str]:
    try:
        names = [name for name in os.listdir(folder) if _NAME.fullmatch(name)]
    except OSError:
        return []
    # python3 before python3.11 before python: plain python may be Python 2.
    return sorted(names, key=lambda name: (name != "python3", name == "python", name))


def _conda_prefixes(home: Path) -> list[Path]:
    try:
        lines = (home / ".conda" / "environments.txt").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return [Path(line.strip()) for line in lines if line.strip()]


def _version_of(path: Path) -> str:
    if path == Path(sys.executable):
        return ".".join(str(part) for part in sys.version_info[:3])
    config = path.parent.parent / "pyvenv.cfg"
    try:
        for line in config.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            if key.strip() in {"version", "version_info"}:
                return ".".join(value.strip().split(".")[:3])
    except (OSError, UnicodeDecodeError):
        pass  # not a virtual environment
    try:
        match = re.search(r"python(3\.\d+)$", str(path.resolve()))
    except OSError:
        return ""
    return match[1] if match else ""
