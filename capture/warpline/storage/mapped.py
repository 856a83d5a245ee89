"""Opens the datasets of a capture: mapped from the file where they are contiguous, decoded where they are not.

Everything here distrusts the file. Checks are bounded: types, shapes, places and sizes of datasets, never their
values.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path
from typing import Any

# HDF5 locks files by default, which fails on network file systems and blocks a viewer beside a writer.
os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")

import h5py
import numpy as np
import numpy.typing as npt

from warpline.model import CaptureFormatError

from .schema import ALIGNMENT, FORMAT, VERSION

Array = npt.NDArray[Any]

MAX_DECODED_BYTES = 1 << 36
"""Largest column of an archive that is decoded; more is damage, not data."""

_MAX_RATIO = 1100
"""gzip cannot shrink further than about 1030 : 1."""


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
            with path.open("rb") as raw:
                if raw.read(8) != b"\x89HDF\r\n\x1a\n":
                    raise self.error("it is not an HDF5 file")
                self._map = mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise CaptureFormatError(f"{path}: cannot be read: {error.strerror or error}") from error
        try:
            self._file = h5py.File(path, "r")
        except (OSError, RuntimeError, ValueError) as error:
            self._map.close()
            raise self.error(
                f"HDF5 cannot open it ({_short(error)}); it is damaged or was cut off"
            ) from error
        self.mapped = True
        self._check_header()

    def _check_header(self) -> None:
        try:
            form = self._file.attrs.get("format")
            version = self._file.attrs.get("version")
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            raise self.error(f"its header is damaged ({_short(error)})") from error
        if form != FORMAT:
            raise self.error("it is an HDF5 file but not a capture")
        if not isinstance(version, int | np.integer) or int(version) != VERSION:
            raise self.error(
                f"it is a capture of format version {version!r}; this Warpline reads version {VERSION}"
            )

    def error(self, what: str) -> CaptureFormatError:
        return CaptureFormatError(f"{self.path}: cannot be opened: {what}")

    def attribute(self, group: str, name: str) -> Any:
        """Value of an attribute: a text or a number."""
        try:
            value = self._file[group].attrs[name] if group else self._file.attrs[name]
        except (KeyError, OSError, RuntimeError, ValueError, TypeError) as error:
            raise self.error(f"attribute {name!r} of {group or '/'} is missing or damaged") from error
        if not isinstance(value, str | int | float | np.integer | np.floating):
            raise self.error(f"attribute {name!r} of {group or '/'} has the wrong type")
        return value

    def has_attribute(self, group: str, name: str) -> bool:
        try:
            return name in self._file[group].attrs
        except (KeyError, OSError, RuntimeError, ValueError, TypeError):
            return False

    def has(self, path: str) -> bool:
        """Whether a dataset or group of this name is stored in the file."""
        group, _, name = path.rpartition("/")
        return name in self.names(group or "/")

    def names(self, group: str) -> list[str]:
        """Names in a group; only what is stored in this file, no soft or external link."""
        try:
            node = self._file.get(group)
            if node is None or not isinstance(node, h5py.Group):
                return []
            return [name for name in node if isinstance(node.get(name, getlink=True), h5py.HardLink)]
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            raise self.error(f"group {group} is damaged ({_short(error)})") from error

    def column(self, path: str, dtype: str, *, count: int | None = None) -> Array:
        """A dataset as a column: a view of the mapped file, or decoded from an archive.

        Raises CaptureFormatError when it is missing, of another type or length, or lies outside the file.
        """
        try:
            dataset = self._dataset(path)
            if dataset.ndim != 1:
                raise self.error(f"dataset {path} has {dataset.ndim} dimensions instead of one")
            if dataset.dtype != np.dtype(dtype):
                raise self.error(f"dataset {path} has type {dataset.dtype}, expected {np.dtype(dtype)}")
            n = int(dataset.shape[0])
            if count is not None and n != count:
                raise self.error(f"dataset {path} has {n} entries, expected {count}")
            return self._read(path, dataset, n)
        except (OSError, RuntimeError, ValueError, TypeError, KeyError, MemoryError) as error:
            raise self.error(f"dataset {path} is damaged ({_short(error)})") from error

    def dtype_of(self, path: str) -> np.dtype[Any]:
        try:
            dtype: np.dtype[Any] = self._dataset(path).dtype
            return dtype
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            raise self.error(f"dataset {path} is damaged ({_short(error)})") from error

    def _dataset(self, path: str) -> h5py.Dataset:
        node: Any = self._file
        for part in path.split("/"):
            link = node.get(part, getlink=True) if isinstance(node, h5py.Group) else None
            if not isinstance(link, h5py.HardLink):
                raise self.error(f"dataset {path} is missing")
            node = node[part]
        if not isinstance(node, h5py.Dataset):
            raise self.error(f"{path} is not a dataset")
        return node

    def _read(self, path: str, dataset: h5py.Dataset, n: int) -> Array:
        nbytes = n * dataset.dtype.itemsize
        plist = dataset.id.get_create_plist()
        layout = plist.get_layout()
        if layout == h5py.h5d.VIRTUAL or plist.get_external_count():
            raise self.error(f"dataset {path} refers to other files, which is not followed")
        if not n:
            return np.empty(0, dataset.dtype)
        if layout == h5py.h5d.CHUNKED:
            filters = {plist.get_filter(index)[0] for index in range(plist.get_nfilters())}
            if not filters <= {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE}:
                raise self.error(f"dataset {path} uses a filter other than gzip and shuffle")
            stored = int(dataset.id.get_storage_size())
            if nbytes > MAX_DECODED_BYTES or stored > self._size or nbytes > _MAX_RATIO * max(stored, 1):
                raise self.error(f"dataset {path} claims {nbytes} bytes from {stored} stored")
            self.mapped = False
            return np.asarray(dataset[:])
        offset = dataset.id.get_offset()
        if offset is None:
            if layout == h5py.h5d.COMPACT and nbytes <= 1 << 16:
                return np.asarray(dataset[:])
            raise self.error(f"dataset {path} was never written")
        if offset < 0 or offset + nbytes > self._size:
            raise self.error(f"dataset {path} leaves the file")
        if nbytes < ALIGNMENT:
            return np.asarray(dataset[:])
        return np.frombuffer(self._map, dataset.dtype, n, offset)

    def will_need(self, ranges: list[tuple[int, int]]) -> None:
        """Tells the system which byte ranges of the file are read next, so that cold pages come in together."""
        if not hasattr(self._map, "madvise") or not hasattr(mmap, "MADV_WILLNEED"):
            return
        page = mmap.PAGESIZE
        for first, stop in ranges:
            first -= first % page
            self._map.madvise(mmap.MADV_WILLNEED, first, max(1, min(stop, self._size) - first))

    def offset_of(self, column: Array) -> int | None:
        """Where in the file a mapped column begins; None for a column that was read."""
        base = np.frombuffer(self._map, np.uint8, 1).__array_interface__["data"][0]
        place = int(column.__array_interface__["data"][0]) - base
        return place if 0 <= place < self._size else None

    def close(self) -> None:
        self._file.close()
        # The map goes when the last column that views it goes.
        try:
            self._map.close()
        except BufferError:
            pass


def is_capture(path: Path) -> bool:
    """Whether a file begins like an HDF5 file with the mark of a capture."""
    try:
        with h5py.File(path, "r") as file:
            return bool(file.attrs.get("format") == FORMAT)
    except (OSError, RuntimeError, ValueError, TypeError, struct.error):
        return False


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 160 else text[:157] + "…"
