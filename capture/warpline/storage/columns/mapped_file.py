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
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from warpline.model import CaptureFormatError, CaptureVersionError
from warpline.page_guard import GuardedMap
from warpline.storage.columns.directory import Directory, DirectoryEntry, UnfamiliarError
from warpline.storage.columns.file_fate import FileFate
from warpline.storage.columns.schema import ALIGNMENT, FORMAT, READABLE_VERSIONS, VERSION
from warpline.storage.columns.why_unreadable import (
    SIGNATURE,
    why_no_capture,
    why_not_hdf5,
    why_other_version,
)

if TYPE_CHECKING:
    from warpline.storage.columns.hdf5_file import Hdf5File

Array = npt.NDArray[Any]


class MappedFile:
    """An HDF5 file whose datasets are read as numpy columns.

    Raises CaptureFormatError when the file is no capture, of another version, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._size = os.stat(path).st_size
            if path.is_dir():
                raise self.error("it is a directory")
            with ExitStack() as opened:
                self._raw = opened.enter_context(path.open("rb", buffering=0))
                if self._raw.read(len(SIGNATURE)) != SIGNATURE:
                    raise self.error(why_not_hdf5(path, self._size))
                self._map = GuardedMap(self._raw.fileno(), 0, access=mmap.ACCESS_READ)
                self._opened = os.fstat(self._raw.fileno())
                opened.pop_all()
            # A capture that nobody closed goes with its last reader, without a word, as its map does.
            weakref.finalize(self, self._raw.close)
        except OSError as error:
            raise CaptureFormatError(f"{path}: cannot be read: {error.strerror or error}") from error
        self._map.watch(self._address())
        self._hdf5: Hdf5File | None = None
        try:
            self._directory = self._known_directory()
            self._check_header()
        except (CaptureFormatError, MemoryError):
            self.close()
            raise

    def _check_header(self) -> None:
        if not self.has_attribute("", "format") or self.attribute("", "format") != FORMAT:
            raise self.error(why_no_capture(self.path, self.names("")))
        version = self.attribute("", "version")
        if version not in READABLE_VERSIONS:
            raise CaptureVersionError(self._refusal(why_other_version(version, VERSION)))
        self.version = int(version)
        minor = self.attribute("", "minor_version") if self.has_attribute("", "minor_version") else 0
        if not isinstance(minor, int):
            raise self.error(f"its minor version is {minor!r}")
        self.minor_version = minor

    def _known_directory(self) -> Directory | None:
        """None where HDF5 is to be asked, which says why when it cannot read it either."""
        with suppress(UnfamiliarError):
            return Directory(self._raw.fileno(), self._size)
        _ = self.hdf5
        return None

    def error(self, what: str) -> CaptureFormatError:
        return CaptureFormatError(self._refusal(what))

    def _refusal(self, what: str) -> str:
        return f"{self.path}: cannot be opened: {what}"

    def attribute(self, path: str, name: str) -> str | int:
        """Value of an attribute of a group or dataset (an empty path: of the file): a text or an integer.

        Texts have a fixed length. Those of variable length are not followed: they lie in a heap without checksums,
        in which HDF5 can be led in circles.
        """
        with suppress(UnfamiliarError):
            entry = self._find(path)
            if entry is None or name not in entry.attributes:
                raise self.error(f"attribute {name!r} of {path or '/'} is missing")
            return entry.attributes[name]
        return self.hdf5.attribute(path, name)

    def has_attribute(self, path: str, name: str) -> bool:
        with suppress(UnfamiliarError):
            entry = self._find(path)
            return entry is not None and name in entry.attributes
        return self.hdf5.has_attribute(path, name)

    def text(self, path: str, name: str, default: str) -> str:
        """Value of an attribute that is a text, or the default where there is none."""
        return str(self.attribute(path, name)) if self.has_attribute(path, name) else default

    def attribute_names(self, path: str) -> list[str]:
        """Names of the attributes of a group or dataset."""
        with suppress(UnfamiliarError):
            entry = self._find(path)
            return [] if entry is None else sorted(entry.attributes)
        return self.hdf5.attribute_names(path)

    def has(self, path: str) -> bool:
        """Whether a dataset or group of this name is stored in the file."""
        above, _, name = path.rpartition("/")
        with suppress(UnfamiliarError):
            group = self._find(above)
            return group is not None and group.links is not None and name in group.links
        return self.hdf5.has(path)

    def names(self, group: str) -> list[str]:
        """Names in a group; only what is stored in this file, no soft or external link."""
        with suppress(UnfamiliarError):
            entry = self._find(group)
            return sorted(entry.links) if entry is not None and entry.links is not None else []
        return self.hdf5.names(group)

    def _find(self, path: str) -> DirectoryEntry | None:
        """Raises UnfamiliarError where HDF5 is to be asked."""
        if self._directory is None:
            raise UnfamiliarError
        return self._directory.find(path)

    def _stored(self, path: str) -> DirectoryEntry:
        """Where a column lies. Raises UnfamiliarError likewise."""
        entry = self._find(path)
        if entry is None:
            raise self.error(f"dataset {path} is missing")
        if entry.links is not None:
            raise self.error(f"{path} is not a dataset")
        return entry

    @property
    def hdf5(self) -> Hdf5File:
        """The file as HDF5 reads it, opened when that is first needed.

        Raises CaptureFormatError when it cannot be, or when another file is in its place by now.
        """
        if self._hdf5 is None:
            from warpline.storage.columns.hdf5_file import Hdf5File  # heavy, and most captures do without

            opened = Hdf5File(self.path, self._size)
            if not os.path.samestat(opened.status(), self._opened):
                opened.close()
                raise self.error("another file has taken its place")
            self._hdf5 = opened
        return self._hdf5

    @property
    def mapped(self) -> bool:
        """Whether all columns that were read are views of the file."""
        return self._hdf5 is None or not self._hdf5.has_decoded

    def column(self, path: str, dtype: str, *, count: int | None = None, limit: int | None = None) -> Array:
        """A dataset as a column: a view of the mapped file, or decoded from an archive.

        Raises CaptureFormatError when it is missing, of another type or length (``count``, or longer than
        ``limit``), or lies outside the file.
        """
        stored, n = self._shape(path)
        if stored != np.dtype(dtype):
            raise self.error(f"dataset {path} has type {stored}, expected {np.dtype(dtype)}")
        if count is not None and n != count:
            raise self.error(f"dataset {path} has {n} entries, expected {count}")
        if limit is not None and n > limit:
            raise self.error(f"dataset {path} has {n} entries; at most {limit} make sense")
        try:
            found = self._read(path)
            return found if isinstance(found, np.ndarray) else np.frombuffer(self._map, stored, n, found)
        except (MemoryError, ValueError) as error:
            raise self.error(f"dataset {path} is damaged") from error

    def _shape(self, path: str) -> tuple[np.dtype[Any], int]:
        with suppress(UnfamiliarError):
            entry = self._stored(path)
            return np.dtype(entry.dtype), entry.length
        return self.hdf5.shape(path)

    def _read(self, path: str) -> Array | int:
        """All values of a column, or where in the file those of one begin that is not short and lies in one piece."""
        with suppress(UnfamiliarError):
            entry, stored = self._stored(path), self.dtype_of(path)
            nbytes = entry.length * stored.itemsize
            if nbytes >= ALIGNMENT:
                return entry.offset
            if self._directory is not None and nbytes:
                return np.frombuffer(self._directory.values(entry, nbytes), stored)
            return np.empty(0, stored)
        return self.hdf5.read(path)

    def length(self, path: str) -> int:
        """Number of entries of a column."""
        with suppress(UnfamiliarError):
            return self._stored(path).length
        return self.hdf5.length(path)

    def dtype_of(self, path: str) -> np.dtype[Any]:
        with suppress(UnfamiliarError):
            return np.dtype(self._stored(path).dtype)
        return self.hdf5.dtype_of(path)

    def is_compressed(self, path: str) -> bool:
        """Whether a column is stored in chunks, as in the archive form."""
        with suppress(UnfamiliarError):
            self._stored(path)
            return False
        return self.hdf5.is_compressed(path)

    def will_need(self, ranges: list[tuple[int, int]]) -> None:
        """Tells the system which byte ranges of the file are read next, so that cold pages come in together."""
        if not hasattr(self._map, "madvise") or not hasattr(mmap, "MADV_WILLNEED"):
            return
        page = mmap.PAGESIZE
        for first, stop in ranges:
            first -= first % page
            with suppress(OSError):  # advice; a file that was cut off has no such pages
                self._map.madvise(mmap.MADV_WILLNEED, first, max(1, min(stop, self._size) - first))

    @property
    def size(self) -> int:
        """Length of the file in bytes when it was opened."""
        return self._size

    def offset_of(self, column: Array) -> int | None:
        """Where in the file a mapped column begins; None for a column that was read."""
        place = int(column.__array_interface__["data"][0]) - self._address()
        return place if 0 <= place < self._size else None

    def is_intact(self) -> bool:
        """Whether the file under the map is still as long as when it was opened, and all that was read could be."""
        try:
            size = os.fstat(self._raw.fileno()).st_size
        except (OSError, ValueError):  # closed
            return False
        return size >= self._size and not self._map.is_lost

    def fate(self) -> FileFate:
        """What became of the file since it was opened, as far as the system tells; see `FileFate`."""
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
        if self._hdf5 is not None:
            self._hdf5.close()
        self._raw.close()
        self._close_map()

    def _close_map(self) -> None:
        # The map goes when the last column that views it goes.
        with suppress(BufferError):
            self._map.close()


def is_capture(path: Path) -> bool:
    """Whether a file begins like an HDF5 file with the mark of a capture."""
    try:
        MappedFile(path).close()
    except CaptureVersionError:
        return True
    except CaptureFormatError:
        return False
    return True
