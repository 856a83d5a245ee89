"""Results of queries, and how they pass from the process that computes them to the one that asked.

A message is its length (8 bytes, little endian) and MessagePack: nothing in it can run code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Self

import msgspec
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Parameters = Mapping[str, Any] | Sequence[Any] | None
"""Values for ``$name`` (a mapping) or ``?`` (a sequence) in a query."""
_LENGTH = 8
MOST_BYTES = 1 << 33
"""A longer message is no message."""


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result: numbers (numpy) or texts (objects), and which values are there (None: all of them)."""

    name: str
    type: str
    """The type in SQL: BIGINT, DOUBLE, VARCHAR …"""
    values: Array
    valid: npt.NDArray[np.bool_] | None

    @classmethod
    def of(cls, name: str, kind: str, values: Array) -> Self:
        """A column of DuckDB's `fetchnumpy`."""
        plain = np.ma.getdata(values)
        gone = np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else None
        return cls(name, kind, plain, None if gone is None or not gone.any() else ~gone)

    def __len__(self) -> int:
        return len(self.values)

    def first(self, count: int | None) -> ResultColumn:
        """The first values."""
        valid = None if self.valid is None else self.valid[:count]
        return ResultColumn(self.name, self.type, self.values[:count], valid)

    def python_values(self) -> list[Any]:
        """Values as Python's, None where one is missing."""
        values: list[Any] = self.values.tolist()
        if self.valid is None:
            return values
        return [value if valid else None for value, valid in zip(values, self.valid.tolist(), strict=True)]

    def packed(self) -> dict[str, Any]:
        """The column as MessagePack takes it."""
        head = {"name": self.name, "type": self.type}
        if self.values.dtype == object:
            return {**head, "texts": self.python_values()}
        valid = None if self.valid is None else self.valid.tobytes()
        return {**head, "dtype": self.values.dtype.str, "data": self.values.tobytes(), "valid": valid}

    @classmethod
    def unpacked(cls, packed: dict[str, Any]) -> Self:
        """The column of `packed`."""
        name, kind = str(packed["name"]), str(packed["type"])
        if "texts" in packed:
            texts = packed["texts"]
            values = np.empty(len(texts), object)
            values[:] = texts
            valid = np.array([text is not None for text in texts], bool)
            return cls(name, kind, values, None if valid.all() else valid)
        dtype = np.dtype(packed["dtype"])
        if dtype.hasobject:
            raise ValueError("no such column")
        values = np.frombuffer(packed["data"], dtype)
        valid_bytes = packed["valid"]
        return cls(name, kind, values, None if valid_bytes is None else np.frombuffer(valid_bytes, bool))


def write_message(file: IO[bytes], message: Any) -> None:
    """Write a message. Raises OSError when nobody reads any more."""
    data = msgspec.msgpack.encode(message)
    file.write(len(data).to_bytes(_LENGTH, "little"))
    file.write(data)
    file.flush()


def read_message(file: IO[bytes]) -> Any:
    """The next message; None at the end. Raises ValueError for what is no message."""
    head = file.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    length = int.from_bytes(head, "little")
    if length > MOST_BYTES:
        raise ValueError("no message")
    data = file.read(length)
    return msgspec.msgpack.decode(data) if len(data) == length else None
