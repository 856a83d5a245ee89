"""Importer for the SQLite export of Nsight Systems."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.nsys.convert import convert_tables, is_export
from warpline.interchange.nsys.tables.sqlite_tables import SQLITE_MAGIC, SqliteTables
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder


class NsysSqliteImporter:
    """``nsys export --type sqlite`` of any schema from 2022 on."""

    name = "nsys"
    patterns = ("*.sqlite", "*.db")
    position = 50

    @property
    def title(self) -> str:
        return english("Nsight Systems export (SQLite)")

    def recognise(self, head: bytes, path: Path) -> float:
        if not head.startswith(SQLITE_MAGIC):
            return NO
        try:
            with closing(SqliteTables(path)) as tables:
                return CERTAIN if is_export(tables) else NO
        except ImportFormatError:
            # A damaged one still is one, when its first page names the table every export has.
            return CERTAIN if b"StringIds" in head else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        with closing(SqliteTables(path)) as tables:
            return convert_tables(tables, builder, options, progress, cancelled)


importer = NsysSqliteImporter()
