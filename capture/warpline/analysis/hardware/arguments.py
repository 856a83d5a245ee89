"""The arguments of an operator as profilers record them: shapes, types and values as texts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

_TYPES = {
    "double": ("fp64", 8),
    "float64": ("fp64", 8),
    "float": ("fp32", 4),
    "float32": ("fp32", 4),
    "bfloat16": ("bf16", 2),
    "half": ("fp16", 2),
    "float16": ("fp16", 2),
    "signed char": ("int8", 1),
    "int8": ("int8", 1),
    "unsigned char": ("uint8", 1),
    "uint8": ("uint8", 1),
    "bool": ("bool", 1),
    "short": ("int16", 2),
    "short int": ("int16", 2),
    "int16": ("int16", 2),
    "int": ("int32", 4),
    "int32": ("int32", 4),
    "long": ("int64", 8),
    "long int": ("int64", 8),
    "int64": ("int64", 8),
    "complex<float>": ("complex64", 8),
    "complex<double>": ("complex128", 16),
}
_FP8 = re.compile(r"float8", re.IGNORECASE)
_LARGEST = 1 << 40
"""Larger sizes come from damaged files."""


@dataclass(frozen=True)
class Argument:
    """A tensor: its shape, type (``bf16``) and bytes per element. A missing one has no elements."""

    shape: tuple[int, ...] = ()
    precision: str = ""
    size: int = 0

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def count(self) -> int:
        """Number of elements; 0 for a missing tensor."""
        return math.prod(self.shape) if self.size else 0

    @property
    def bytes(self) -> int:
        """Size of all elements."""
        return self.count * self.size


_NONE = Argument()


@dataclass(frozen=True)
class OperatorArguments:
    """All arguments of one operator.

    ``shapes`` has a list of sizes for each argument; ``types`` and ``values`` are texts, empty where not recorded.
    """

    shapes: tuple[Any, ...]
    types: tuple[str, ...]
    values: tuple[str, ...] = ()

    def tensors(self, first: int, count: int) -> list[Argument]:
        """The tensors at ``first`` and the next places; missing ones are empty."""
        return [self._tensor(place) for place in range(first, first + count)]

    @cached_property
    def all_tensors(self) -> list[Argument]:
        """Every tensor with elements. Lists of tensors are left out: profilers do not record their type."""
        return [tensor for tensor in self.tensors(0, len(self.shapes)) if tensor.count]

    def text(self, place: int) -> str:
        """The value of an argument, empty when not recorded."""
        return self.values[place] if place < len(self.values) else ""

    def numbers(self, place: int, count: int) -> list[int]:
        """``count`` integers of an argument such as ``[1, 1]``; one number stands for all. Empty when not recorded."""
        found = [int(number) for number in re.findall(r"-?\d{1,9}", self.text(place))]
        if len(found) == 1:
            return found * count
        return found if len(found) == count else []

    def _tensor(self, place: int) -> Argument:
        if not 0 <= place < len(self.shapes) or place >= len(self.types):
            return _NONE
        known = _type_of(self.types[place])
        shape = _sizes(self.shapes[place])
        return Argument(shape, *known) if known and shape is not None else _NONE


def _type_of(text: str) -> tuple[str, int] | None:
    plain = text.removeprefix("c10::").strip()
    if _FP8.match(plain):
        return "fp8", 1
    return _TYPES.get(plain.lower())


def _sizes(value: Any) -> tuple[int, ...] | None:
    """A shape; None for anything else."""
    if not isinstance(value, list):
        return None
    if not all(type(size) is int and 0 <= size < _LARGEST for size in value):
        return None
    return tuple(value)


def parse_arguments(shapes: str, types: str, values: str = "") -> OperatorArguments | None:
    """Arguments from recorded texts: Kineto's JSON lists, or ``[8, 16], []`` and ``float, `` of Warpline's recordings.

    None when they cannot be read.
    """
    is_json = types.lstrip().startswith("[")
    try:
        parsed = orjson.loads(shapes if is_json else f"[{shapes}]")
        names = orjson.loads(types) if is_json else types.split(", ")
        texts = orjson.loads(values) if values.lstrip().startswith("[") else []
    except orjson.JSONDecodeError:
        return None
    if not (isinstance(parsed, list) and isinstance(names, list) and isinstance(texts, list)):
        return None
    return OperatorArguments(tuple(parsed), tuple(map(str, names)), tuple(map(str, texts)))
