"""Which importers there are: one line per module, and what installed distributions add by an entry point."""

from __future__ import annotations

import importlib
from functools import lru_cache
from importlib import metadata

from warpline.i18n import tr
from warpline.interchange.framework.importer import Importer
from warpline.model import UsageError, WarplineError

ENTRY_POINT_GROUP = "warpline.importers"

MODULES: tuple[str, ...] = (
    "warpline.interchange.torch.converter",
    "warpline.interchange.paddle.converter",
    "warpline.interchange.paddle.protobuf_importer",
    "warpline.interchange.trace_json.chrome_importer",
    "warpline.interchange.nsys.sqlite_importer",
    "warpline.interchange.nsys.hdf5_importer",
    "warpline.interchange.nsys.report_importer",
)
"""One line per importer; each module exports ``importer``. The order breaks ties of confidence."""


@lru_cache(maxsize=1)
def importers() -> tuple[Importer, ...]:
    """All importers, built-in ones first. An installed one with the name of a built-in one replaces it.

    Raises WarplineError when an installed distribution registers something that is not an importer.
    """
    found: dict[str, Importer] = {}
    for module in MODULES:
        importer = _checked(getattr(importlib.import_module(module), "importer", None), module)
        found[importer.name] = importer
    for point in metadata.entry_points(group=ENTRY_POINT_GROUP):
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
