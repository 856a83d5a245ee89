"""Which queries of derived rows run unasked on this computer: those that the user wrote or allowed by a click."""

from __future__ import annotations

import contextlib
from pathlib import Path

from warpline.i18n import tr
from warpline.model.errors import WarplineError
from warpline.platform.folders import settings_folder

MOST = 1_000
"""Queries that are remembered; the oldest are forgotten."""
_FILE = "allowed-queries.txt"
_MARK = 32
_MOST_BYTES = 1 << 20


class AllowedQueries:
    """A set of queries, kept as a file of marks in the folder of the settings; no mark tells its query."""

    def __init__(self, folder: Path | None = None) -> None:
        """``folder`` is that of the user's settings unless another is named."""
        self._path = (settings_folder() if folder is None else folder) / _FILE
        self._here: set[str] = set()

    def __contains__(self, sql: str) -> bool:
        mark = _mark(sql)
        return mark in self._here or mark in self._read()

    def add(self, sql: str) -> None:
        """Allow a query from now on; for this process only where the file cannot be written."""
        from warpline.interchange.export.output_files import writing

        mark, known = _mark(sql), self._read()
        self._here.add(mark)
        if mark in known:
            return
        with contextlib.suppress(OSError, WarplineError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with writing(self._path) as file:
                file.write("".join(f"{each}\n" for each in [*known, mark][-MOST:]).encode("ascii"))

    def _read(self) -> list[str]:
        try:
            if not self._path.is_file() or self._path.stat().st_size > _MOST_BYTES:
                return []
            lines = self._path.read_text("ascii", "replace").splitlines()
        except OSError:
            return []
        return [line for line in lines if len(line) == _MARK][-MOST:]


def foreign_text() -> str:
    """Why a row shows nothing whose query somebody else wrote."""
    return tr("not run: somebody else's query")


def _mark(sql: str) -> str:
    import hashlib  # loads OpenSSL, which the first frame does not need

    return hashlib.sha256(sql.encode("utf-8", "replace")).hexdigest()[:_MARK]
