"""The registry of panels: the folders beside this one and those of other distributions."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from warpline import plugins
from warpline.i18n import translated
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
            yield plugins.checked(found.spec, PanelSpec)


def _installed() -> Iterator[PanelSpec]:
    for plugin in plugins.load_plugins(ENTRY_POINT_GROUP, PanelSpec):
        yield plugin.value or _broken(plugin)


def _broken(plugin: plugins.Plugin[PanelSpec]) -> PanelSpec:
    """Stands for a panel that cannot be loaded, and says why when it is shown."""

    def load() -> type[Panel]:
        raise WarplineError(translated(plugin.problem)) from plugin.error

    return PanelSpec(plugin.name, plugin.name, load, shown=False)
