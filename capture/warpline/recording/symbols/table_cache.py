"""Caches function tables of large libraries in the user's cache."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np

from warpline.platform.folders import cache_folder
from warpline.recording.symbols.elf import ElfFile, FunctionTable, function_table
from warpline.storage.cache import whole_or_absent

_VERSION = 1
_MOST_BYTES = 256 << 20
_WORTH_KEEPING = 20_000
"""Number of functions; smaller tables are read from the library just as fast."""


def cached_table(elf: ElfFile) -> FunctionTable:
    """The functions of a file, from the cache if it has the build id."""
    size = sum(len(symbols) for symbols, _names in elf.tables)
    if not elf.build_id or size < _WORTH_KEEPING * 24:
        return function_table(elf)
    folder = cache_folder() / "symbols"
    # The size is part of the key: a debug file that is installed later adds functions.
    place = folder / f"{elf.build_id}-{size}-{_VERSION}.npz"
    # A damaged entry counts as missing.
    with contextlib.suppress(Exception):
        with np.load(place) as kept:
            table = FunctionTable(kept["start"], kept["stop"], kept["name"], kept["texts"].tobytes())
        os.utime(place)
        return table
    table = function_table(elf)
    with contextlib.suppress(OSError):
        _keep(folder, place, table)
    return table


def _keep(folder: Path, place: Path, table: FunctionTable) -> None:
    with whole_or_absent(place) as making, making.open("wb") as file:
        np.savez(
            file,
            start=table.start,
            stop=table.stop,
            name=table.name,
            texts=np.frombuffer(table.texts, np.uint8),
        )
    entries = sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_mtime, reverse=True)
    total = 0
    for entry in entries:
        total += entry.stat().st_size
        if total > _MOST_BYTES and entry != place:
            entry.unlink(missing_ok=True)
