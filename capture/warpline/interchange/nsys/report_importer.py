"""Importer for report files of Nsight Systems: ``nsys`` exports them, where it is installed.

The format is closed, so without ``nsys`` the error names the command.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from warpline.i18n import english, tr
from warpline.interchange.framework.importer import CERTAIN, LIKELY, NO, ImportOptions, ImportSummary
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.platform.held_folders import TemporaryFolder

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_SUFFIXES = (".nsys-rep", ".qdrep")
_MAGIC = b"NVIDIA Tegra Profiler Report"
"""The first bytes of report files: an earlier name of the product."""
_EXPORT_SHARE = 0.6
_LOOK_S = 0.2
_PERCENT = re.compile(rb"(\d{1,3})\s*%")
_LOG_BYTES = 4096


class NsysReportImporter:
    """``.nsys-rep`` and ``.qdrep``, by way of an SQLite export in a temporary folder."""

    name = "nsys-rep"
    patterns = ("*.nsys-rep", "*.qdrep")
    position = 70

    @property
    def title(self) -> str:
        return english("Nsight Systems report (needs nsys)")

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
        nsys = shutil.which("nsys")
        if nsys is None:
            refuse(path)
        from warpline.interchange.nsys.sqlite_importer import importer as sqlite

        folder = TemporaryFolder(Path(tempfile.gettempdir()))
        try:
            target = folder.path / "export.sqlite"
            _export(nsys, path, target, progress, cancelled)
            return sqlite.convert(
                target,
                builder,
                options,
                lambda fraction, text: progress(_EXPORT_SHARE + (1 - _EXPORT_SHARE) * fraction, text),
                cancelled,
            )
        finally:
            folder.close()


def _export(nsys: str, path: Path, target: Path, progress: Progress, cancelled: IsCancelled) -> None:
    log = target.with_suffix(".log")
    command = [
        nsys,
        "export",
        "--type",
        "sqlite",
        "--force-overwrite",
        "true",
        "--output",
        str(target),
        str(path),
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    try:
        while True:
            check_cancelled(cancelled)
            progress(_EXPORT_SHARE * _share(log), tr("nsys exports {name}", name=path.name))
            try:
                status = process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                continue
            break
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if status or not target.is_file():
        lines = _tail(log).decode("utf-8", "replace").split("\n")
        refuse(path, next((line.strip() for line in reversed(lines) if line.strip()), ""))


def _share(log: Path) -> float:
    """The last progress that nsys printed."""
    percents = _PERCENT.findall(_tail(log))
    return min(int(percents[-1]), 100) / 100 if percents else 0.0


def _tail(log: Path) -> bytes:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LOG_BYTES))
        return file.read(_LOG_BYTES)


def refuse(path: Path, reason: str = "") -> NoReturn:
    """Raises ImportFormatError with the command that exports a report, and why nsys failed."""
    command = f"nsys export --type sqlite {shlex.quote(str(path))}"
    if reason:
        raise ImportFormatError(
            tr(
                "{path}: nsys cannot export it ({reason}). Try: {command}",
                path=path,
                reason=reason,
                command=command,
            )
        )
    raise ImportFormatError(
        tr(
            "{path} is a report that only Nsight Systems can read. Export it and open the result: {command}",
            path=path,
            command=command,
        )
    )


importer = NsysReportImporter()
