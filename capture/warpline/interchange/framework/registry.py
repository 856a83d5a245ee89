"""Finds importers: modules named ``*_importer`` in the format folders, and entry points of installed packages."""

from __future__ import annotations

from functools import lru_cache

from warpline.i18n import tr, translated
from warpline.interchange.framework.importer import Importer
from warpline.model import UsageError, WarplineError
from warpline.named_modules import built_in, in_order
from warpline.plugins import Plugin, load_plugins

ENTRY_POINT_GROUP = "warpline.importers"

_PACKAGE, _ENDING = "warpline.interchange", "_importer"


@lru_cache(maxsize=1)
def _all_importers() -> tuple[tuple[Importer, ...], dict[str, Plugin[Importer]]]:
    """The importers, and the installed ones that cannot be loaded, by the names of their entry points."""
    by_name = {
        importer.name: importer for importer in in_order(built_in(_PACKAGE, _ENDING, "importer", Importer))
    }
    broken = {}
    for plugin in load_plugins(ENTRY_POINT_GROUP, Importer):
        if plugin.value is None:
            broken[plugin.name] = plugin
        else:
            by_name[plugin.value.name] = plugin.value
    return tuple(by_name.values()), broken


def importers() -> tuple[Importer, ...]:
    """All importers, ordered by ``position``; at equal confidence the first gets a file.

    An installed importer replaces a built-in one of the same name. One that cannot be loaded is left out.
    """
    return _all_importers()[0]


def broken_importers() -> tuple[str, ...]:
    """A sentence, in English, for each installed importer that cannot be loaded."""
    return tuple(plugin.problem for plugin in _all_importers()[1].values())


def forget() -> None:
    """Look for importers again next time."""
    _all_importers.cache_clear()


def importer_named(name: str) -> Importer:
    """The importer with this name.

    Raises UsageError when there is none, WarplineError when it cannot be loaded.
    """
    working, broken = _all_importers()
    importer = next((importer for importer in working if importer.name == name), None)
    if importer is not None:
        return importer
    if name in broken:
        raise WarplineError(translated(broken[name].problem)) from broken[name].error
    names = ", ".join(importer.name for importer in working)
    raise UsageError(tr("unknown format {name!r}; use one of {names}", name=name, names=names))
