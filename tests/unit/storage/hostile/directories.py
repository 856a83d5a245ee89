"""Directories of captures, read by us and by HDF5, and changed with their checksums mended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from warpline.model import CaptureFormatError
from warpline.storage.columns import directory
from warpline.storage.columns.directory import Directory, DirectoryEntry, UnfamiliarError
from warpline.storage.columns.hdf5_file import Hdf5File

MAX_ENTRIES = 2000


class Block(NamedTuple):
    """A piece of a directory, and where its checksum stands in the file."""

    offset: int
    size: int
    checksum: int


class _Spy(Directory):
    """Notes which pieces were checked."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.blocks: set[Block] = set()
        self._last = 0
        super().__init__(descriptor, size)

    def _read(self, offset: int, size: int) -> bytes:
        self._last = offset
        return super()._read(offset, size)

    def _checked(self, piece: bytes) -> bytes:
        place = 17 if piece[:4] == b"FHDB" else len(piece) - 4
        self.blocks.add(Block(self._last, len(piece), self._last + place))
        return super()._checked(piece)


def entries(known: Directory) -> Iterator[tuple[str, DirectoryEntry]]:
    """Every entry that is familiar, with its path."""
    paths = [""]
    for path in paths:
        try:
            entry = known.find(path)
        except UnfamiliarError:
            continue
        assert entry is not None
        yield path, entry
        if len(paths) < MAX_ENTRIES and path.count("/") < 6:
            paths += [f"{path}/{name}" if path else name for name in sorted(entry.links or ())]


def blocks_of(path: Path) -> list[Block]:
    """All pieces of a file's directories."""
    with path.open("rb") as file:
        spy = _Spy(file.fileno(), os.stat(path).st_size)
        assert list(entries(spy))
        return sorted(spy.blocks)


def mended(content: bytearray, blocks: list[Block]) -> bytes:
    """The file with the checksums that its directories should have now."""
    checksum = directory._lookup3()
    assert checksum is not None
    for block in blocks:
        content[block.checksum : block.checksum + 4] = bytes(4)
        last = block.checksum + 4 == block.offset + block.size
        body = bytes(content[block.offset : block.offset + block.size - (4 if last else 0)])
        content[block.checksum : block.checksum + 4] = checksum(body, len(body)).to_bytes(4, "little")
    return bytes(content)


def differences(path: Path) -> list[str]:
    """Where we know of something, and HDF5 says something else of it.

    That HDF5 refuses a file whose checksums are right, for a field that nobody needs who reads, is no difference.
    """
    size = os.stat(path).st_size
    with path.open("rb") as file:
        try:
            known = Directory(file.fileno(), size)
        except UnfamiliarError:
            return []
        try:
            hdf5 = Hdf5File(path, size)
        except CaptureFormatError:
            return []
        try:
            return [
                f"{where}: {what}"
                for where, entry in entries(known)
                for what in _differ(known, hdf5, where, entry)
            ]
        finally:
            hdf5.close()


def _differ(known: Directory, hdf5: Hdf5File, path: str, entry: DirectoryEntry) -> Iterator[str]:
    try:
        attributes = {name: hdf5.attribute(path, name) for name in hdf5.attribute_names(path)}
        if attributes != entry.attributes or list(attributes) != sorted(attributes):
            yield f"{entry.attributes} instead of {attributes}"
        if entry.links is not None:
            if hdf5.names(path) != sorted(entry.links):
                yield f"{sorted(entry.links)} instead of {hdf5.names(path)}"
            return
        if (np.dtype(entry.dtype), entry.length) != hdf5.shape(path):
            yield f"{entry.dtype} × {entry.length} instead of {hdf5.shape(path)}"
        elif isinstance(found := hdf5.read(path), int):
            if found != entry.offset:
                yield f"at {entry.offset} instead of {found}"
        elif found.nbytes and bytes(known.values(entry, found.nbytes)) != found.tobytes():
            yield "other values"
    except CaptureFormatError:
        return
