"""Finds reports. A report is a module of the same name in the folder of its subject.

Other distributions add reports as entry points of the group ``warpline.reports``: a name and a `ReportSpec`.
"""

from __future__ import annotations

import importlib
import pkgutil
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from warpline import plugins
from warpline.analysis.framework.not_recorded import of_import
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Report, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import Selection, View
from warpline.i18n import english, tr
from warpline.model import UsageError
from warpline.model.progress import IsCancelled

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from warpline.storage import Capture

SUBJECTS = ("cuda", "paddle", "steps", "gpu", "ranges", "serving", "cpu", "findings.reports")
"""Folders of ``warpline.analysis`` that hold reports and their shared modules."""
ENTRY_POINT_GROUP = "warpline.reports"


@lru_cache(maxsize=1)
def reports() -> tuple[ReportSpec, ...]:
    """All reports in listing order: built-in ones and those of other distributions.

    Imports all their modules. An entry point never replaces a built-in report; one that cannot be loaded becomes a
    report that gives the reason.
    """
    specs = {spec.name: spec for name, module in _modules().items() if (spec := _of_module(name, module))}
    for point in plugins.entry_points(ENTRY_POINT_GROUP):
        if point.name not in specs:
            specs[point.name] = _of_entry_point(point)
    return tuple(sorted(specs.values(), key=lambda spec: (spec.place, spec.name)))


def find_report(name: str) -> ReportSpec:
    """The report ``name``, without importing others.

    Raises UsageError if there is none.
    """
    module = _modules().get(name)
    spec = _of_module(name, module) if module else None
    if spec is None:
        points = plugins.entry_points(ENTRY_POINT_GROUP)
        spec = next((_of_entry_point(point) for point in points if point.name == name), None)
    if spec is not None:
        return spec
    near = get_close_matches(name, [spec.name for spec in reports()], n=3)
    if near:
        raise UsageError(tr("no report {name!r}; did you mean {near}?", name=name, near=", ".join(near)))
    raise UsageError(tr("no report {name!r}; warpline stats --list names them all", name=name))


@lru_cache(maxsize=1)
def _modules() -> dict[str, str]:
    """The modules in `SUBJECTS` by their short names, reports and others."""
    packages = (importlib.import_module(f"warpline.analysis.{subject}") for subject in SUBJECTS)
    return {
        module.name: f"{package.__name__}.{module.name}"
        for package in packages
        for module in pkgutil.iter_modules(package.__path__)
    }


def _of_module(name: str, module: str) -> ReportSpec | None:
    """The module's ``report``; None for a module that reports share."""
    spec = getattr(importlib.import_module(module), "report", None)
    return spec if isinstance(spec, ReportSpec) and spec.name == name else None


def _of_entry_point(point: EntryPoint) -> ReportSpec:
    """The report that a distribution registers, or one that says why it cannot be loaded."""
    plugin = plugins.load_plugin(point, ReportSpec, lambda spec: _check_name(spec, point.name))
    if plugin.value is not None:
        return plugin.value
    answer = NotRecorded(plugin.problem, plugin.remedy)

    def compute(_view: View, _options: Options) -> Table | NotRecorded:
        return answer

    return ReportSpec(point.name, point.name, "other", compute)


def _check_name(spec: ReportSpec, name: str) -> None:
    if spec.name != name:
        raise ValueError(english("its name is {name}", name=spec.name))


def compute_report(
    capture: Capture,
    name: str,
    selection: Selection | None = None,
    options: Options | None = None,
    cancelled: IsCancelled | None = None,
) -> Report:
    """Compute one report for a selection of a capture.

    Raises UsageError if there is no such report, Cancelled soon after ``cancelled()`` returns True.
    """
    spec = find_report(name)
    view = View(capture, selection, cancelled)
    # Sums over a damaged capture may overflow: the numbers are wrong, but the report must not fail.
    with np.errstate(invalid="ignore", over="ignore"):
        result = spec.compute(view, options or Options())
    if isinstance(result, NotRecorded):
        result = of_import(result, capture)
    origin = capture.span[0]
    return Report(spec.name, spec.title, (view.start_ns - origin, view.stop_ns - origin), result)
