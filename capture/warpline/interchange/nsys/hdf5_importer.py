"""Importer for the HDF5 export of Nsight Systems."""

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

_MAGIC = b"\x89HDF\r\n\x1a\n"


class NsysHdf5Importer:
    """``nsys export --type hdf``: the same tables as in SQLite, as datasets."""

    name = "nsys-hdf5"
    patterns = ("*.h5", "*.hdf5")
    position = 60

    @property
    def title(self) -> str:
        return english("Nsight Systems export (HDF5)")

    def recognise(self, head: bytes, path: Path) -> float:
        if not head.startswith(_MAGIC):
            return NO
        # Loaded only for files that may be exports, so that other imports start faster.
        from warpline.interchange.nsys.convert import is_export
        from warpline.interchange.nsys.tables.hdf5_tables import Hdf5Tables

        try:
            with closing(Hdf5Tables(path)) as tables:
                return CERTAIN if is_export(tables) else NO
        except ImportFormatError:
            return NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        from warpline.interchange.nsys.convert import convert_tables
        from warpline.interchange.nsys.tables.hdf5_tables import Hdf5Tables

        with closing(Hdf5Tables(path)) as tables:
            return convert_tables(tables, builder, options, progress, cancelled)


importer = NsysHdf5Importer()
