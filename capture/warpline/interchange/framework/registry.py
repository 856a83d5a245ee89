"""Which importers there are: modules of `warpline.interchange` and its packages whose names end in ``_importer``, each
with one as ``importer``, and what installed distributions register.
"""

from __future__ import annotations

import importlib
from functools import lru_cache

from warpline import plugins
from warpline.i18n import tr
from warpline.interchange.framework.importer import Importer
from warpline.model import UsageError, WarplineError
from warpline.named_modules import in_order, modules_named

ENTRY_POINT_GROUP = "warpline.importers"

_PACKAGE, _ENDING = "warpline.interchange", "_importer"


@lru_cache(maxsize=1)
def importers() -> tuple[Importer, ...]:
    """All importers, by their ``position``; the first of those that are equally sure of a file gets it.

    An installed one with the name of a built-in one replaces it.

    Raises WarplineError when an installed distribution registers something that is not an importer.
    """
    built_in = [
        _checked(getattr(importlib.import_module(module), "importer", None), module)
        for module in modules_named(_PACKAGE, _ENDING)
    ]
    found = {importer.name: importer for importer in in_order(built_in)}
    for point in plugins.entry_points(ENTRY_POINT_GROUP):
        try:
            loaded = point.load()
        except (ImportError, AttributeError) as error:
            raise WarplineError(
                tr(
                    "importer {name!r} cannot be loaded from {value}: {error}",
                    name=point.name,
                    value=point.value,
                    error=error,
                )
            ) from error
        importer = _checked(loaded, point.value)
        found[importer.name] = importer
    return tuple(found.values())


def importer_named(name: str) -> Importer:
    """The importer of that name.

    Raises UsageError when there is none.
    """
    for importer in importers():
        if importer.name == name:
            return importer
    names = ", ".join(importer.name for importer in importers())
    raise UsageError(tr("no format {name!r}; there are: {names}", name=name, names=names))


def _checked(found: object, origin: str) -> Importer:
    if not isinstance(found, Importer):
        raise WarplineError(tr("{origin} is registered as an importer and is not one", origin=origin))
    return found
