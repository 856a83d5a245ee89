"""Recognises report files of Nsight Systems, whose format is closed, and names the command that exports them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from warpline.i18n import english, tr
from warpline.interchange.framework.importer import CERTAIN, LIKELY, NO, ImportOptions, ImportSummary
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_SUFFIXES = (".nsys-rep", ".qdrep")
_MAGIC = b"NVIDIA Tegra Profiler Report"
"""The first bytes of report files: a former name of the product."""


class NsysReportImporter:
    """``.nsys-rep`` and ``.qdrep``: converting raises an error with the command that exports them."""

    name = "nsys-rep"
    patterns = ("*.nsys-rep", "*.qdrep")
    position = 70

    @property
    def title(self) -> str:
        return english("Nsight Systems report (export it first)")

    def recognise(self, head: bytes, path: Path) -> float:
        if head.startswith(_MAGIC):
            return CERTAIN
        return LIKELY if path.suffix.lower() in _SUFFIXES else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        del builder, options, progress, cancelled  # nothing can be converted
        refuse(path)


def refuse(path: Path) -> NoReturn:
    """Raises ImportFormatError with the command that exports a report."""
    raise ImportFormatError(
        tr(
            "{path} is a report that only Nsight Systems can read. Export it and open the result: {command}",
            path=path,
            command=f"nsys export --type sqlite {shlex.quote(str(path))}",
        )
    )


importer = NsysReportImporter()
