"""Importer for XPlane profiles of XLA, which JAX and TensorFlow write into ``plugins/profile``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.interchange.framework.importer import CERTAIN, LIKELY, NO, ImportOptions, ImportSummary
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_FIRST_NAMES = ("/host:", "/device:", "Task Environment", "#Chip")


class XPlaneImporter:
    """``*.xplane.pb``."""

    name = "xplane"
    title = english("XPlane profile of XLA (JAX, TensorFlow)")
    patterns = ("*.xplane.pb",)
    position = 52

    def recognise(self, head: bytes, path: Path) -> float:
        if head[:1] != b"\x0a":
            return NO
        from warpline.interchange.xplane.planes import first_name

        name = first_name(head)
        if name is not None and name.startswith(_FIRST_NAMES):
            return CERTAIN
        return LIKELY if name and path.name.endswith(".xplane.pb") else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        from warpline.interchange.xplane.converter import convert

        return convert(path, builder, options, progress, cancelled)


importer = XPlaneImporter()
