"""Finds modules of ours by how they are named: a new one of a sort is one new file, and no list names it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

_Plugin = TypeVar("_Plugin")


def modules_named(package: str, ending: str) -> list[str]:
    """Full names of the modules of a package, and of the packages right in it, that end so.

    Nothing is imported but the package.
    """
    found: list[str] = []
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if module.name.endswith(ending):
            found.append(module.name)
        elif module.ispkg:
            folder = str(Path(getattr(module.module_finder, "path", "")) / module.name.rpartition(".")[2])
            inside = pkgutil.iter_modules([folder], f"{module.name}.")
            found += [inner.name for inner in inside if inner.name.endswith(ending)]
    return sorted(found)


def in_order(plugins: Iterable[_Plugin]) -> list[_Plugin]:
    """Plugins by their attribute ``position``; those without one come last, in the order in which they are given."""
    return sorted(plugins, key=lambda plugin: getattr(plugin, "position", float("inf")))
