"""Layouts of fixed-size records, without numpy: the recorder also runs where numpy is not installed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Field = tuple[str, str] | tuple[str, str, tuple[int]]
    """Name, numpy's code of a type (``<u4``), and the length of an array."""

_CODES = {"u1": "B", "<u2": "H", "<u4": "I", "<u8": "Q", "<i4": "i", "<i8": "q", "<f8": "d"}


class RecordLayout:
    """The fields of a record, one after the other. numpy takes it wherever it takes a dtype."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)
        self._struct = struct.Struct("<" + "".join(map(_code, self.fields)))

    @property
    def itemsize(self) -> int:
        """Bytes of a record."""
        return self._struct.size

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(field[0] for field in self.fields)

    def pack(self, *values: Any) -> bytes:
        """One record; arrays of bytes are bytes."""
        return self._struct.pack(*values)

    def rows(self, records: bytes) -> Iterator[dict[str, Any]]:
        """The fields of whole records."""
        whole = len(records) // self.itemsize * self.itemsize
        return (dict(zip(self.names, row, strict=True)) for row in self._struct.iter_unpack(records[:whole]))

    @cached_property
    def dtype(self) -> np.dtype[np.void]:
        """The same as a structured dtype; numpy asks for it."""
        import numpy as np

        return np.dtype(list(self.fields))


def _code(field: Field) -> str:
    code = _CODES[field[1]]
    return f"{struct.calcsize(code) * field[2][0]}s" if len(field) == 3 else code
