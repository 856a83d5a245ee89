"""Commands that install what this Warpline lacks: optional packages ("extras") and newer versions.

They suit the way it was installed: by pip, uv or pipx, from a checkout, a file or a package index. Nothing is fetched.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from warpline._version import __version__
from warpline.platform.systems import shell_quoted

PACKAGE = Path(__file__).resolve().parent
MODULES = {
    "PySide6": "gui",
    "shiboken6": "gui",
    "pyqtgraph": "gui",
    "pyarrow": "parquet",
    "dask": "dask",
    "distributed": "dask",
    "cryptography": "dask",
    "duckdb": "sql",
    "mcp": "mcp",
}
"""Top-level modules of optional packages, and the extra that installs them."""
_KNOWN_BY = {"gui": "PySide6", "parquet": "pyarrow", "dask": "distributed", "sql": "duckdb", "mcp": "mcp"}
"""A module of each extra that shows whether it is installed."""


def form() -> str:
    """``bundle`` (archive, .deb), ``checkout`` or ``wheel``."""
    if getattr(sys, "frozen", False):
        return "bundle"
    return "checkout" if (PACKAGE.parents[1] / "pyproject.toml").is_file() else "wheel"


def installed_extras() -> set[str]:
    """The extras that are installed."""
    return {extra for extra, module in _KNOWN_BY.items() if importlib.util.find_spec(module) is not None}


def install_command(extra: str) -> str:
    """The command that adds an extra to this installation."""
    if (
        form() == "bundle"
    ):  # nothing can be added to a bundle, and Debian's pip only installs into virtual environments
        return f"uv tool install {requirement({extra, 'gui'}, PACKAGE)}"
    return _command("install --force", {extra}, PACKAGE, Path(sys.prefix))


def upgrade_command(package: Path = PACKAGE, environment: Path | None = None) -> str:
    """The command that brings the newest version to a package in an environment of Python."""
    return _command("upgrade", set(), package, environment or Path(sys.prefix))


def _command(verb: str, extras: set[str], package: Path, environment: Path) -> str:
    """The command of a tool. uv and pipx recreate the environment, so they get all extras."""
    every = requirement(installed_extras() | extras, package)
    upgrades = verb == "upgrade"
    for tool, receipt in {"uv tool": "uv-receipt.toml", "pipx": "pipx_metadata.json"}.items():
        if (environment / receipt).is_file():
            return f"{tool} {verb} {'warpline' if upgrades else every}"
    if any(part.startswith("archive-v") for part in environment.parts):  # uv's cache
        return f"uvx {'--refresh ' if upgrades else ''}--from {every} warpline"
    pip = f"{shell_quoted(sys.executable)} -m pip install"
    return f"{pip} --upgrade {every}" if upgrades else f"{pip} {requirement(extras, package)}"


def requirement(extras: set[str], package: Path = PACKAGE) -> str:
    """What to pass to an installer, quoted: the checkout, the folder or file of origin (PEP 610), or the name.

    Development versions are on no package index: their name would fetch something else, or nothing.
    """
    suffix = f"[{','.join(sorted(extras))}]" if extras else ""
    checkout = package.parents[1]
    if (checkout / "pyproject.toml").is_file():
        return f"-e {shell_quoted(f'{checkout}{suffix}')}"
    if source := _source(package):
        return shell_quoted(f"{source}{suffix}")
    return f'"warpline{suffix}"' if is_released() else f'"PATH-OF-WHEEL-OR-CHECKOUT{suffix}"'


def is_released() -> bool:
    """Whether this version is, or soon will be, on PyPI."""
    return ".dev" not in __version__


def _source(package: Path) -> str:
    """The folder or file that a package was installed from, where it is still there; else empty."""
    for kept in package.parent.glob("warpline-*.dist-info/direct_url.json"):
        try:
            url = json.loads(kept.read_text("utf-8")).get("url", "")
        except (OSError, ValueError, AttributeError):
            continue
        place = unquote(urlsplit(url).path) if str(url).startswith("file:") else ""
        place = place.removeprefix("/") if place[2:3] == ":" else place  # /C:/…
        if place and Path(place).exists():
            return place
    return ""
