"""The registry of panels: the folders beside this one and those of other distributions."""

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
    """All panels in tab order. Panels of other distributions cannot take ids or keys already in use."""
    found = {spec.id: spec for spec in _own()}
    used_keys = {key for spec in found.values() for key in spec.keys}
    for spec in _installed():
        if spec.id not in found:
            found[spec.id] = replace(spec, keys=tuple(key for key in spec.keys if key not in used_keys))
    return tuple(sorted(found.values(), key=lambda spec: (spec.position, spec.id)))


def _own() -> Iterator[PanelSpec]:
    for module in pkgutil.iter_modules(panels.__path__):
        name = f"{panels.__name__}.{module.name}.spec"
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
        else:  # folders without a spec are shared by panels
            yield _checked(found.spec)


def _installed() -> Iterator[PanelSpec]:
    for point in plugins.entry_points(ENTRY_POINT_GROUP):
        try:
            yield _checked(point.load())
        except Exception as error:  # importing another distribution's code may raise anything
            yield _broken(point, error)


def _checked(found: object) -> PanelSpec:
    if not isinstance(found, PanelSpec):
        raise WarplineError(tr("{found!r} is registered as a panel but is not a PanelSpec", found=found))
    return found


def _broken(point: plugins.EntryPoint, error: Exception) -> PanelSpec:
    """A placeholder that shows the import error, so that the panel is not silently missing."""

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
