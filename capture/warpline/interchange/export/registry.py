"""Finds exporters: modules named ``*_exporter`` in this package, and entry points of installed packages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from warpline.i18n import tr, translated
from warpline.interchange.export.exporter import Exporter, ExportJob, SizeModel
from warpline.model import ExportError, UsageError
from warpline.named_modules import built_in, in_order
from warpline.plugins import Plugin, load_plugins

ENTRY_POINT_GROUP = "warpline.exporters"
_PACKAGE, _ENDING = "warpline.interchange.export", "_exporter"


@lru_cache(maxsize=1)
def builtin_exporters() -> tuple[Exporter, ...]:
    """The exporters that come with `warpline`."""
    return tuple(in_order(built_in(_PACKAGE, _ENDING, "exporter", Exporter)))


@lru_cache(maxsize=1)
def exporters() -> tuple[Exporter, ...]:
    """All exporters, built-in ones first.

    An installed exporter replaces a built-in one of the same name. One that cannot be loaded says why when it is used.
    """
    by_name = {exporter.name: exporter for exporter in builtin_exporters()}
    for plugin in load_plugins(ENTRY_POINT_GROUP, Exporter):
        if plugin.value is not None:
            by_name[plugin.value.name] = plugin.value
        else:
            by_name.setdefault(plugin.name, _BrokenExporter(plugin))
    return tuple(by_name.values())


class _BrokenExporter:
    """An exporter that cannot be loaded. Its entry point has the name of its suffix."""

    def __init__(self, plugin: Plugin[Exporter]) -> None:
        self._plugin = plugin
        self.name = plugin.name
        self.suffixes = (f".{plugin.name}",)
        self.size_model = SizeModel()

    @property
    def title(self) -> str:
        return tr("{name} (not available)", name=self.name)

    def export(self, job: ExportJob) -> Path:
        problem = translated(self._plugin.problem)
        raise ExportError(tr("{path}: {reason}", path=job.out, reason=problem)) from self._plugin.error


def exporter_for(out: Path) -> Exporter:
    """The exporter with the longest suffix that fits a file name. Raises UsageError when none fits."""
    name = ".csv" if out.is_dir() else out.name.lower()
    # The application's exporters import Qt, so try the built-in ones first.
    exporter = _longest_match(name, builtin_exporters()) or _longest_match(name, exporters())
    if exporter is None:
        known = " ".join(suffix for exporter in exporters() for suffix in exporter.suffixes)
        raise UsageError(tr("{out}: unknown file type; use one of {known}", out=out, known=known))
    return exporter


def _longest_match(name: str, candidates: Sequence[Exporter]) -> Exporter | None:
    """The exporter with the longest suffix of this name; the first one when several have it."""
    best, length = None, 0
    for exporter in candidates:
        for suffix in exporter.suffixes:
            if len(suffix) > length and name.endswith(suffix):
                best, length = exporter, len(suffix)
    return best
