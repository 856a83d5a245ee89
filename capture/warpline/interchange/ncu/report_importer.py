"""Importer for report files of Nsight Compute: ``ncu`` prints their metrics, where it is installed.

The format is closed, so without ``ncu`` the error names the command.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english, tr
from warpline.interchange.framework.importer import CERTAIN, LIKELY, NO, ImportOptions, ImportSummary
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.platform.held_folders import TemporaryFolder

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_MAGIC = b"NVR\x00"
_SUFFIX = ".ncu-rep"
_LOOK_S = 0.2


class NcuReportImporter:
    """``.ncu-rep``, by way of a CSV in a temporary folder."""

    name = "ncu-rep"
    title = english("Nsight Compute report (needs ncu)")
    patterns = ("*.ncu-rep",)
    position = 75

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        if head.startswith(_MAGIC):
            return CERTAIN
        return LIKELY if path.suffix.lower() == _SUFFIX else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        command = f"ncu --import {shlex.quote(str(path))} --csv --page raw > metrics.csv"
        ncu = shutil.which("ncu")
        if ncu is None:
            raise ImportFormatError(
                tr(
                    "{path} is a report that only Nsight Compute can read. Print its metrics and open the result: "
                    "{command}",
                    path=path,
                    command=command,
                )
            )
        from warpline.interchange.ncu.csv_importer import importer as metrics

        progress(0.0, tr("ncu prints {name}", name=path.name))
        folder = TemporaryFolder(Path(tempfile.gettempdir()))
        try:
            target = folder.path / "metrics.csv"
            if not _print_metrics(ncu, path, target, cancelled):
                raise ImportFormatError(
                    tr("{path}: ncu cannot print it. Try: {command}", path=path, command=command)
                )
            return metrics.convert(target, builder, options, progress, cancelled)
        finally:
            folder.close()


def _print_metrics(ncu: str, path: Path, target: Path, cancelled: IsCancelled) -> bool:
    command = [ncu, "--import", str(path), "--csv", "--page", "raw"]
    with target.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
    try:
        while True:
            check_cancelled(cancelled)
            try:
                return process.wait(_LOOK_S) == 0
            except subprocess.TimeoutExpired:
                continue
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


importer = NcuReportImporter()
