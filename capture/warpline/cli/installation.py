"""How this Warpline is installed: version, form, what is compiled, what upgrades it. Nothing is fetched."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from warpline import extras
from warpline._version import __version__
from warpline.i18n import english
from warpline.platform.systems import library_file
from warpline.plugins import distribution_of, entry_points


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
    form = extras.form()
    return Installation(
        version=__version__,
        form=form,
        folder=str(extras.PACKAGE.parents[1] if form == "checkout" else extras.PACKAGE.parent),
        window="gui" in extras.installed_extras(),
        compiled=tuple(name for name, loads in libraries.items() if loads),
        broken=tuple(name for name, loads in libraries.items() if not loads),
        upgrade=upgrade_command(form, extras.PACKAGE, Path(sys.prefix)),
    )


def upgrade_command(form: str, package: Path, environment: Path) -> str:
    """The command that upgrades an installation: of a package in a Python environment."""
    if form == "checkout":
        return "git pull && make setup"
    if form == "bundle":
        if package.parts[:2] == ("/", "opt"):
            return english(
                "apt-get install ./warpline_VERSION_amd64.deb, with the package of the new version"
            )
        return english("unpack the archive of the new version in place of this folder")
    return extras.upgrade_command(package, environment)


def _libraries() -> dict[str, Path]:
    """The compiled libraries of Warpline's packages, by name."""
    folders = {extras.PACKAGE}
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
