"""Finds built-in modules by their names: adding an importer or exporter takes one new file and no list entry."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from warpline.plugins import checked

_Plugin = TypeVar("_Plugin")


def built_in(package: str, ending: str, attribute: str, kind: type[_Plugin]) -> list[_Plugin]:
    """The instances of ``kind`` that modules with names of this ending have as ``attribute``.

    Raises TypeError for a module without one.
    """
    return [
        checked(getattr(importlib.import_module(module), attribute, None), kind)
        for module in modules_named(package, ending)
    ]


def modules_named(package: str, ending: str) -> list[str]:
    """Full names of the modules with this ending, in a package and the packages directly in it.

    Imports nothing but the package.
    """
    names: list[str] = []
    folders = list(importlib.import_module(package).__path__)
    for module in pkgutil.iter_modules(folders, f"{package}."):
        if module.name.endswith(ending):
            names.append(module.name)
        elif module.ispkg:
            # Not the finder's path: finders of frozen programs have none.
            own = [str(Path(folder) / module.name.rpartition(".")[2]) for folder in folders]
            inside = pkgutil.iter_modules(own, f"{module.name}.")
            names += [inner.name for inner in inside if inner.name.endswith(ending)]
    return sorted(names)


def in_order(plugins: Iterable[_Plugin]) -> list[_Plugin]:
    """Plug-ins sorted by their attribute ``position``; those without one come last, in the given order."""
    return sorted(plugins, key=lambda plugin: getattr(plugin, "position", float("inf")))
