"""What installed distributions add to Warpline: their entry points, read once for all groups."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from functools import cache, reduce
from typing import Any

from warpline.frozen import frozen

_METADATA = (".dist-info", ".egg-info")


@frozen
class EntryPoint:
    """What a distribution registers in a group."""

    name: str
    value: str
    """where it is found: ``package.module:attribute``"""
    distribution: str

    @property
    def module(self) -> str:
        """The module that is imported for it."""
        return self.value.partition("[")[0].partition(":")[0].strip()

    def load(self) -> Any:
        """What it stands for. Raises what importing the module raises, and AttributeError."""
        if not all(part.isidentifier() for part in self.module.split(".")):
            raise ModuleNotFoundError(f"No module named {self.module!r}", name=self.module)
        attribute = self.value.partition("[")[0].partition(":")[2].strip()
        return reduce(getattr, filter(None, attribute.split(".")), importlib.import_module(self.module))


@cache
def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, such as ``warpline.panels``."""
    points = _all_points()
    return points.get(group, ()) if points is not None else _as_python_reads_them(group)


@cache
def _all_points() -> dict[str, tuple[EntryPoint, ...]] | None:
    """Entry points by their group, None where distributions lie in something else than folders (zip files).

    Read from the files themselves: importing what reads them wherever they are is a tenth of the time a window takes to
    appear.
    """
    found: dict[str, list[EntryPoint]] = {}
    known: set[str] = set()
    for place in dict.fromkeys(sys.path):
        try:
            with os.scandir(place or ".") as entries:
                folders = [entry.path for entry in entries if entry.name.endswith(_METADATA)]
        except NotADirectoryError:
            return None
        except OSError:
            continue
        # Of one that is installed twice, the first is imported.
        for folder in sorted(folders, key=lambda path: path.endswith(_METADATA[1])):
            name = os.path.basename(folder).rpartition(".")[0].partition("-")[0]
            normal = name.lower().replace("-", "_").replace(".", "_")
            if normal not in known:
                known.add(normal)
                for group, point in _points_in(os.path.join(folder, "entry_points.txt"), name):
                    found.setdefault(group, []).append(point)
    return {group: tuple(points) for group, points in found.items()}


def _points_in(path: str, distribution: str) -> Iterator[tuple[str, EntryPoint]]:
    """Groups and entry points of a file, as the packaging specification lays it out."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file]
    except OSError:
        return
    group = ""
    for line in lines:
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif group and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield group, EntryPoint(name.strip(), value.strip(), distribution)


def _as_python_reads_them(group: str) -> tuple[EntryPoint, ...]:
    from importlib import metadata

    found = metadata.entry_points(group=group)
    return tuple(EntryPoint(p.name, p.value, p.dist.name if p.dist is not None else p.value) for p in found)


def forget() -> None:
    """Look again next time: a distribution came or went while this process runs."""
    entry_points.cache_clear()
    _all_points.cache_clear()
