"""Reads the groups, attributes and columns of a capture through HDF5, without trusting the file.

Checks are bounded: types, shapes, places and sizes of datasets, never their values.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
from h5py import h5a, h5d, h5g, h5l, h5o, h5s, h5t, h5z

from warpline.memory_room import require_memory
from warpline.model import CaptureFormatError
from warpline.storage.columns.schema import ALIGNMENT
from warpline.storage.columns.stored_text import set_attribute
from warpline.storage.columns.why_unreadable import why_unreadable

Array = npt.NDArray[Any]

MAX_ATTRIBUTE_BYTES = 1 << 20
MAX_CHUNK_BYTES = 16 << 20
_CHUNKS_PER_READ = 4096
"""HDF5 keeps about 1.5 kB for each chunk until a read ends."""
MAX_GROUPS = 2048
_MAX_COMPACT_BYTES = 1 << 16

MAX_ARCHIVE_RATIO = 500
"""Limit on the size of decoded columns, as a multiple of the file's size. A file beyond it is damaged or a trap."""

_ARCHIVE_ALLOWANCE = 16 << 20

_HDF5_ERRORS = (OSError, RuntimeError, ValueError, TypeError, KeyError)


class Hdf5File:
    """An HDF5 file, opened for reading. Every method raises CaptureFormatError where the file is damaged."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self._size = path, size
        try:
            require_memory()
            self._file = h5py.File(path, "r")
        except (OSError, RuntimeError, ValueError) as error:
            raise self.error(why_unreadable(path, size)) from error
        # Low-level objects: h5py's Group and Dataset take ten times as long to make, and a capture has hundreds.
        self._groups: dict[str, h5g.GroupID] = {"": self._file.id}
        self._latest_dataset: tuple[str, h5d.DatasetID | None] = "", None
        self._decoded_bytes = 0
        self.has_decoded = False
        """Whether a column was decompressed into memory."""

    def close(self) -> None:
        self._groups.clear()
        self._latest_dataset = "", None
        self._file.close()

    def status(self) -> os.stat_result:
        """Status of the open file, which tells whether a path still leads to it."""
        return os.fstat(self._file.id.get_vfd_handle())

    def error(self, reason: str, kind: type[CaptureFormatError] = CaptureFormatError) -> CaptureFormatError:
        return kind(f"{self.path}: cannot be opened: {reason}")

    @contextmanager
    def _damage(self, part: str) -> Iterator[None]:
        """Turns errors of HDF5 into a CaptureFormatError that names the damaged part."""
        try:
            yield
        except _HDF5_ERRORS as error:
            raise self.error(f"{part} is damaged") from error

    def attribute(self, path: str, name: str) -> str | int:
        """Value of an attribute of a group or dataset (of the file for an empty path): a text or an integer.

        Texts have a fixed length. Those of variable length are refused: they lie in a heap without checksums, in
        which HDF5 can be led in circles.
        """
        where = f"attribute {name!r} of {path or '/'}"
        with self._damage(where):
            node = self._node(path)
            if node is None or not h5a.exists(node, name.encode()):
                raise self.error(f"{where} is missing")
            attribute = h5a.open(node, name.encode())
            dtype = attribute.get_type()
            is_text = isinstance(dtype, h5t.TypeStringID) and not dtype.is_variable_str()
            if (not is_text and not isinstance(dtype, h5t.TypeIntegerID)) or attribute.shape != ():
                raise self.error(f"{where} has the wrong type")
            if dtype.get_size() > MAX_ATTRIBUTE_BYTES:
                raise self.error(f"{where} is too large")
            value = np.empty((), attribute.dtype)
            attribute.read(value)
        return value.item().decode("utf-8", "replace") if is_text else int(value)

    def text(self, path: str, name: str, default: str) -> str:
        """Value of an attribute that is a text, or the default where there is none."""
        return str(self.attribute(path, name)) if self.has_attribute(path, name) else default

    def has_attribute(self, path: str, name: str) -> bool:
        try:
            node = self._node(path)
            return node is not None and bool(h5a.exists(node, name.encode()))
        except _HDF5_ERRORS:
            return False

    def attribute_names(self, path: str) -> list[str]:
        """Sorted names of the attributes of a group or dataset."""
        names: list[bytes] = []
        with self._damage(f"the list of attributes of {path or '/'}"):
            node = self._node(path)
            if node is not None:
                h5a.iterate(node, names.append)  # h5py swallows exceptions of the functions it calls
            return sorted(name.decode() for name in names)

    def has(self, path: str) -> bool:
        """Whether the file itself stores a dataset or group at this path."""
        above, _, name = path.rpartition("/")
        with self._damage(path):
            group = self._node(above)
            return isinstance(group, h5g.GroupID) and _holds(group, name.encode())

    def names(self, group: str) -> list[str]:
        """Names in a group. Soft and external links are left out: they lead elsewhere."""
        with self._damage(f"group {group}" if group else "its directory"):
            node = self._node(group)
            if not isinstance(node, h5g.GroupID):
                return []
            return [name.decode() for name in node if _is_hard_link(node, name)]

    def _node(self, path: str) -> h5g.GroupID | h5d.DatasetID | None:
        """A group or dataset that the file itself stores; None when the name is absent or a link to elsewhere."""
        known = self._groups.get(path)
        if known is not None:
            return known
        latest_path, latest = self._latest_dataset
        if latest is not None and latest_path == path:
            return latest
        above, _, name = path.rpartition("/")
        group, key = self._node(above), name.encode()
        if not isinstance(group, h5g.GroupID) or not _holds(group, key):
            return None
        node = h5o.open(group, key)
        if isinstance(node, h5g.GroupID):
            self._groups[path] = node
        elif isinstance(node, h5d.DatasetID):
            self._latest_dataset = path, node
        else:
            return None
        return node

    def shape(self, path: str) -> tuple[np.dtype[Any], int]:
        """Type and number of entries of a column."""
        with self._damage(f"dataset {path}"):
            dataset = self._dataset(path)
            shape = dataset.shape
            if len(shape) != 1:
                raise self.error(f"dataset {path} has {len(shape)} dimensions instead of one")
            return dataset.dtype, int(shape[0])

    def read(self, path: str) -> Array | int:
        """All values of a column, or its offset in the file when it is contiguous and at least `ALIGNMENT` long."""
        with self._damage(f"dataset {path}"):
            dataset = self._dataset(path)
            dtype, n = dataset.dtype, int(dataset.shape[0])
            nbytes = n * dtype.itemsize
            layout = self._checked_layout(path, dataset)
            if layout == h5d.CHUNKED and n:
                return self._decode(dataset, dtype, n)
            values = np.empty(n if nbytes < ALIGNMENT or layout == h5d.COMPACT else 0, dtype)
            if not n:
                return values
            offset = dataset.get_offset()
            if offset is None:
                if layout != h5d.COMPACT or nbytes > _MAX_COMPACT_BYTES:
                    raise self.error(f"dataset {path} claims {n} entries and was never written")
            elif offset < 0 or offset + nbytes > self._size:
                raise self.error(f"dataset {path} leaves the file")
            elif nbytes >= ALIGNMENT:
                return int(offset)
            dataset.read(h5s.ALL, h5s.ALL, values)
            return values

    def _decode(self, dataset: h5d.DatasetID, dtype: np.dtype[Any], n: int) -> Array:
        self._decoded_bytes += n * dtype.itemsize
        self._check_claim(self._decoded_bytes)
        self.has_decoded = True
        values, chunks = np.empty(n, dtype), h5py.Dataset(dataset)
        step = _CHUNKS_PER_READ * chunks.chunks[0]
        for first in range(0, n, step):
            values[first : first + step] = chunks[first : first + step]
        return values

    def length(self, path: str) -> int:
        """Number of entries of a column."""
        with self._damage(f"dataset {path}"):
            shape = self._dataset(path).shape
            return int(shape[0]) if len(shape) == 1 else 0

    def dtype_of(self, path: str) -> np.dtype[Any]:
        with self._damage(f"dataset {path}"):
            dtype: np.dtype[Any] = self._dataset(path).dtype
            return dtype

    def dataset(self, path: str) -> h5py.Dataset:
        """A dataset that the file itself stores."""
        return h5py.Dataset(self._dataset(path))

    def _dataset(self, path: str) -> h5d.DatasetID:
        node = self._node(path)
        if node is None:
            raise self.error(f"dataset {path} is missing")
        if not isinstance(node, h5d.DatasetID):
            raise self.error(f"{path} is not a dataset")
        return node

    def _checked_layout(self, path: str, dataset: h5d.DatasetID) -> int:
        """How a dataset is stored. Refuses references to other files, unknown filters and huge chunks."""
        plist = dataset.get_create_plist()
        layout = int(plist.get_layout())
        if layout == h5d.VIRTUAL or plist.get_external_count():
            raise self.error(f"dataset {path} refers to other files, which Warpline does not follow")
        if layout == h5d.CHUNKED:
            filters = {plist.get_filter(index)[0] for index in range(plist.get_nfilters())}
            if not filters <= {h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE}:
                raise self.error(f"dataset {path} uses a filter other than gzip and shuffle")
            chunk_entries = math.prod(plist.get_chunk())
            if chunk_entries * dataset.dtype.itemsize > MAX_CHUNK_BYTES:
                raise self.error(f"dataset {path} has chunks of more than {MAX_CHUNK_BYTES >> 20} MiB")
            if math.prod(dataset.shape) > chunk_entries * self._size:
                raise self.error(f"dataset {path} claims more chunks than the file has bytes")
        return layout

    def _check_claim(self, nbytes: int) -> None:
        if nbytes > MAX_ARCHIVE_RATIO * self._size + _ARCHIVE_ALLOWANCE:
            raise self.error(f"its columns claim more than {MAX_ARCHIVE_RATIO} times the size of the file")

    def is_compressed(self, path: str) -> bool:
        """Whether a dataset is stored in chunks, as in the archive form."""
        with self._damage(f"dataset {path}"):
            return bool(self._checked_layout(path, self._dataset(path)) == h5d.CHUNKED)

    def groups(self, above: str = "", depth: int = 4) -> list[str]:
        """Paths of all groups, parents first, down to the depth that captures have."""
        paths = []
        for name in self.names(above) if depth else []:
            path = f"{above}/{name}" if above else name
            with self._damage(path):
                node = self._node(path)
            if isinstance(node, h5g.GroupID):
                paths += [path, *self.groups(path, depth - 1)]
        if len(paths) > MAX_GROUPS:
            raise self.error(f"it has more than {MAX_GROUPS} groups")
        return paths

    def stored_sizes(self) -> dict[str, int]:
        """Decoded size in bytes of every dataset, by path. Refuses sizes that the file cannot hold."""
        sizes = {}
        with self._damage("its directory"):
            for group in ["", *self.groups()]:
                for name in self.names(group):
                    path = f"{group}/{name}" if group else name
                    node = self._node(path)
                    if isinstance(node, h5d.DatasetID):
                        shape, dtype = node.shape, node.dtype
                        if len(shape) != 1 or dtype.kind not in "iuf":
                            raise self.error(f"dataset {path} is no column of numbers")
                        self._checked_layout(path, node)
                        sizes[path] = int(shape[0]) * dtype.itemsize
        self._check_claim(sum(sizes.values()))
        return sizes

    def read_piece(self, path: str, first: int, stop: int) -> Array:
        """Decoded values [first, stop) of a dataset."""
        with self._damage(f"dataset {path}"):
            return np.asarray(self.dataset(path)[first:stop])

    def copy_attributes(self, path: str, target: h5py.Group | h5py.Dataset) -> None:
        """Copies the attributes of a group or dataset, as far as captures may have them."""
        for name in self.attribute_names(path):
            set_attribute(target, name, self.attribute(path, name))


def _holds(group: h5g.GroupID, name: bytes) -> bool:
    """Whether the group stores something of this name itself, rather than a link to elsewhere."""
    return bool(group.links.exists(name)) and _is_hard_link(group, name)


def _is_hard_link(group: h5g.GroupID, name: bytes) -> bool:
    return bool(group.links.get_info(name).type == h5l.TYPE_HARD)
