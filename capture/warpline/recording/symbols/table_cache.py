"""Tables of functions in the user's cache: large libraries are read once."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np

from warpline.recording.symbols.elf import ElfFile, FunctionTable, function_table
from warpline.storage.cache import cache_folder, whole_or_absent

_VERSION = 1
_MOST_BYTES = 256 << 20
_WORTH_KEEPING = 20_000
"""Functions; fewer are read from the library in no more time."""


def cached_table(elf: ElfFile) -> FunctionTable:
    """The functions of a file; from the cache where it knows the build id."""
    size = sum(len(symbols) for symbols, _names in elf.tables)
    if not elf.build_id or size < _WORTH_KEEPING * 24:
        return function_table(elf)
    folder = cache_folder() / "symbols"
    # A library whose debug file was installed since has more of them.
    place = folder / f"{elf.build_id}-{size}-{_VERSION}.npz"
    # An entry that a full disk cut off, or that is damaged otherwise, is one that is not there.
    with contextlib.suppress(Exception):
        with np.load(place) as kept:
            found = FunctionTable(kept["start"], kept["stop"], kept["name"], kept["texts"].tobytes())
        os.utime(place)
        return found
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
