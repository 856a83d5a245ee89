"""Which exporters there are: modules of `warpline.interchange.export` and its packages whose names end in
``_exporter``, each with one as ``exporter``, and what installed distributions register.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from warpline import plugins
from warpline.i18n import tr
from warpline.interchange.export.exporter import Exporter, ExportJob, SizeModel
from warpline.model import ExportError, UsageError, WarplineError
from warpline.named_modules import in_order, modules_named

ENTRY_POINT_GROUP = "warpline.exporters"
_PACKAGE, _ENDING = "warpline.interchange.export", "_exporter"


@lru_cache(maxsize=1)
def builtin_exporters() -> tuple[Exporter, ...]:
    """Those that come with `warpline`."""
    found = [
        _checked(getattr(importlib.import_module(module), "exporter", None), module)
        for module in modules_named(_PACKAGE, _ENDING)
    ]
    return tuple(in_order(found))


@lru_cache(maxsize=1)
def exporters() -> tuple[Exporter, ...]:
    """All exporters, built-in ones first.

    An installed one with the name of a built-in one replaces it.

    Raises WarplineError when an installed distribution registers something that is not an exporter.
    """
    found = {exporter.name: exporter for exporter in builtin_exporters()}
    for point in plugins.entry_points(ENTRY_POINT_GROUP):
        try:
            loaded = point.load()
        except ModuleNotFoundError as error:
            # The application's exporters need the window's packages; without them these formats are missing.
            found[point.name] = _Missing(point.name, error.name or "?")
            continue
        exporter = _checked(loaded, point.value)
        found[exporter.name] = exporter
    return tuple(found.values())


def _checked(found: object, origin: str) -> Exporter:
    if not isinstance(found, Exporter):
        raise WarplineError(tr("{origin} is registered as an exporter and is not one", origin=origin))
    return found


@dataclass(frozen=True)
class _Missing:
    """Stands for an exporter whose packages are not installed; its entry point is named like its suffix."""

    name: str
    module: str
    size_model: SizeModel = field(default_factory=SizeModel)

    @property
    def title(self) -> str:
        return tr("{name} (needs {module})", name=self.name, module=self.module)

    @property
    def suffixes(self) -> tuple[str, ...]:
        return (f".{self.name}",)

    def export(self, job: ExportJob) -> Path:
        raise ExportError(
            tr(
                "{out}: this format needs {module}: pip install 'warpline[gui]'",
                out=job.out,
                module=self.module,
            )
        )


def exporter_for(out: Path) -> Exporter:
    """The exporter for a file name.

    Raises UsageError when no format has such names.
    """
    name = ".csv" if out.is_dir() else out.name.lower()
    # Those of the window are loaded only for a name that no other format has: they import Qt.
    found = _longest_match(name, builtin_exporters()) or _longest_match(name, exporters())
    if found is None:
        known = " ".join(suffix for exporter in exporters() for suffix in exporter.suffixes)
        raise UsageError(
            tr("{out}: the name does not say the format; use one of {known}", out=out, known=known)
        )
    return found


def _longest_match(name: str, among: tuple[Exporter, ...]) -> Exporter | None:
    lengths = {
        len(suffix): exporter for exporter in among for suffix in exporter.suffixes if name.endswith(suffix)
    }
    return lengths[max(lengths)] if lengths else None
