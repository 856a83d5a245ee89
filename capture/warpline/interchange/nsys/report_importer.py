"""Recognises the report files of Nsight Systems, whose format is closed, and says how to export them."""

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
"""What report files begin with, since the product had that name."""


class NsysReportImporter:
    """``.nsys-rep`` and ``.qdrep``: only NVIDIA's own tool reads them, so converting ends in its command."""

    name = "nsys-rep"
    patterns = ("*.nsys-rep", "*.qdrep")
    position = 70

    @property
    def title(self) -> str:
        return english("Nsight Systems report (to be exported first)")

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
    """Raises ImportFormatError with the one command that makes a readable file of a report."""
    raise ImportFormatError(
        tr(
            "{path}: only Nsight Systems itself reads its reports; export it and import the result: {command}",
            path=path,
            command=f"nsys export --type sqlite {shlex.quote(str(path))}",
        )
    )


importer = NsysReportImporter()
