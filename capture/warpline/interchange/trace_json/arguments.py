"""Arguments of events as columns: the interface, and the implementation for decoded JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import (
    NO_INTEGER,
    MaskedColumn,
    TextColumn,
    clean_text,
    missing_numbers,
    plain_floats,
    plain_integers,
    raw_text,
    real,
    repeated_text,
    texts,
)
from warpline.interchange.trace_json.piece_columns import Loss

Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""An integer argument; `NO_INTEGER` if missing."""


class Arguments(Protocol):
    """Arguments of events as columns, in the order of the events. Fields are named by a struct type."""

    def __len__(self) -> int: ...

    def has(self, name: str) -> bool:
        """Whether the field may occur."""
        ...

    def integers(self, name: str) -> MaskedColumn:
        """A field of integers, masked where missing."""
        ...

    def floats(self, name: str) -> MaskedColumn:
        """A field of floats, masked where missing."""
        ...

    def triples(self, name: str) -> npt.NDArray[np.int64]:
        """A field of three integers, int64 [n, 3], `NO_INTEGER` where missing."""
        ...

    def texts(self, name: str) -> TextColumn:
        """A field of texts, "" where missing."""
        ...

    def json_texts(self, name: str) -> TextColumn:
        """A field of any JSON type as text, "" where missing."""
        ...

    def rest(self) -> TextColumn:
        """All members without a field, as a JSON object; "" where there are none."""
        ...


def either(args: Arguments, name: str, other: str) -> MaskedColumn:
    """A number that has one of two names, depending on the profiler's version."""
    column = args.integers(name)
    if not args.has(other) or not column.mask.any():
        return column
    second = args.integers(other)
    return np.ma.MaskedArray(np.where(column.mask, second.data, column.data), column.mask & second.mask)


@dataclass(frozen=True)
class StructFields:
    """Fields of a struct: the quoted key of each in JSON, and the numbers that may be null."""

    names: Mapping[str, bytes]
    nullable: frozenset[str]


@dataclass(frozen=True)
class DecodedArguments:
    """`Arguments` from decoded structs and their JSON text."""

    values: list[Any]
    text: bytes
    fields: StructFields
    texts_of: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.values)

    def has(self, name: str) -> bool:
        """See `Arguments.has`; searching the text is faster than checking every event."""
        return self.fields.names[name] in self.text

    def integers(self, name: str) -> MaskedColumn:
        """A field of integers, masked where missing."""
        if not self.has(name):
            return missing_numbers(len(self.values))
        values: Iterable[Any] = map(attrgetter(name), self.values)
        if name in self.fields.nullable:
            values = map(none_as_number, values)
        return plain_integers(values, len(self.values))

    def floats(self, name: str) -> MaskedColumn:
        """A field of floats, masked where missing."""
        return plain_floats(map(attrgetter(name), self.values), len(self.values))

    def triples(self, name: str) -> npt.NDArray[np.int64]:
        """See `Arguments.triples`."""
        flat = chain.from_iterable(map(attrgetter(name), self.values))
        return np.fromiter(flat, np.int64, 3 * len(self.values)).reshape(-1, 3)

    def texts(self, name: str) -> TextColumn:
        """A field of texts, "" where missing."""
        if not self.has(name):
            return repeated_text("", len(self.values))
        return texts(list(map(attrgetter(name), self.values)))

    def json_texts(self, name: str) -> TextColumn:
        """A field of any JSON type as text, "" where missing."""
        if not self.has(name):
            return repeated_text("", len(self.values))
        return texts([bytes(value) for value in map(attrgetter(name), self.values)], _json_text)

    def rest(self) -> TextColumn:
        """See `Arguments.rest`."""
        names = {name.decode()[1:-1] for name in self.fields.names.values()}
        return texts([bytes(text) for text in self.texts_of], lambda text: _others(text, names))


_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _others(text: bytes, names: set[str]) -> str:
    """The members of an object whose keys are not in ``names``, as a JSON object."""
    try:
        members = _MEMBERS.decode(text or b"{}")
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return ""
    others = [_member(name, bytes(value)) for name, value in members.items() if name not in names]
    return "{" + ", ".join(others) + "}" if others else ""


def _member(name: str, value: bytes) -> str:
    return clean_text(f"{msgspec.json.encode(name).decode()}: {raw_text(value).strip()}")


def _json_text(value: bytes) -> str:
    return "" if value == b"null" else raw_text(value)


_FIELDS: dict[str, StructFields] = {}


def _fields(args_type: type[Any]) -> StructFields:
    key = f"{args_type.__module__}.{args_type.__qualname__}"
    if key not in _FIELDS:
        fields = msgspec.structs.fields(args_type)
        _FIELDS[key] = StructFields(
            {field.name: f'"{field.encode_name}"'.encode() for field in fields},
            frozenset(field.name for field in fields if field.type == Int64 | None),
        )
    return _FIELDS[key]


def decode_args(rows: Sequence[Any], args_type: type[Any], losses: Counter[Loss]) -> DecodedArguments:
    """The arguments of events as structs. Of invalid arguments, the valid fields are kept and the event is counted."""
    text = b"[" + b",".join([row.args or b"{}" for row in rows]) + b"]"
    try:
        values: list[Any] = msgspec.json.decode(text, type=list[args_type])  # type: ignore[valid-type]  # run time
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        values = [_fitting(bytes(row.args), args_type, losses) for row in rows]
    return DecodedArguments(values, text, _fields(args_type), [row.args for row in rows])


def _fitting(text: bytes, args_type: type[Any], losses: Counter[Loss]) -> Any:
    """Decodes arguments field by field, leaving out fields of an unexpected type."""
    try:
        return msgspec.json.decode(text or b"{}", type=args_type)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        losses[
            english("arguments of events"), english("not in the profiler's format; the events are kept")
        ] += 1
    try:
        values = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return args_type()
    if not isinstance(values, dict):
        return args_type()
    result = args_type()
    for field in msgspec.structs.fields(args_type):
        value = values.get(field.encode_name)
        try:
            setattr(result, field.name, msgspec.convert(_plain(value, field.type), field.type))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            continue
    return result


def _plain(value: Any, wanted: Any) -> Any:
    if wanted is float:
        return real(value)
    if wanted in (Int64, Int64 | None):
        return number_in(value)
    if wanted is msgspec.Raw and value is not None:
        return msgspec.Raw(msgspec.json.encode(value))
    return value


def none_as_number(number: int | None) -> int:
    """The number; `NO_INTEGER` for None."""
    return NO_INTEGER if number is None else number


def number_in(value: Any) -> int | None:
    """A number, also from the end of a text such as ``stream 7``."""
    if isinstance(value, str):
        match = re.search(r"-?\d{1,18}$", value.strip())
        return int(match[0]) if match else None
    if isinstance(value, (int, float)) and abs(value) < 1 << 62:
        return int(value)
    return None


def process_numbers(values: Sequence[Any]) -> MaskedColumn:
    """The numbers in recorded process ids, int64; masked where there is none."""
    return plain_integers([none_as_number(number_in(value)) for value in values], len(values))
