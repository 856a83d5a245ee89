"""How this Warpline is installed: version, form, what is compiled, what upgrades it. Nothing is fetched."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from warpline._version import __version__
from warpline.i18n import english
from warpline.platform.systems import library_file
from warpline.plugins import distribution_of, entry_points

_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, kw_only=True)
class Installation:
    """``form`` is checkout, wheel or bundle (archive, .deb); ``broken`` names compiled libraries that do not load."""

    version: str
    form: str
    folder: str
    window: bool
    compiled: tuple[str, ...]
    broken: tuple[str, ...]
    upgrade: str


def this_installation() -> Installation:
    """How this Warpline is installed."""
    libraries = {name: _loads(path) for name, path in _libraries().items()}
    form = _form()
    has_window = importlib.util.find_spec("PySide6") is not None
    return Installation(
        version=__version__,
        form=form,
        folder=str(_PACKAGE.parents[1] if form == "checkout" else _PACKAGE.parent),
        window=has_window,
        compiled=tuple(name for name, loads in libraries.items() if loads),
        broken=tuple(name for name, loads in libraries.items() if not loads),
        upgrade=upgrade_command(form, _PACKAGE, Path(sys.prefix), has_window),
    )


def upgrade_command(form: str, package: Path, environment: Path, has_window: bool) -> str:
    """What brings the newest version to an installation: a package in an environment of Python."""
    name = "warpline[gui]" if has_window else "warpline"
    if form == "checkout":
        return "git pull && make setup"
    if form == "bundle":
        if package.parts[:2] == ("/", "opt"):
            return english(
                "apt-get install ./warpline_VERSION_amd64.deb, with the package of the new version"
            )
        return english("unpack the archive of the new version in place of this folder")
    if (environment / "uv-receipt.toml").is_file():
        return "uv tool upgrade warpline"
    if (environment / "pipx_metadata.json").is_file():
        return "pipx upgrade warpline"
    if any(part.startswith("archive-v") for part in environment.parts):  # uv's cache
        return f'uvx --refresh --from "{name}" warpline'
    return f"{shlex.quote(sys.executable)} -m pip install --upgrade {_requirement(name, package)}"


def _requirement(name: str, package: Path) -> str:
    """What pip installs: the folder that it installed from, where it kept one (PEP 610), else the name."""
    for kept in package.parent.glob("warpline-*.dist-info/direct_url.json"):
        try:
            url = json.loads(kept.read_text("utf-8")).get("url", "")
        except (OSError, ValueError, AttributeError):
            continue
        folder = unquote(urlsplit(url).path) if str(url).startswith("file:") else ""
        folder = folder.removeprefix("/") if folder[2:3] == ":" else folder  # /C:/…
        if folder and Path(folder).is_dir():
            return shlex.quote(f"{folder}{name.removeprefix('warpline')}")
    return f'"{name}"'


def _form() -> str:
    if getattr(sys, "frozen", False):
        return "bundle"
    return "checkout" if (_PACKAGE.parents[1] / "pyproject.toml").is_file() else "wheel"


def _libraries() -> dict[str, Path]:
    """The compiled libraries of Warpline's packages, by name."""
    folders = {_PACKAGE}
    for point in entry_points("warpline.commands"):
        if distribution_of(point) == "warpline":
            spec = importlib.util.find_spec(point.module.partition(".")[0])
            folders |= set(map(Path, spec.submodule_search_locations or ())) if spec is not None else set()
    pattern = library_file("*")
    before, _, after = pattern.partition("*")
    files = (path for folder in folders for path in folder.rglob(pattern))
    libraries = {path.name.removeprefix(before).removesuffix(after): path for path in files}
    return dict(sorted(libraries.items()))


def _loads(library: Path) -> bool:
    try:
        ctypes.CDLL(str(library))
    except OSError:
        return False
    return True
