"""Which panels there are: the folders beside this one, and those that other distributions register."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from warpline import plugins
from warpline.i18n import tr
from warpline.model.errors import WarplineError
from warpline_app import panels
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.panel_spec import PanelSpec

ENTRY_POINT_GROUP = "warpline.panels"


@lru_cache(maxsize=1)
def all_panels() -> tuple[PanelSpec, ...]:
    """Every panel, in the order of its tabs. Those of other distributions take no id and no key of ours."""
    found = {spec.id: spec for spec in _own()}
    taken = {key for spec in found.values() for key in spec.keys}
    for spec in _installed():
        if spec.id not in found:
            found[spec.id] = replace(spec, keys=tuple(key for key in spec.keys if key not in taken))
    return tuple(sorted(found.values(), key=lambda spec: (spec.position, spec.id)))


def _own() -> Iterator[PanelSpec]:
    for module in pkgutil.iter_modules(panels.__path__):
        name = f"{panels.__name__}.{module.name}.spec"
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
        else:  # a folder without that module is a room that panels share
            yield _checked(found.spec)


def _installed() -> Iterator[PanelSpec]:
    for point in plugins.entry_points(ENTRY_POINT_GROUP):
        try:
            yield _checked(point.load())
        except Exception as error:  # whatever another distribution's code may do when it is imported
            yield _broken(point, error)


def _checked(found: object) -> PanelSpec:
    if not isinstance(found, PanelSpec):
        raise WarplineError(tr("{found!r} is registered as a panel and is not one", found=found))
    return found


def _broken(point: plugins.EntryPoint, error: Exception) -> PanelSpec:
    """Listed all the same, so that it is not missed in silence; it says why when it is shown."""

    def load() -> type[Panel]:
        raise WarplineError(
            tr(
                "panel {name!r} cannot be loaded from {value}: {error}",
                name=point.name,
                value=point.value,
                error=error,
            )
        ) from error

    return PanelSpec(point.name, point.name, load, shown=False)
