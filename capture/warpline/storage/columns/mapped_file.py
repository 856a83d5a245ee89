"""Opens the datasets of a capture: mapped from the file where they are contiguous, decoded by HDF5 where they are not.

Everything here distrusts the file. Checks are bounded: types, shapes, places and sizes of datasets, never their
values.
"""

from __future__ import annotations

import mmap
import os
import weakref
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from warpline.model import CaptureFormatError, CaptureVersionError
from warpline.page_guard import GuardedMap
from warpline.platform.files import will_need
from warpline.storage.columns.file_fate import FileFate
from warpline.storage.columns.hdf5_file import Array, Hdf5File
from warpline.storage.columns.schema import FORMAT, READABLE_VERSIONS, VERSION
from warpline.storage.columns.why_unreadable import (
    SIGNATURE,
    why_no_capture,
    why_not_hdf5,
    why_other_version,
)


class MappedFile(Hdf5File):
    """An HDF5 file whose datasets are read as numpy columns.

    Raises CaptureFormatError when the file is no capture, of another version, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            size = os.stat(path).st_size
            if path.is_dir():
                raise self.error("it is a directory")
            with ExitStack() as opened:
                self._raw = opened.enter_context(path.open("rb", buffering=0))
                if self._raw.read(len(SIGNATURE)) != SIGNATURE:
                    raise self.error(why_not_hdf5(path, size))
                self._map = GuardedMap(self._raw.fileno(), 0, access=mmap.ACCESS_READ)
                self._opened = os.fstat(self._raw.fileno())
                opened.pop_all()
            # A capture that nobody closes is closed with its last reader, without a warning, just like its map.
            weakref.finalize(self, self._raw.close)
        except OSError as error:
            raise CaptureFormatError(f"{path}: cannot be read: {error.strerror or error}") from error
        self._map.watch(self._address())
        try:
            super().__init__(path, size)
        except BaseException:
            self._raw.close()
            self._close_map()
            raise
        try:
            if not os.path.samestat(self.status(), self._opened):
                raise self.error("another file has taken its place")
            self._check_header()
        except (CaptureFormatError, MemoryError):
            self.close()
            raise

    def _check_header(self) -> None:
        if not self.has_attribute("", "format") or self.attribute("", "format") != FORMAT:
            raise self.error(why_no_capture(self.path, self.names("")))
        version = self.attribute("", "version")
        if version not in READABLE_VERSIONS:
            raise self.error(why_other_version(version, VERSION), CaptureVersionError)
        self.version = int(version)
        minor = self.attribute("", "minor_version") if self.has_attribute("", "minor_version") else 0
        if not isinstance(minor, int):
            raise self.error(f"its minor version is {minor!r}")
        self.minor_version = minor

    @property
    def mapped(self) -> bool:
        """Whether all columns that were read are views of the file."""
        return not self.has_decoded

    def column(self, path: str, dtype: str, *, count: int | None = None, limit: int | None = None) -> Array:
        """A dataset as a column: a view of the mapped file, or decoded from an archive.

        Raises CaptureFormatError when it is missing, of another type or length (``count``, or longer than
        ``limit``), or lies outside the file.
        """
        stored, n = self.shape(path)
        if stored != np.dtype(dtype):
            raise self.error(f"dataset {path} has type {stored}, expected {np.dtype(dtype)}")
        if count is not None and n != count:
            raise self.error(f"dataset {path} has {n} entries, expected {count}")
        if limit is not None and n > limit:
            raise self.error(f"dataset {path} has {n} entries; at most {limit} make sense")
        try:
            values = self.read(path)
            return values if isinstance(values, np.ndarray) else np.frombuffer(self._map, stored, n, values)
        except (MemoryError, ValueError) as error:
            raise self.error(f"dataset {path} is damaged") from error

    def will_need(self, ranges: list[tuple[int, int]]) -> None:
        """Tells the system which byte ranges of the file are read next, so that it loads their pages together."""
        for first, stop in ranges:
            will_need(self._map, first, min(stop, self._size))

    @property
    def size(self) -> int:
        """Length of the file in bytes when it was opened."""
        return self._size

    def offset_of(self, column: Array) -> int | None:
        """Where in the file a mapped column begins; None for a column that was read."""
        place = int(column.__array_interface__["data"][0]) - self._address()
        return place if 0 <= place < self._size else None

    def is_intact(self) -> bool:
        """Whether the file is still as long as when it was opened, and no page of it was lost."""
        try:
            size = os.fstat(self._raw.fileno()).st_size
        except (OSError, ValueError):  # closed
            return False
        return size >= self._size and not self._map.is_lost

    def fate(self) -> FileFate:
        """What happened to the file since it was opened, as far as the system tells."""
        if not self.is_intact():
            return FileFate.LOST
        try:
            now = os.fstat(self._raw.fileno())
            if (now.st_mtime_ns, now.st_size) != (self._opened.st_mtime_ns, self._opened.st_size):
                return FileFate.CHANGED
            there = os.stat(self.path)
        except OSError:
            return FileFate.GONE
        is_same = (there.st_dev, there.st_ino) == (self._opened.st_dev, self._opened.st_ino)
        return FileFate.AS_IT_WAS if is_same else FileFate.REPLACED

    def _address(self) -> int:
        return int(np.frombuffer(self._map, np.uint8, 1).__array_interface__["data"][0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        super().close()
        self._raw.close()
        self._close_map()

    def _close_map(self) -> None:
        # The map is released with the last column that views it.
        with suppress(BufferError):
            self._map.close()


def is_capture(path: Path) -> bool:
    """Whether a file is a capture, of any version."""
    try:
        MappedFile(path).close()
    except CaptureVersionError:
        return True
    except CaptureFormatError:
        return False
    return True
