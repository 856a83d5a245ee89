"""Importer for the SQLite export of Nsight Systems."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_MAGIC = b"SQLite format 3\x00"


class NsysSqliteImporter:
    """``nsys export --type sqlite``, any schema since 2022."""

    name = "nsys"
    patterns = ("*.sqlite", "*.db")
    position = 50

    @property
    def title(self) -> str:
        return english("Nsight Systems export (SQLite)")

    def recognise(self, head: bytes, path: Path) -> float:
        if not head.startswith(_MAGIC):
            return NO
        # Loaded only for files that may be exports, so that other imports start faster.
        from warpline.interchange.nsys.convert import is_export
        from warpline.interchange.nsys.tables.sqlite_tables import SqliteTables

        try:
            with closing(SqliteTables(path)) as tables:
                return CERTAIN if is_export(tables) else NO
        except ImportFormatError:
            # Damaged, but an export if the first page names the table that every export has.
            return CERTAIN if b"StringIds" in head else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        from warpline.interchange.nsys.convert import convert_tables
        from warpline.interchange.nsys.tables.sqlite_tables import SqliteTables

        with closing(SqliteTables(path)) as tables:
            return convert_tables(tables, builder, options, progress, cancelled)


importer = NsysSqliteImporter()
